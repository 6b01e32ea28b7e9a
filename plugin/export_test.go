package plugin

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
)

// Learn takes in a profile as the informer brings it, for benchmarks.
func (h *Hub) Learn(p *v1alpha1.WorkloadProfile) { h.profileSeen(context.Background(), p) }

// PlaceholderNodes returns of how many nodes the hub keeps the placeholders.
func (h *Hub) PlaceholderNodes() int {
	h.placeholders.mu.Lock()
	defer h.placeholders.mu.Unlock()
	return len(h.placeholders.on)
}

// NewDrivenHub returns a Hub that does nothing by itself: Round and Inspect have to be
// called, one at a time.
func NewDrivenHub(o HubOptions) *Hub {
	h := NewHub(o)
	h.driven = true
	return h
}

// Round activates the pods that there are slots for.
func (h *Hub) Round() { h.round(context.Background()) }

// Inspect does what the passing of time asks for.
func (h *Hub) Inspect() { h.inspect(context.Background()) }

// Report takes in a node's report of a sample of an age, and returns what came of it.
func (h *Hub) Report(r agent.Report, age time.Duration) string {
	n := h.nodes.get(r.Node)
	if n == nil {
		return reportUnknown
	}
	return h.accept(n, &r, age)
}

// WaitSetBytes returns the memory of the sets of nodes that pods wait for.
func (h *Hub) WaitSetBytes() int {
	h.waiting.mu.Lock()
	defer h.waiting.mu.Unlock()
	return h.waiting.queue.SetBytes()
}

// BoundWaitSets bounds the memory of the sets of nodes that pods wait for.
func (h *Hub) BoundWaitSets(bytes int) {
	h.waiting.mu.Lock()
	defer h.waiting.mu.Unlock()
	h.waiting.queue.BoundSets(bytes)
}

// Histories returns how many pods' are kept.
func (h *Hub) Histories() int {
	h.histories.mu.Lock()
	defer h.histories.mu.Unlock()
	return len(h.histories.byPod)
}

// ExpectedLife returns how long pods of a workload are expected to live.
func (h *Hub) ExpectedLife(of profile.Workload) time.Duration { return h.lives.Expected(of) }

// QueueKeys returns for how many pods the order of the scheduler's queue is kept.
func (h *Hub) QueueKeys() int { return h.lives.QueueKeys() }

// Newest is the newest report or heartbeat that counts of a node, and its stream, once
// all of them are in place.
func (h *Hub) Newest(name string) (incarnation, sequence uint64, stream any) {
	n := h.nodes.get(name)
	if n == nil {
		return 0, 0, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.newest.incarnation, n.newest.sequence, n.stream
}

// Leading is what a Hub asks by default.
var Leading = leading

// Seen takes in a pod as the informer brings it, at once.
func (h *Hub) Seen(pod *v1.Pod) { h.podSeen(klog.Background(), pod) }

// Expire does what the inspection does of what time alone changes in the ledger.
func (h *Hub) Expire() { h.expire(context.Background()) }
