package loop

import (
	"context"
	"sync"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// maxBound bounds the notices that wait, and the pods with churn; more in one period
// are churn alone, whoever they are about.
const maxBound = 64

// mail is what waits for the pipeline: of each kind the newest.
type mail struct {
	// churn is that of pods nobody knows, churned that of pods.
	churn   bool
	churned []string
	bound   []agent.Bind
	// ghosts are the newest set that a scheduler told of; nil for none.
	ghosts  *[]reserve.PodKey
	changed bool
	pods    []telemetry.Pod
	fleet   *agent.Fleet
	// asked want the pipeline's Why; each has room for one.
	asked []chan<- answer
}

// answer is the Why of the last report; ok is false before the first.
type answer struct {
	why agent.Why
	ok  bool
}

// mailbox keeps mail until it is drained. It is safe for concurrent use; nothing
// in it blocks but what it calls.
type mailbox struct {
	// came is called when there is mail.
	came func()

	mu   sync.Mutex
	full bool
	mail mail
}

func (b *mailbox) put(change func(*mail)) {
	b.mu.Lock()
	change(&b.mail)
	b.full = true
	b.mu.Unlock()
	b.came()
}

// waits says whether there is mail.
func (b *mailbox) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full
}

// drain returns the mail; ok is false if there is none.
func (b *mailbox) drain() (m mail, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok = b.mail, b.full
	b.mail, b.full = mail{}, false
	return m, ok
}

func (b *mailbox) podEvent(e telemetry.PodEvent) {
	b.put(func(m *mail) {
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

func (b *mailbox) bound(bind agent.Bind) {
	b.put(func(m *mail) {
		if len(m.bound) == maxBound {
			m.churn = true
			return
		}
		m.bound = append(m.bound, bind)
	})
}

func (b *mailbox) setGhosts(pods []reserve.PodKey) {
	b.put(func(m *mail) { m.ghosts = &pods })
}

func (b *mailbox) setFleet(f agent.Fleet) {
	b.put(func(m *mail) { m.fleet = &f })
}

// ask waits for the pipeline's answer until ctx or, with errStopped, the
// pipeline ends.
func (b *mailbox) ask(ctx context.Context, stopped <-chan struct{}) (answer, error) {
	reply := make(chan answer, 1)
	b.put(func(m *mail) { m.asked = append(m.asked, reply) })
	select {
	case a := <-reply:
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-stopped:
		return answer{}, errStopped
	}
}
