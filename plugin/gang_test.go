package plugin_test

import (
	"context"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
)

// gang is a scheduler's loop with a Permit plugin that binds all of its pods or none, as
// scheduler-plugins' coscheduling does: a pod with a slot waits for its siblings and activates them,
// and one without rejects those that wait.
type gang struct {
	c       *cluster
	q       *queue
	size    int
	mu      sync.Mutex
	tries   int
	permits []*v1.Pod
	bound   bool
}

func (g *gang) run() {
	for pod := g.q.pop(); pod != nil; pod = g.q.pop() {
		_, status := g.c.schedule(pod, g.c.infos[:1])
		g.mu.Lock()
		g.tries++
		if status.IsSuccess() {
			g.permits = append(g.permits, pod)
		}
		g.bound = g.bound || len(g.permits) == g.size
		var rejected []*v1.Pod
		if !status.IsSuccess() {
			rejected, g.permits = g.permits, nil
		}
		g.mu.Unlock()
		g.q.done(pod, status.IsSuccess())
		for _, sibling := range rejected {
			g.c.Unreserve(context.Background(), &cycleState{}, sibling, nodeName(0))
			g.q.done(sibling, false)
		}
		if status.IsSuccess() {
			g.q.activate(g.idle())
		}
	}
}

// idle returns the waiting pods of the queue.
func (g *gang) idle() map[string]*v1.Pod {
	g.q.mu.Lock()
	defer g.q.mu.Unlock()
	pods := make(map[string]*v1.Pod)
	for name, pod := range g.q.idle {
		pods[name] = pod
	}
	return pods
}

func (g *gang) attempts() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tries
}

func (g *gang) isBound() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bound
}

// TestGangWithoutRoomBacksOff: two slots for three pods of a gang. Each attempt releases its slots,
// which must not wake the next attempt while nothing has changed. A pod that waits for another node
// shows when a round of waking is over.
func TestGangWithoutRoomBacksOff(t *testing.T) {
	const size, rounds = 3, 30
	clock := newClock()
	hour := metav1.Duration{Duration: time.Hour}
	s := setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now}, args: plugin.SpazioArgs{MaxAge: hour, MaxReportRate: 1e6, ReportBurst: 1 << 30}}
	g := &gang{q: newQueue(), size: size}
	s.activate = func(pods map[string]*v1.Pod) {
		g.c.record(pods)
		g.q.activate(pods)
	}
	g.c = newCluster(t, s)
	client := g.c.dial()
	node, other := g.c.open(client, nodeName(0)), g.c.open(client, nodeName(1))
	// Two running pods let slow start admit the whole gang.
	g.c.arrive(newPod(100, onNode(nodeName(0))), newPod(101, onNode(nodeName(0))))
	run := keys(100, 102)
	node.settle(agent.Report{Avail: size - 1, Pods: run})
	other.settle(agent.Report{Avail: 0})
	for i := range size {
		pod := newPod(i, selective)
		g.c.arrive(pod)
		g.q.active = append(g.q.active, pod)
	}
	var running sync.WaitGroup
	running.Go(g.run)
	t.Cleanup(func() { g.q.close(); running.Wait() })
	g.c.eventually("all have been tried", func() bool { return g.attempts() >= size })

	witness := newPod(size, selective)
	g.c.arrive(witness)
	for range rounds {
		// Before its slot expires, or the witness would back off, too.
		if _, feasible, _ := g.c.attempt(witness, g.c.infos[1:]); len(feasible) > 0 {
			t.Fatal("the other node has room")
		}
		clock.advance(30 * time.Millisecond) // less than a second in all
		g.c.woken()
		other.settle(agent.Report{Avail: 1})
		g.c.eventually("a round of waking", func() bool { return g.c.peek()["pod-3"] })
		other.settle(agent.Report{Avail: 0})
	}
	// Each pod gets a slot without success once, and is then not woken at once.
	if got := g.attempts(); got > 4*size {
		t.Errorf("got %d attempts in %d rounds of waking without a change", got, rounds)
	}
	before := g.attempts()
	clock.advance(time.Minute)
	g.c.eventually("the gang tries again later", func() bool { return g.attempts() > before })
	node.settle(agent.Report{Avail: size, Pods: run})
	clock.advance(time.Minute)
	g.c.eventually("the gang is bound when there is room", g.isBound)
}
