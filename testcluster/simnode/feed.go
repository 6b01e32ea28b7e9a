package simnode

import (
	"context"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// podFeed is a [telemetry.PodSource] that a machine fills: what an agent would
// learn by watching the cgroups of a host. Events wait until Run is called. It
// is safe for concurrent use.
type podFeed struct {
	mu     sync.Mutex
	events []telemetry.PodEvent
	wake   chan struct{}
}

// newPodFeed returns the feed of a machine that runs no pods at the given time.
func newPodFeed(at time.Time) *podFeed {
	return &podFeed{
		events: []telemetry.PodEvent{{At: at, Changed: true}},
		wake:   make(chan struct{}, 1),
	}
}

// churn reports that a container is about to start.
func (f *podFeed) churn(at time.Time) {
	f.push(telemetry.PodEvent{At: at, Churn: true})
}

// changed reports that a container started or ended, and which pods run now.
func (f *podFeed) changed(at time.Time, pods []string) {
	f.push(telemetry.PodEvent{At: at, Churn: true, Changed: true, Pods: telemetry.RunningPods(pods...)})
}

func (f *podFeed) push(e telemetry.PodEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	wake(f.wake)
}

// Run hands over the events until ctx ends.
func (f *podFeed) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	for {
		f.mu.Lock()
		events := f.events
		f.events = nil
		f.mu.Unlock()
		for _, e := range events {
			notify(e)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
