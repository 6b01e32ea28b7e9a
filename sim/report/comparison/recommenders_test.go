package comparison_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile/replay"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
)

// job is four days of a job that takes that much, and twice that in every tenth sample.
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

// TestProgress: it is called once a predictor, for all resources together, until all are done;
// ending the context ends it.
func TestProgress(t *testing.T) {
	memory := job(1e8)
	memory.Resource = replay.Memory
	series := []replay.Series{job(.5), memory}
	var reported []int
	every := func(done, all int) { reported = append(reported, done, all) }
	result, err := comparison.CompareRecommenders(t.Context(), series, replay.Options{Progress: every})
	if err != nil {
		t.Fatal(err)
	}
	evaluated := 0
	for _, r := range result.Rows {
		evaluated += 1 + len(r.Swept)
	}
	var want []int
	for i := range evaluated {
		want = append(want, i+1, evaluated)
	}
	if d := cmp.Diff(want, reported); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	last := 0
	_, err = comparison.CompareRecommenders(ctx, series, replay.Options{Progress: func(done, _ int) {
		if last = done; done == 130 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || last != 130 {
		t.Errorf("error %v, %d done", err, last)
	}
}

func TestRun(t *testing.T) {
	result, err := comparison.CompareRecommenders(t.Context(), []replay.Series{job(.5), job(2)}, replay.Options{})
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
	// Leaving one series out of one leaves none.
	result, err = comparison.CompareRecommenders(t.Context(), []replay.Series{job(.5)}, replay.Options{})
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
