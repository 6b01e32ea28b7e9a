// Package follow keeps a set of pods true to something that can be lost: a
// runtime's socket, an API server. It tries again for ever, lists again after
// every loss, and logs each loss once.
package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// Retry runs session until ctx ends, waiting ever longer after each failure. A
// session calls up when it has the whole picture. health follows. From the first failure on, one
// line is logged until a session lasted for MaxBackoff.
func Retry(ctx context.Context, c Config, what string, health *Health, session func(ctx context.Context, up func()) error) {
	backoff, said, down := c.MinBackoff, false, false
	health.set(fmt.Errorf("%s: %w", what, errNoAnswer))
	for {
		var since time.Time
		err := session(ctx, func() {
			since = time.Now()
			health.set(nil)
			if down {
				c.Logger.Info("follows again: "+what, "endpoint", c.Endpoint)
			}
			down = false
		})
		if ctx.Err() != nil {
			return
		}
		if !since.IsZero() && time.Since(since) >= c.MaxBackoff {
			backoff, said = c.MinBackoff, false
		}
		down = down || since.IsZero()
		if err != nil {
			health.set(fmt.Errorf("%s: %w", what, err))
		}
		if err != nil && !said {
			c.Logger.Warn("connection lost; the pods seen last count until it is back: "+what, "endpoint", c.Endpoint, "err", err)
			said = true
		}
		if !Pause(ctx, time.Duration(float64(backoff)*(1+rand.Float64())/2)) {
			return
		}
		backoff = min(2*backoff, c.MaxBackoff)
	}
}

// Pause waits and reports whether it was not cut short by the end of ctx.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Config is what the sources have in common; their own configurations document it.
type Config struct {
	Endpoint               string
	Rescan, Poll           time.Duration
	MinBackoff, MaxBackoff time.Duration
	Logger                 *slog.Logger
}

// Defaults of Config. A runtime restarts in a second or two, and a socket that
// refuses costs nothing to try; the agent's cgroup source rescans as often.
const (
	defaultRescan     = 30 * time.Second
	defaultPoll       = time.Second
	defaultMinBackoff = 100 * time.Millisecond
	defaultMaxBackoff = 5 * time.Second
)

// WithDefaults fills in what is zero, except for the endpoint.
func (c Config) WithDefaults() Config {
	c.Rescan = cmp.Or(c.Rescan, defaultRescan)
	c.Poll = cmp.Or(c.Poll, defaultPoll)
	c.MinBackoff = cmp.Or(c.MinBackoff, defaultMinBackoff)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, defaultMaxBackoff)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// SocketPath is the path of an endpoint: unix:///path, unix:/path or the path.
func SocketPath(endpoint string) string {
	if path, ok := strings.CutPrefix(endpoint, "unix://"); ok {
		return path
	}
	return strings.TrimPrefix(endpoint, "unix:")
}

// errNoAnswer is that what is followed has not answered yet.
var errNoAnswer = errors.New("no answer yet")

// Health is why there is no answer of what is followed, nil while it is; the zero
// Health has not begun. It is safe for concurrent use.
type Health struct{ err atomic.Pointer[error] }

// Get returns it.
func (h *Health) Get() error {
	if err := h.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (h *Health) set(err error) {
	if err == nil {
		h.err.Store(nil)
		return
	}
	h.err.Store(&err)
}

// Pods are the pods on a node, by a key of the source's, and what of them was
// reported last. What there is before the first report is no churn. The zero Pods
// are none. They are not safe for concurrent use.
type Pods struct {
	pods                   map[string]telemetry.Pod
	churn, stale, reported bool
	last                   []telemetry.Pod
}

// Put stores a pod.
func (s *Pods) Put(key string, pod telemetry.Pod) {
	if s.pods == nil {
		s.pods = map[string]telemetry.Pod{}
	}
	if before, known := s.pods[key]; !known || before != pod {
		s.pods[key], s.stale = pod, true
	}
}

// Remove forgets a pod and reports whether it was known.
func (s *Pods) Remove(key string) bool {
	_, known := s.pods[key]
	delete(s.pods, key)
	s.stale = s.stale || known
	return known
}

// Keys are the keys of all pods, in no order.
func (s *Pods) Keys() []string { return slices.Collect(maps.Keys(s.pods)) }

// Churn notes that a container starts or stops.
func (s *Pods) Churn() { s.churn = true }

// Report notifies of what happened since it was called last; the first time in
// any case.
func (s *Pods) Report(notify func(telemetry.PodEvent)) {
	e := telemetry.PodEvent{Churn: s.churn && s.reported, Changed: !s.reported}
	var pods []telemetry.Pod
	if s.stale || !s.reported {
		pods = s.list()
		e.Changed = e.Changed || !slices.Equal(pods, s.last)
	}
	s.churn, s.stale, s.reported = false, false, true
	if !e.Churn && !e.Changed {
		return
	}
	if e.Changed {
		s.last = pods
		e.Pods = slices.Clone(pods)
	}
	e.At = time.Now()
	notify(e)
}

// list returns the pods by UID; of several with one UID the one whose key that is, or else
// the one that runs, or has started most. A pod may say that it is the mirror of any other,
// as whoever makes it writes its annotations.
func (s *Pods) list() []telemetry.Pod {
	pods := make([]telemetry.Pod, 0, len(s.pods))
	for key, pod := range s.pods {
		if _, own := s.pods[pod.UID]; !own || key == pod.UID {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b telemetry.Pod) int {
		return cmp.Or(strings.Compare(a.UID, b.UID), runs(b)-runs(a), b.Starts-a.Starts)
	})
	return slices.CompactFunc(pods, func(a, b telemetry.Pod) bool { return a.UID == b.UID })
}

// runs is 1 for a pod that runs.
func runs(p telemetry.Pod) int {
	if p.State == telemetry.PodRunning {
		return 1
	}
	return 0
}
