package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// PodState is how far a pod on the node has come.
type PodState uint8

const (
	// PodPending: the pod has its cgroup or sandbox, and nothing of it has run
	// but, where the source can distinguish them, init containers.
	PodPending PodState = iota
	// PodRunning: a container beyond the sandbox runs. Where the source cannot
	// distinguish init containers, theirs count.
	PodRunning
	// PodStopped: containers ran and none does, while the sandbox, or the cgroup
	// of a pod without one, is there: the pod is between an init container and
	// the next, in back-off after a crash, or done and about to be removed.
	PodStopped
)

var podStates = [...]string{PodPending: "pending", PodRunning: "running", PodStopped: "stopped"}

func (s PodState) String() string {
	if int(s) < len(podStates) {
		return podStates[s]
	}
	return fmt.Sprintf("PodState(%d)", s)
}

// Pod is a pod on the node. It ends with its sandbox, or its cgroup, and not
// with a container.
type Pod struct {
	UID   string
	State PodState
	// Starts is how many containers beyond the sandbox have started, init
	// containers included, or StartsUnknown. A reader that knows how many init containers a
	// pod has, as its scheduler does, sees by it whether one of the others has run:
	// more have started than those. A container that starts again counts again
	// where the source cannot distinguish the two.
	Starts int
	// Namespace and Name are the pod's, empty where the source does not know them.
	Namespace, Name string
}

// StartsUnknown are the Starts of a pod of which the source may have missed some,
// as it was there first or events were lost. It exceeds every other number.
const StartsUnknown = math.MaxInt

func (p Pod) compare(q Pod) int { return strings.Compare(p.UID, q.UID) }

// PodEvent reports that pods or containers started or stopped on the node.
type PodEvent struct {
	At time.Time
	// Churn: a pod's or a container's cgroup appeared, or a container's went
	// away. It warns ahead of the load that a start causes.
	Churn bool
	// Churned are the UIDs of the pods whose churn it is; none where the source can't
	// name all of them.
	Churned []string
	// Changed: the pods, or what is known of one, differ from the event before;
	// Pods holds them then. The first event of a source is always Changed.
	Changed bool
	// Pods are all pods on the node by UID, sorted, each once. The receiver owns
	// it.
	Pods []Pod
}

// PodSource reports which pods are on the node. Run reports the pods there are,
// then every change, calling notify from one goroutine at a time and in order,
// until ctx ends; then it returns nil. notify should not block. Run is called
// once.
type PodSource interface {
	Run(ctx context.Context, notify func(PodEvent)) error
}

// PodSourceHealth returns why the source sees no pods at present, if it is one that
// knows: if it has a method Health() error, safe for concurrent use.
func PodSourceHealth(s PodSource) error {
	if s, ok := s.(interface{ Health() error }); ok {
		return s.Health()
	}
	return nil
}

// StaticPods is a fixed set of pods that run, by UID, with an unknown number of
// containers; the empty one is the source of a node that runs none. It is safe for
// concurrent use.
type StaticPods []string

// Run reports the pods once and waits for ctx to end. The event carries the
// time it was made.
func (p StaticPods) Run(ctx context.Context, notify func(PodEvent)) error {
	pods := RunningPods(p...)
	for i := range pods {
		pods[i].Starts = StartsUnknown
	}
	notify(PodEvent{At: time.Now(), Changed: true, Pods: pods})
	<-ctx.Done()
	return nil
}

// RunningPods are the pods with these UIDs, sorted, each once, running their
// first container.
func RunningPods(uids ...string) []Pod {
	var pods []Pod
	for _, uid := range uids {
		pods = append(pods, Pod{UID: uid, State: PodRunning, Starts: 1})
	}
	slices.SortFunc(pods, Pod.compare)
	return slices.CompactFunc(pods, func(a, b Pod) bool { return a.UID == b.UID })
}

// ErrNoPods is that a source reports no pod at all although the cgroups hold containers of
// pods: it asks another runtime, another namespace of the runtime, or about another node.
var ErrNoPods = errors.New("the source reports no pod, and there are containers of pods")

// checkedPods is the source that CheckPods returns.
type checkedPods struct {
	source PodSource
	config CgroupConfig
	// reports is true while the source reports a pod.
	reports atomic.Bool
	blind   atomic.Pointer[error]
}

// CheckPods returns a source that checks the given one, which does not read cgroups itself. While
// that one reports no pod, it searches the cgroups of c for containers of pods once each Rescan; of
// c it uses Root, Rescan and Logger. PodSourceHealth of it is the given one's, or wraps ErrNoPods if
// two searches in a row have found some; none is found in cgroups that can't be read. The error is
// a *FieldError.
func CheckPods(source PodSource, c CgroupConfig) (PodSource, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &checkedPods{source: source, config: c.withDefaults()}, nil
}

// Health is for PodSourceHealth.
func (p *checkedPods) Health() error {
	if err := PodSourceHealth(p.source); err != nil {
		return err
	}
	if err := p.blind.Load(); err != nil && !p.reports.Load() {
		return *err
	}
	return nil
}

// Run implements PodSource.
func (p *checkedPods) Run(ctx context.Context, notify func(PodEvent)) error {
	ctx, cancel := context.WithCancel(ctx)
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		p.check(ctx)
	}()
	defer func() {
		cancel()
		<-checked
	}()
	return p.source.Run(ctx, func(e PodEvent) {
		if e.Changed {
			p.reports.Store(len(e.Pods) > 0)
		}
		notify(e)
	})
}

// check looks for containers of pods while the source reports none, until ctx ends. A pod
// that starts or ends is in the cgroups for a moment longer: it takes two looks.
func (p *checkedPods) check(ctx context.Context) {
	ticker := time.NewTicker(p.config.Rescan)
	defer ticker.Stop()
	for looks := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if p.reports.Load() || !p.hasContainers() {
			looks = 0
			p.blind.Store(nil)
			continue
		}
		if looks++; looks == 2 {
			err := fmt.Errorf("telemetry: %w below %s: is it the right socket, namespace and node name?", ErrNoPods, p.config.Root)
			p.blind.Store(&err)
			p.config.Logger.Warn("pods of the node are not seen", "err", err)
		}
	}
}

func (p *checkedPods) hasContainers() bool {
	tree, _, _ := findKubelet(p.config.Root)
	return tree.use == treeContainers
}
