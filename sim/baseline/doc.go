// Package baseline holds the scoring functions of other schedulers, as pure
// functions of what they see, so that a simulator can compare them:
//
//   - kube-scheduler's default: [LeastAllocated] and [BalancedAllocation], and
//     [MostAllocated] where it packs;
//   - Trimaran's [TargetLoadPacking], [LoadVariationRiskBalancing],
//     [LowRiskOverCommitment] and [Peaks] (kubernetes-sigs/scheduler-plugins);
//   - Koordinator's [LoadAware] and its batch resources, [BatchAllocatable].
//
// The functions were written anew from the published formulas, not ported; what
// they see, and how old that is, the caller decides. Scores are whole numbers
// from 0 to 100, more is better.
//
// Amounts of CPU are in cores and of memory in bytes. A capacity of 0 scores 0.
//
// Types that do not speak of concurrent use are plain values.
package baseline

// maxScore is the best score.
const maxScore = 100

// Resources is an amount of both resources that schedulers count.
type Resources struct{ CPU, Memory float64 }

// Plus returns r + s.
func (r Resources) Plus(s Resources) Resources { return Resources{r.CPU + s.CPU, r.Memory + s.Memory} }

// Minus returns r − s.
func (r Resources) Minus(s Resources) Resources { return Resources{r.CPU - s.CPU, r.Memory - s.Memory} }

// Max returns the larger amount of each resource.
func (r Resources) Max(s Resources) Resources {
	return Resources{max(r.CPU, s.CPU), max(r.Memory, s.Memory)}
}
