package main

import (
	"strings"
	"testing"
)

func TestPi(t *testing.T) {
	const want = "31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"
	got := pi(digits).String()
	if len(got) != digits+1 || !strings.HasPrefix(got, want) {
		t.Errorf("π has %d digits and begins with %.100s", len(got), got)
	}
}

func TestTrain(t *testing.T) {
	if accuracy := train(t.Context(), 3); accuracy < .7 {
		t.Errorf("%.2f of the answers are right after three epochs", accuracy)
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"pi", "train"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := loads[name](b.Context(), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
