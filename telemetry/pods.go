package telemetry

import (
	"context"
	"slices"
	"time"
)

// PodEvent says that containers started or stopped on the node.
type PodEvent struct {
	At time.Time
	// Churn: a pod's or a container's cgroup appeared, or a container's went
	// away. It warns ahead of the load that a start causes.
	Churn bool
	// Changed: the set of pods differs from that of the event before; Pods
	// holds it then. The first event of a source is always Changed.
	Changed bool
	// Pods are the UIDs of all pods that count, sorted. The receiver owns it.
	Pods []string
}

// PodSource tells which pods count on the node. Run reports the pods there are,
// then every change, calling notify from one goroutine at a time and in order,
// until ctx ends; then it returns nil. notify should not block. Run is called
// once.
type PodSource interface {
	Run(ctx context.Context, notify func(PodEvent)) error
}

// StaticPods is a fixed set of pods, by UID; the empty one is the source of a
// node that runs none. It is safe for concurrent use.
type StaticPods []string

// Run reports the pods once and waits for ctx to end. The event carries the
// time it was made.
func (p StaticPods) Run(ctx context.Context, notify func(PodEvent)) error {
	pods := slices.Clone(p)
	slices.Sort(pods)
	notify(PodEvent{At: time.Now(), Changed: true, Pods: slices.Compact(pods)})
	<-ctx.Done()
	return nil
}
