package prediction_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"testing/fstest"

	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/sim/prediction"
)

// Whatever a file of series holds, what is read of it is valid or refused.
func FuzzReadSeries(f *testing.F) {
	f.Add([]byte(vm))
	f.Add([]byte("timestamp,value\n1,2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := prediction.ReadSeries("fuzz", fstest.MapFS{"x.csv": {Data: text}})
		if err != nil {
			if !errors.Is(err, prediction.ErrSeries) {
				t.Fatal(err)
			}
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

// Whatever a recording holds, the source made of it is valid.
func FuzzFromRecording(f *testing.F) {
	path := recorded(f, "v2;cpu=pressure;memory=available", noisy(1, 20, .1))
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := prediction.FromRecording(recording.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
