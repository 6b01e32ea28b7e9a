package prediction

import (
	"errors"
	"testing"
	"testing/fstest"
)

// Any file of series is valid or refused.
func FuzzReadSeries(f *testing.F) {
	f.Add([]byte(vm))
	f.Add([]byte("timestamp,value\n1,2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSeries("fuzz", fstest.MapFS{"x.csv": {Data: text}})
		if err != nil {
			if !errors.Is(err, errSeries) {
				t.Fatal(err)
			}
			return
		}
		if err := s.validate(); err != nil {
			t.Fatal(err)
		}
	})
}
