package experiment

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/spazio-scheduler/spazio/sim"
)

// memo holds the metrics of runs by what ran, for experiments share runs: the default
// on the same pods, for one. It is safe for concurrent use.
type memo struct {
	seed maphash.Seed
	mu   sync.Mutex
	runs map[uint64]*remembered
}

// remembered is a run that one worker makes and others wait for.
type remembered struct {
	once    sync.Once
	metrics []sim.Metric
	err     error
}

func newMemo() *memo { return &memo{seed: maphash.MakeSeed(), runs: map[uint64]*remembered{}} }

// metrics are those of a run, which is made if none like it was.
func (m *memo) metrics(scheduler string, c sim.Config, pods []sim.Pod, run func() ([]sim.Metric, error)) ([]sim.Metric, error) {
	k := m.key(scheduler, c, pods)
	m.mu.Lock()
	r := m.runs[k]
	if r == nil {
		r = new(remembered)
		m.runs[k] = r
	}
	m.mu.Unlock()
	r.once.Do(func() { r.metrics, r.err = run() })
	return r.metrics, r.err
}

// key is of all that a run depends on. Its 64 bits hold for far more runs than one
// makes.
func (m *memo) key(scheduler string, c sim.Config, pods []sim.Pod) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, s := range c.Background {
		maphash.WriteComparable(&h, s.Step)
		for _, cores := range s.Cores {
			maphash.WriteComparable(&h, cores)
		}
	}
	for i := range pods {
		fmt.Fprintf(&h, "%#v", pods[i])
	}
	loads := len(c.Background)
	c.Background = nil
	fmt.Fprintf(&h, "%s %d %d %#v", scheduler, loads, len(pods), c)
	return h.Sum64()
}
