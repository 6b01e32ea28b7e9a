package aggregate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate"
)

// TestMedianOfManyAges compares the linear-time median with sorting, by the ages of a global model;
// ties and long runs are included.
func TestMedianOfManyAges(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, n := range []int{1, 2, 3, 16, 17, 18, 100, 501, 1000} {
		for _, distinct := range []int{1, 2, 3, 50, 1 << 20} {
			a := create(t, aggregate.Options{})
			ages := make([]time.Duration, n)
			for i := range ages {
				ages[i] = 2 * time.Duration(rng.IntN(distinct))
				if distinct == 50 {
					ages[i] = 2 * time.Duration(i) // in order
				}
				feed(t, a, push{start.Add(-ages[i]), aggregate.Local{Node: fmt.Sprint(i), Schema: "s", Model: flat()}})
			}
			slices.Sort(ages)
			want := (ages[(n-1)/2] + ages[n/2]) / 2
			if got := only(t, a, start).Ages.Median; got != want {
				t.Errorf("of %d with %d distinct: %d, want %d", n, distinct, got, want)
			}
		}
	}
}
