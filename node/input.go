package node

import (
	"context"
	"errors"
	"sync"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// maxBound bounds the notices that wait, and the pods with churn; more in one period
// count as churn only, whichever pods they concern.
const maxBound = 64

// pending is what waits for the pipeline: of each kind the newest.
type pending struct {
	// churn is that of unknown pods, churned that of pods.
	churn   bool
	churned []string
	bound   []agent.Bind
	// placeholders are the newest set that a scheduler named; nil for none.
	placeholders *[]reserve.PodKey
	changed      bool
	pods         []telemetry.Pod
	fleet        *agent.Fleet
	// asked want the pipeline's Why; each has room for one.
	asked []chan<- answer
}

// answer is the Why of the last report; ok is false before the first.
type answer struct {
	why agent.Why
	ok  bool
}

// input keeps what comes for the pipeline until it is drained. It is safe for concurrent
// use and never blocks.
type input struct {
	// came has room for one, and holds it while there may be something.
	came chan struct{}

	mu      sync.Mutex
	full    bool
	pending pending
}

func (b *input) put(change func(*pending)) {
	b.mu.Lock()
	change(&b.pending)
	b.full = true
	b.mu.Unlock()
	signal(b.came)
}

// drain returns what has come; ok is false if nothing has.
func (b *input) drain() (p pending, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok = b.pending, b.full
	b.pending, b.full = pending{}, false
	return p, ok
}

func (b *input) podEvent(e telemetry.PodEvent) {
	b.put(func(m *pending) {
		if e.Churn && len(e.Churned) > 0 && len(m.churned)+len(e.Churned) <= maxBound {
			m.churned = append(m.churned, e.Churned...)
		} else {
			m.churn = m.churn || e.Churn
		}
		if e.Changed {
			m.changed, m.pods = true, e.Pods
		}
	})
}

// bound takes the notice that a scheduler has bound the pod to this node: its containers are
// about to start, and the time they take is measured. A pod that runs already is no news.
func (b *input) bound(bind agent.Bind) {
	b.put(func(m *pending) {
		if len(m.bound) == maxBound {
			m.churn = true
			return
		}
		m.bound = append(m.bound, bind)
	})
}

// setPlaceholders passes on which pods a scheduler names as holding room on the node and run
// nothing: all there are. They are not counted.
func (b *input) setPlaceholders(pods []reserve.PodKey) {
	b.put(func(m *pending) { m.placeholders = &pods })
}

// setFleet passes on what the aggregator returned. A fleet that does not fit the pipeline is
// logged and left aside.
func (b *input) setFleet(f agent.Fleet) {
	b.put(func(m *pending) { m.fleet = &f })
}

var errStopped = errors.New("the agent has stopped")

// ask waits for the pipeline's answer until ctx or, with errStopped, the
// pipeline ends.
func (b *input) ask(ctx context.Context, stopped <-chan struct{}) (answer, error) {
	reply := make(chan answer, 1)
	b.put(func(m *pending) { m.asked = append(m.asked, reply) })
	select {
	case a := <-reply:
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-stopped:
		return answer{}, errStopped
	}
}
