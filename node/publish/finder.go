package publish

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// lookupGap is the least time between two lookups of a name, however many of its
// replicas fail.
const lookupGap = time.Second

// lookupTimeout bounds one lookup.
const lookupTimeout = 5 * time.Second

// finder keeps a stream to each replica behind a name.
type finder struct {
	signals *Signals
	service service
	logger  *slog.Logger
	// failed holds a token when a stream has failed: the replica may be gone.
	failed chan struct{}

	streams map[string]context.CancelFunc // by endpoint
	// silent: the last lookup failed; full: a replica was left out. Both are in
	// the log once.
	silent, full bool
}

// run looks the name up now, every refresh, and when a stream fails. It returns
// when ctx ends; the streams, which are among running, end with it.
func (f *finder) run(ctx context.Context, running *sync.WaitGroup) {
	f.streams = map[string]context.CancelFunc{}
	refresh := f.signals.refresh
	for {
		f.resolve(ctx, running)
		if !sleep(ctx, min(lookupGap, refresh)) {
			return
		}
		// Jitter keeps the agents of a fleet from asking in step.
		timer := time.NewTimer(time.Duration((.9+.2*rand.Float64())*float64(refresh)) - min(lookupGap, refresh))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-f.failed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// resolve brings the streams in line with what the name stands for. Where it can't
// be looked up or stands for nothing, they stay as they are: a name server's
// outage must not silence a node.
func (f *finder) resolve(ctx context.Context, running *sync.WaitGroup) {
	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	endpoints, err := f.service.endpoints(lookup, f.signals.resolver)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		f.signals.metrics.lookups.Inc()
		if !f.silent {
			f.logger.Warn("schedulers cannot be looked up; streams to known ones stay", "error", err, "streams", len(f.streams))
		}
		f.silent = true
		return
	}
	if f.silent {
		f.logger.Info("schedulers can be looked up again", "replicas", len(endpoints))
	}
	f.silent = false
	f.follow(ctx, endpoints, running)
}

// follow opens streams to the endpoints that have none and ends the rest.
func (f *finder) follow(ctx context.Context, endpoints []string, running *sync.WaitGroup) {
	wanted := map[string]bool{}
	for _, endpoint := range endpoints {
		wanted[endpoint] = true
	}
	for endpoint, stop := range f.streams {
		if !wanted[endpoint] {
			f.logger.Info("scheduler is no longer listed; its stream ends", "scheduler", endpoint)
			stop()
			delete(f.streams, endpoint)
		}
	}
	for _, endpoint := range endpoints {
		if f.streams[endpoint] == nil {
			f.open(ctx, endpoint, running)
		}
	}
}

func (f *finder) open(ctx context.Context, endpoint string, running *sync.WaitGroup) {
	one, err := f.signals.add(endpoint, "passthrough:///"+endpoint, grpc.WithAuthority(f.service.authority()))
	if err != nil {
		// A stream that is ending, or another target's, is asked for again.
		if !f.full && !errors.Is(err, errStreaming) {
			f.logger.Warn("scheduler gets no reports", "scheduler", endpoint, "error", err)
			f.full = true
		}
		return
	}
	f.full = false
	one.failed = f.failed
	ctx, f.streams[endpoint] = context.WithCancel(ctx)
	f.logger.Info("scheduler found", "scheduler", endpoint)
	running.Go(func() {
		defer f.signals.remove(one)
		one.run(ctx)
	})
}
