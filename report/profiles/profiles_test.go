package profiles_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/profile/replay"
	"github.com/spazio-scheduler/spazio/report/profiles"
)

// job is four days of a job that takes so much, and twice that in every tenth
// sample.
func job(cores float64) replay.Series {
	var s replay.Series
	for i := range 4 * 288 {
		value := cores
		if i%10 == 0 {
			value *= 2
		}
		s.Times = append(s.Times, time.Unix(1793577600+300*int64(i), 0))
		s.Values = append(s.Values, value)
	}
	return s
}

func TestRun(t *testing.T) {
	result, err := profiles.Run([]replay.Series{job(.5), job(2)}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Rows) != 8 {
		t.Fatalf("%d rows", len(result.Rows))
	}
	for _, r := range result.Rows {
		if r.Resource != "cpu" || r.Series != 2 {
			t.Errorf("%s of %d series", r.Resource, r.Series)
		}
		if r.Name == "oracle" && r.Own.Quality != 1 {
			t.Errorf("who knows what comes is right in %v of the cases", r.Own.Quality)
		}
		if r.Name != "seed" {
			continue
		}
		// P98 of the seed is the doubled sample as that of the default: the ratio of
		// overheads is that of margins, whichever series is left out.
		mean := .5 * (float64(6-1) + 2) / 6
		seed, ours := 1/mean*1.15-1, 1/mean*1.05-1
		if want := ours / seed; r.Own.Quality != 1 || math.Abs(r.Default/r.Own.Overhead-want) > .1 || math.Abs(r.LeftOut-want) > .1 {
			t.Errorf("ratio %v, with a series left out %v, want some %v", r.Default/r.Own.Overhead, r.LeftOut, want)
		}
	}
	// One series left out of one leaves none.
	result, err = profiles.Run([]replay.Series{job(.5)}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(result.Rows[1])
	if err != nil {
		t.Fatal(err)
	}
	var row struct{ LeftOutRatio, DefaultOverhead *float64 }
	if err := json.Unmarshal(text, &row); err != nil || row.LeftOutRatio != nil || row.DefaultOverhead == nil {
		t.Errorf("%s", text)
	}
}
