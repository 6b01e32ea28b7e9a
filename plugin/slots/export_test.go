package slots

import (
	"time"

	"k8s.io/client-go/tools/cache"
)

// Options are what a Factory of NewFactoryWith has instead of the defaults.
type Options struct {
	// Retry is how often an API server is asked again that has no BatchJobs.
	Retry time.Duration
	// Nodes is how many nodes a pod is tried on at first.
	Nodes int
	// Now is the clock.
	Now func() time.Time
}

// NewFactoryWith is NewFactory with options.
func NewFactoryWith(jobs cache.ListerWatcher, o Options) *Factory {
	return newFactory(jobs, options{retry: o.Retry, nodes: o.Nodes, now: o.Now})
}
