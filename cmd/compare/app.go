package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/slice"
)

// placed is what is known of a run's pods. It is safe for concurrent use.
type placed struct {
	mu      sync.Mutex
	created map[string]time.Time // of the pods that wait for a node
	bound   map[string]time.Duration
	changed chan struct{} // closed when something has
}

func newPlaced() placed {
	return placed{created: map[string]time.Time{}, bound: map[string]time.Duration{}, changed: make(chan struct{})}
}

// wake wakes those who wait. p.mu is held.
func (p *placed) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// until waits until done returns true. It calls done with p.mu held, and far, how far the pods are,
// is part of the error if ctx ends before.
func (p *placed) until(ctx context.Context, done func() (ok bool, far string)) error {
	for {
		p.mu.Lock()
		ok, far := done()
		changed := p.changed
		p.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", errPlacing, far, context.Cause(ctx))
		}
	}
}

// bindings is how many pods have been bound, and the mean time that took.
func (p *placed) bindings() (n int, mean time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.bound {
		mean += d
	}
	n = len(p.bound)
	return n, mean / time.Duration(max(n, 1))
}

// app is the application's pods. What kills one makes it again. It is safe for concurrent
// use.
type app struct {
	client    kubernetes.Interface
	scheduler string

	placed                      // by name
	tiers     map[string]string // by UID
	addresses map[string]string // of the pods that are ready, by UID
	processes map[string]*children.Process
	names     map[replica]string
	made      int
}

func newApp(client kubernetes.Interface, scheduler string) *app {
	return &app{
		client: client, scheduler: scheduler, placed: newPlaced(),
		tiers: map[string]string{}, addresses: map[string]string{}, processes: map[string]*children.Process{}, names: map[replica]string{},
	}
}

// labels of the pods.
const (
	labelApp   = "app.kubernetes.io/name"
	labelTier  = "app.kubernetes.io/component"
	appName    = "social"
	controller = "spazio-scheduler.github.io/workload" // as the profiles call a workload
)

// pod is a replica's, by the name of its turn.
func (a *app) pod(r replica, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{labelApp: appName, labelTier: r.tier},
			Annotations: map[string]string{controller: appName + "-" + r.tier},
		},
		Spec: corev1.PodSpec{
			SchedulerName:                 a.scheduler,
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []corev1.Container{{Name: r.tier, Image: appName, Args: []string{"--tier", r.tier}}},
		},
	}
}

// create makes a replica's pod.
func (a *app) create(ctx context.Context, r replica) error {
	a.mu.Lock()
	a.made++
	name := fmt.Sprintf("%s-%d", r, a.made)
	a.names[r] = name
	a.created[name] = time.Now()
	a.mu.Unlock()
	made, err := a.client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, a.pod(r, name), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create pod %s: %w", name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tiers[string(made.UID)] = r.tier
	a.sendReplicas()
	return nil
}

// kill ends a replica's pod at once and makes it again.
func (a *app) kill(ctx context.Context, r replica) error {
	a.mu.Lock()
	name := a.names[r]
	a.mu.Unlock()
	if err := a.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, name, *metav1.NewDeleteOptions(0)); err != nil {
		return fmt.Errorf("kill pod %s: %w", name, err)
	}
	return a.create(ctx, r)
}

// observe records when pods are bound.
func (a *app) observe(e simnode.Event) {
	if e.Phase != simnode.Bound {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if created, ok := a.created[e.Pod.Name]; ok {
		a.bound[e.Pod.Name] = e.At.Sub(created)
	}
}

// processChanged records the starts and ends of pods' processes, and sends all of them the replicas.
func (a *app) processChanged(e slice.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case e.Ended:
		delete(a.addresses, e.UID)
		delete(a.processes, e.UID)
	case e.Ready != "":
		a.addresses[e.UID] = e.Ready
		a.processes[e.UID] = e.Process
	default:
		return
	}
	a.sendReplicas()
}

// sendReplicas sends each process the replicas of all tiers. a.mu is held.
func (a *app) sendReplicas() {
	line, err := json.Marshal(a.replicas())
	if err != nil { // strings encode
		return
	}
	for _, p := range a.processes {
		_, _ = p.Write(append(line, '\n')) // the end of a process is an event of its own
	}
	a.wake()
}

// replicas are the addresses by tier, sorted. a.mu is held.
func (a *app) replicas() map[string][]string {
	replicas := map[string][]string{}
	for _, uid := range slices.Sorted(maps.Keys(a.addresses)) {
		if tier, ok := a.tiers[uid]; ok {
			replicas[tier] = append(replicas[tier], a.addresses[uid])
		}
	}
	return replicas
}

// front are the addresses of the front.
func (a *app) front() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.replicas()[social.Front]
}

// await waits until so many pods are ready.
func (a *app) await(ctx context.Context, pods int) error {
	return a.until(ctx, func() (ok bool, far string) {
		known := 0
		for _, replicas := range a.replicas() {
			known += len(replicas)
		}
		return len(a.addresses) == pods && known == pods, fmt.Sprintf("%d of %d", known, pods)
	})
}

// remove ends all pods and waits until their processes are gone.
func (a *app) remove(ctx context.Context) error {
	pods := a.client.CoreV1().Pods(metav1.NamespaceDefault)
	err := pods.DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{LabelSelector: labelApp + "=" + appName})
	if err != nil {
		return fmt.Errorf("remove the pods: %w", err)
	}
	return a.await(ctx, 0)
}
