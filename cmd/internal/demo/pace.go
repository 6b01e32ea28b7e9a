package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// runPace is how well the machine kept up with a run. Times are virtual seconds.
type runPace struct {
	Profile string `json:"profile"`
	// Late is how much later than planned the last pod could be scheduled.
	Late float64 `json:"lateSeconds"`
	// Lag is how late this process's timers were, of 100 the fifth latest: it waited for a CPU.
	Lag float64 `json:"lagSeconds"`
	// LeastSojourn is what the mean time until a pod is done can't be below, 0 for unlike pods.
	LeastSojourn float64 `json:"leastSojourn"`
}

// Bounds of what makes two runs comparable.
const (
	// mostLate is a part of the makespan: arrivals that are this far apart shift the mean
	// time until a pod is done by half as much.
	mostLate = .1
	// mostLag is the agents' period of sampling: what is later is not seen in time.
	mostLag = .1
)

// inconclusive returns why the figures allow no verdict, or nothing.
func (r demoResult) inconclusive() string {
	for _, p := range r.Paces {
		if c, ok := find(r.Simulated, p.Profile); ok {
			if why := p.inconclusive(c); why != "" {
				return why
			}
		}
	}
	return ""
}

// inconclusive returns why the figures of the run allow no verdict, or nothing.
func (p runPace) inconclusive(c profileColumn) string {
	switch {
	case p.Late > mostLate*c.Makespan:
		return fmt.Sprintf("under %s the last pod could be scheduled %.1f s later than planned, more than a tenth of the %.1f s that the batch took", p.Profile, p.Late, c.Makespan)
	case p.Lag > mostLag:
		return fmt.Sprintf("under %s one timer in twenty of this process was %.2f s late or more, and agents sample every %.1f s", p.Profile, p.Lag, mostLag)
	case c.Pods > 0 && c.Failed == 0 && c.Sojourn.Mean < p.LeastSojourn:
		return fmt.Sprintf("under %s a pod was done after %.1f s on average, and these nodes can't be faster than %.1f s", p.Profile, c.Sojourn.Mean, p.LeastSojourn)
	}
	return ""
}

// noVerdict stands in the place of what figures mean.
func noVerdict(why string) string {
	return "No verdict: " + why + ".\nThis machine was too slow to tell: try again when it is quieter, or with fewer --pods.\n"
}

// leastSojourn is the bound of what the configuration has run on simulated nodes.
func (c demoConfig) leastSojourn(records []podRecord) float64 {
	var tasks []batchTask
	for _, r := range records {
		tasks = append(tasks, r.batchTask)
	}
	return leastSojourn(tasks, c.Nodes*c.Cores)
}

// tick is the period of the timers that lag is measured by.
const tick = 20 * time.Millisecond

// timers measure how late they are.
type timers struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	late    []time.Duration
}

// measure runs timers until ctx ends or they are stopped.
func measure(ctx context.Context) *timers {
	m := &timers{}
	ctx, m.cancel = context.WithCancel(ctx)
	m.running.Go(func() {
		for {
			due := time.Now().Add(tick)
			if pause(ctx, tick) != nil {
				return
			}
			m.late = append(m.late, time.Since(due))
		}
	})
	return m
}

// stop ends them and returns how late they were, of 100 the fifth latest. It may be called
// again.
func (m *timers) stop() time.Duration {
	m.cancel()
	m.running.Wait()
	if len(m.late) == 0 {
		return 0
	}
	slices.Sort(m.late)
	return m.late[len(m.late)*95/100]
}
