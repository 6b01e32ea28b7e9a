package figures

import (
	"math"
	"slices"
	"testing"
)

// The simulator's node is within the stated errors of the recording in this
// repository, whatever its own noise.
func TestNodeAgreesWithRecording(t *testing.T) {
	i := slices.IndexFunc(All(), func(f Figure) bool { return f.ID == "sim-node" })
	if i < 0 {
		t.Fatal("no figure sim-node")
	}
	allowed := map[string]float64{
		"utilisation_worst_mean": .06, "pressure_worst_mean": .06, "run_time_worst": .15, "run_time_p50": .05,
		"utilisation_p95": .05, "pressure_p50": .02, "pressure_p95": .1,
	}
	for seed := range uint64(5) {
		r, err := All()[i].make(t.Context(), seed)
		if err != nil {
			t.Fatal(err)
		}
		if seed == 0 {
			t.Log(r.measured)
		}
		if r.verdict != "holds" {
			t.Errorf("seed %d: %s: %s", seed, r.verdict, r.measured)
		}
		for name, bound := range allowed {
			k := len(r.values) - 1
			for k >= 0 && r.values[k].Name != name {
				k--
			}
			if k < 0 {
				t.Fatalf("no value %s", name)
			}
			if v := r.values[k].Value; !(math.Abs(v) <= bound) {
				t.Errorf("seed %d: %s is %.3f, at most %g", seed, name, v, bound)
			}
		}
	}
}
