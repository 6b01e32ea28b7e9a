package profiler

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Config of a Store. The zero value of a field is its default. It is a plain value,
// safe for concurrent reading.
type Config struct {
	// Preset makes recommendations where a profile names no other; the zero value
	// means profile.Spazio.
	Preset profile.Preset
	// MaxWorkloads bounds the workloads, default 20,000.
	MaxWorkloads int
	// Forget is how long a workload is kept of which nothing is seen, default 14
	// days.
	Forget time.Duration
	// Refresh is after what time a profile is published that changed little, and
	// the oldest that a checkpoint gets; default 10 min.
	Refresh time.Duration
	// Continuous corrects recommendations by how workloads fare; off by default.
	Continuous ContinuousConfig

	// profile sets how a workload's profile learns, with the half-lives that the preset's rules
	// are meant for.
	profile profile.Config
	// maxOfNamespace bounds the workloads of a namespace.
	maxOfNamespace int
	// maxWaiting bounds the windows that wait; each node has an equal share of them where they
	// are too many.
	maxWaiting int
}

func (c Config) withDefaults() Config {
	if c.Preset.Name == "" {
		c.Preset = profile.Spazio()
	}
	c.profile = profile.Config{}.For(c.Preset)
	c.MaxWorkloads = cmp.Or(c.MaxWorkloads, 20_000)
	c.maxOfNamespace = cmp.Or(c.maxOfNamespace, 2_000)
	c.Forget = cmp.Or(c.Forget, 14*24*time.Hour)
	c.maxWaiting = cmp.Or(c.maxWaiting, 10_000)
	c.Refresh = cmp.Or(c.Refresh, 10*time.Minute)
	return c
}

// maxWait is how long a window waits for its pod, and how long a pod that has gone may still
// be measured.
const maxWait = 10 * time.Minute

// Validate returns a *field.Error; that of Preset is package profile's.
func (c Config) Validate() error {
	if c.Preset.Name != "" {
		if err := c.Preset.Validate(); err != nil {
			return err
		}
	}
	switch {
	case c.MaxWorkloads < 0:
		return refuse("MaxWorkloads", c.MaxWorkloads, "above 0, or 0 for the default")
	case c.Forget < 0:
		return refuse("Forget", c.Forget, "above 0, or 0 for the default")
	case c.Refresh < 0:
		return refuse("Refresh", c.Refresh, "above 0, or 0 for the default")
	}
	return c.Continuous.validate()
}

// Store keeps the profiles of a cluster's workloads. It is safe for concurrent use.
type Store struct {
	config Config

	mu        sync.Mutex
	pods      map[reserve.PodKey]*pod
	mirrors   map[staticPod]reserve.PodKey // by the static pods whose mirrors they are
	departed  []departure
	waiting   waitingWindows
	senders   map[string]*sender
	workloads map[profile.Workload]*workload
	recent    *list.List // of *workload, the one seen last in front
	of        map[string]*list.List
	groups    map[groupKey][]*workload

	first     turns       // never published
	changed   []*workload // observed since they were judged
	urgent    []*workload // judged to differ from what is published
	refreshes rota
	shards    [shardCount]shard
	gone      []profile.Workload // whose objects are to go
	stats     stats

	graph     *connection.Graph // nil: the continuous profiler is off
	connected atomic.Bool       // the graph has received flows
	tuned     time.Time         // its last step
}

// New returns an empty Store.
func New(c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	s := &Store{
		config: c, pods: map[reserve.PodKey]*pod{}, senders: map[string]*sender{},
		mirrors: map[staticPod]reserve.PodKey{}, waiting: newWaitingWindows(),
		workloads: map[profile.Workload]*workload{}, recent: list.New(), of: map[string]*list.List{},
		groups: map[groupKey][]*workload{},
	}
	if c.Continuous.off() {
		return s, nil
	}
	var err error
	s.graph, err = connection.New(connection.Config{MaxJobs: c.MaxWorkloads})
	return s, err
}

// ErrInvalid is what every field.Error wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse makes a field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "profiler", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// Target is the workload of the pods that an object such as an autoscaler refers to, by
// the kind and name of what owns them. Pods that an annotation counts elsewhere
// (profile.WorkloadAnnotation) are not in it.
func Target(namespace, kind, name string) profile.Workload {
	switch kind {
	case "Deployment", "Rollout", "DeploymentConfig", "CronJob", "StatefulSet", "DaemonSet",
		"LeaderWorkerSet", "Fleet", "RunnerDeployment", "AutoscalingRunnerSet", "ScaledJob":
		return profile.Workload{Namespace: namespace, Kind: kind, Name: name}
	}
	w, _, _ := profile.Identify(profile.Meta{Namespace: namespace, Controller: profile.Owner{Kind: kind, Name: name}})
	return w
}

// turns are workloads to be published for the first time, by namespace: each namespace
// has its turn, so that a flood in one delays no other.
type turns struct {
	of    map[string][]*workload
	order []string
	count int
}

func (t *turns) push(w *workload) {
	if t.of == nil {
		t.of = map[string][]*workload{}
	}
	of := t.of[w.of.Namespace]
	if len(of) == 0 {
		t.order = append(t.order, w.of.Namespace)
	}
	t.of[w.of.Namespace] = append(of, w)
	t.count++
}

func (t *turns) pop() *workload {
	if len(t.order) == 0 {
		return nil
	}
	namespace := t.order[0]
	t.order = t.order[1:]
	of := t.of[namespace]
	w := of[0]
	t.count--
	if of = of[1:]; len(of) == 0 {
		delete(t.of, namespace)
		return w
	}
	t.of[namespace] = of
	t.order = append(t.order, namespace)
	return w
}

// rota has each workload once, by when it is due. A workload that is pushed is due no earlier
// than those before it, or a little late.
type rota []turn

type turn struct {
	w   *workload
	due time.Time
}

func (r *rota) push(w *workload, due time.Time) { *r = append(*r, turn{w, due}) }

// pop returns a workload that is due at a time and has not been dropped, nil if there
// is none.
func (r *rota) pop(at time.Time) *workload {
	for len(*r) > 0 && ((*r)[0].w.dropped || !(*r)[0].due.After(at)) {
		w := (*r)[0].w
		*r = (*r)[1:]
		if !w.dropped {
			return w
		}
	}
	return nil
}
