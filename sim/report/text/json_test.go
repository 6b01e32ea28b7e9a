package text_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// TestAnInfiniteNumberCostsItselfAlone: the rest of the result is unaffected, wherever it is.
func TestAnInfiniteNumberCostsItselfAlone(t *testing.T) {
	type inner struct {
		Ratio float64 `json:"ratio"`
	}
	type row struct {
		inner
		Name   string             `json:"name"`
		Empty  float64            `json:"empty,omitempty"`
		Values []float64          `json:"values"`
		By     map[string]float64 `json:"by"`
		At     time.Time          `json:"at"`
		Next   *inner             `json:"next"`
	}
	at := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	rows := []row{{inner{math.Inf(1)}, "a", 0, []float64{1, math.NaN()}, map[string]float64{"x": math.Inf(-1), "y": 2}, at, &inner{3}}}
	var out strings.Builder
	if err := text.JSON(&out, rows); err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := []any{map[string]any{
		"ratio": nil, "name": "a", "values": []any{1., nil}, "by": map[string]any{"x": nil, "y": 2.},
		"at": "2026-11-28T00:00:00Z", "next": map[string]any{"ratio": 3.},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
