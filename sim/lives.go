package sim

import (
	"time"

	"github.com/spazio-scheduler/spazio/placement"
)

// lives orders pods by how long those of their workloads live, the shortest first.
type lives struct {
	c        *cluster
	expected *placement.Lives[int32]
	workload []int32 // of each pod, −1 if it is unknown
	// created and bound are of each pod, in seconds from the start of the warm-up.
	created, bound []float64
}

func newLives(c *cluster) *lives {
	of, workloads := workloadsOf(c.pods)
	l := &lives{c: c, expected: placement.NewLives[int32](1 + len(workloads)), workload: of, created: make([]float64, len(c.pods)), bound: make([]float64, len(c.pods))}
	for i := range c.pods {
		l.created[i] = c.Warmup + c.pods[i].Created
	}
	return l
}

// end notes that the API shows that a pod is done, or was killed. Its life counts from its bind.
func (l *lives) end(pod int32) { l.expected.Add(l.workload[pod], elapsed(l.c.now-l.bound[pod])) }

// key is when a pod counts as created.
func (l *lives) key(pod int32) float64 {
	return l.created[pod] + l.expected.Delay(l.workload[pod]).Seconds()
}

// delay is that of the workload of a number that [spazio.workload] returns.
func (s *spazio) delay(workload int) time.Duration {
	return s.lives.expected.Delay(int32(workload - 1))
}
