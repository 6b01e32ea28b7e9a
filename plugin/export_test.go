package plugin

import (
	"cmp"
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
)

// Learn adds a profile as the informer does, for benchmarks.
func (h *Hub) Learn(p *v1alpha1.WorkloadProfile) { h.profileSeen(context.Background(), p) }

// PlaceholderNodes returns the number of nodes whose placeholders the hub keeps.
func (h *Hub) PlaceholderNodes() int {
	h.placeholders.mu.Lock()
	defer h.placeholders.mu.Unlock()
	return len(h.placeholders.on)
}

// NewDrivenHub returns a Hub without goroutines: tests call Round and Inspect, one at a time.
func NewDrivenHub(o HubOptions) *Hub {
	h := NewHub(o)
	h.driven = true
	return h
}

// WatchingSilence returns options with which a Hub checks for silent nodes continuously while its clock
// jumps.
func WatchingSilence(o HubOptions) HubOptions {
	o.silencePeriod, o.silenceGap = time.Millisecond, 24*time.Hour
	return o
}

// RarelyWatchingSilence returns options with which a Hub checks for silent nodes once an hour, unless
// they are of WatchingSilence.
func RarelyWatchingSilence(o HubOptions) HubOptions {
	o.silencePeriod = cmp.Or(o.silencePeriod, time.Hour)
	return o
}

// UpdatingRooms returns options with which a stream of rooms is updated at an interval.
func UpdatingRooms(o HubOptions, interval time.Duration) HubOptions {
	o.roomPeriod = interval
	return o
}

// ReviewingTokens returns options with which the API server's answer about a token counts for a time.
func ReviewingTokens(o HubOptions, counts time.Duration) HubOptions {
	o.review = counts
	return o
}

// Round activates pods for the available slots.
func (h *Hub) Round() { h.round(context.Background()) }

// Inspect does the periodic work.
func (h *Hub) Inspect() { h.inspect(context.Background()) }

// Report processes a node's report of a sample with an age, and returns the outcome.
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

// Histories returns the number of pods whose history is kept.
func (h *Hub) Histories() int {
	h.histories.mu.Lock()
	defer h.histories.mu.Unlock()
	return len(h.histories.byPod)
}

// ExpectedLife returns the expected lifetime of a workload's pods.
func (h *Hub) ExpectedLife(of profile.Workload) time.Duration {
	h.lives.mu.Lock()
	defer h.lives.mu.Unlock()
	return h.lives.expected.Expected(of)
}

// QueueKeys returns the number of pods with a kept queue key.
func (h *Hub) QueueKeys() int {
	h.lives.mu.Lock()
	defer h.lives.mu.Unlock()
	return len(h.lives.keys)
}

// Newest returns the newest report or heartbeat of a node that counts, and its stream, once all of them
// are applied.
func (h *Hub) Newest(name string) (incarnation, sequence uint64, stream any) {
	n := h.nodes.get(name)
	if n == nil {
		return 0, 0, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.newest.incarnation, n.newest.sequence, n.stream
}

// Leading is the leader check that a Hub uses by default.
var Leading = leading

// Seen processes a pod at once, as from the informer.
func (h *Hub) Seen(pod *v1.Pod) { h.podSeen(klog.Background(), pod) }

// Expire runs the part of the inspection that expires ledger entries.
func (h *Hub) Expire() { h.expire(context.Background()) }

// KnownPods returns how many pods the hub keeps the workload of.
func (h *Hub) KnownPods() int {
	h.workloads.mu.RLock()
	defer h.workloads.mu.RUnlock()
	return len(h.workloads.byPod)
}
