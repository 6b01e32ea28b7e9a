package pronto_test

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// FuzzDetector: for any values a flag is −1, 0 or 1 and the window is finite.
func FuzzDetector(f *testing.F) {
	f.Add(byte(3), 3.5, .5, []byte("a few values to look at, of eight bytes each"))
	f.Fuzz(func(t *testing.T, lag byte, threshold, influence float64, data []byte) {
		d, err := pronto.NewDetector(pronto.DetectorConfig{Lag: int(lag), Threshold: threshold, Influence: &influence})
		if err != nil {
			return
		}
		for ; len(data) >= 8; data = data[8:] {
			v := math.Float64frombits(binary.LittleEndian.Uint64(data))
			flag, err := d.Step(v)
			n, mean, deviation := d.Window()
			if err == nil && (flag < -1 || flag > 1 || math.IsNaN(mean) || !(deviation >= 0) || math.IsInf(deviation, 0) || n < 1) {
				t.Fatalf("after %g: flag %d, %d values, %g ± %g", v, flag, n, mean, deviation)
			}
		}
	})
}

// FuzzTracker: for any samples and models the signal is within its bounds.
func FuzzTracker(f *testing.F) {
	f.Add(byte(2), byte(3), true, []byte("samples of a few channels, of which each is eight bytes long, and more of them"))
	f.Fuzz(func(t *testing.T, d, block byte, signed bool, data []byte) {
		c := pronto.Config{Model: svd.Options{Block: int(block)}, Signed: signed, Weight: pronto.Weight(d % 2), Detector: pronto.DetectorConfig{Lag: 2 + int(block)%5}}
		tracker, err := pronto.New(c)
		if err != nil || d == 0 {
			return
		}
		size := 8 * int(d%7+1)
		for i := 0; len(data) >= size; data, i = data[size:], i+1 {
			y := make([]float64, size/8)
			for k := range y {
				y[k] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*k:]))
			}
			s, err := tracker.Step(time.Unix(0, int64(i)), y)
			if err == nil && !(s.R >= -1-1e-12 && s.R <= 1+1e-12) {
				t.Fatalf("R = %g", s.R)
			}
			if i%5 == 4 {
				if m := tracker.Model(); tracker.Adopt(m) != nil {
					t.Fatal("the tracker's own model was refused")
				}
			}
		}
	})
}
