package main

import "testing"

func TestFraction(t *testing.T) {
	for text, ok := range map[string]bool{"1": true, "0.25": true, "0": false, "-0.5": false, "1.01": false, "NaN": false, "x": false} {
		if err := new(fraction).Set(text); (err == nil) != ok {
			t.Errorf("%s: error %v, want one: %v", text, err, !ok)
		}
	}
}
