package simnode

import (
	"context"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// PodFeed is a [telemetry.PodSource] that a machine fills: what an agent would
// learn by watching the cgroups of a host. Events wait until Run is called. It
// is safe for concurrent use.
type PodFeed struct {
	mu     sync.Mutex
	events []telemetry.PodEvent
	wake   chan struct{}
}

// NewPodFeed returns the feed of a machine that runs no pods at the given time.
func NewPodFeed(at time.Time) *PodFeed {
	return &PodFeed{
		events: []telemetry.PodEvent{{At: at, Changed: true}},
		wake:   make(chan struct{}, 1),
	}
}

// Churn reports that a container is about to start.
func (f *PodFeed) Churn(at time.Time) {
	f.push(telemetry.PodEvent{At: at, Churn: true})
}

// Changed reports that a container started or ended, and which pods run now.
func (f *PodFeed) Changed(at time.Time, pods []string) {
	f.push(telemetry.PodEvent{At: at, Churn: true, Changed: true, Pods: telemetry.RunningPods(pods...)})
}

func (f *PodFeed) push(e telemetry.PodEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	wake(f.wake)
}

// Run hands over the events until ctx ends.
func (f *PodFeed) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
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
