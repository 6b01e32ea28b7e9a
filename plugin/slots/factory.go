package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// options are for tests; the zero value is what a scheduler uses.
type options struct {
	// retry is how often an API server is asked again that has no BatchJobs, or does not let them
	// be read; default 10 s.
	retry time.Duration
	// nodes is how many nodes a pod is tried on at first, those of its first free slots; default
	// 16. The scheduler looks at every node that a pod may go to, and one of the first nearly
	// always fits.
	nodes int
	// now is the clock; default time.Now.
	now func() time.Time
}

// Factory makes the plugin for the profiles of one scheduler, which share the state of the slots.
// Safe for concurrent use.
type Factory struct {
	options options
	source  cache.ListerWatcher // of BatchJobs, nil for the API server's
	table   *table
	jobs    *jobs
	metrics *metricSet
	// synced is set once the pods that existed at the start are in the table, known while the
	// BatchJobs are known.
	synced, known atomic.Bool

	mu      sync.Mutex
	started bool
	pods    listers.PodLister
	tasks   sync.WaitGroup
}

// NewFactory returns a Factory that does nothing until New is called. Its BatchJobs, unstructured,
// are those of jobs, or if that is nil those of the API server of the scheduler's configuration.
func NewFactory(jobs cache.ListerWatcher) *Factory { return newFactory(jobs, options{}) }

func newFactory(source cache.ListerWatcher, o options) *Factory {
	o.retry, o.nodes = cmp.Or(o.retry, objects.Soon), cmp.Or(o.nodes, 16)
	if o.now == nil {
		o.now = time.Now
	}
	return &Factory{options: o, source: source, table: newTable(), jobs: newJobs(), metrics: registerMetrics()}
}

// New makes the plugin of one profile; it is a PluginFactory. The first call begins to
// follow pods, through the handle's informers, and BatchJobs, until ctx ends.
func (f *Factory) New(ctx context.Context, obj runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := config.Decode[config.SpazioSlotsArgs](obj)
	if err != nil {
		return nil, err
	}
	if err := args.Validate(); err != nil {
		return nil, fmt.Errorf("profile %s: %w", handle.ProfileName(), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started {
		if err := f.run(ctx, handle); err != nil {
			return nil, fmt.Errorf("plugin: %w", err)
		}
		f.started = true
	}
	return &plugin{Factory: f, handle: handle, graceful: args.WithDefaults().Swap == config.SwapGraceful}, nil
}

// Ready reports whether the pods and the BatchJobs that existed at the start are known. Until
// then no pod is put into a slot.
func (f *Factory) Ready() bool { return f.synced.Load() && f.known.Load() }

// Wait returns when everything the Factory started has ended, after the end of the
// context given to the first New. It returns at once if New was never called.
func (f *Factory) Wait() { f.tasks.Wait() }

var errNoKubeConfig = errors.New("SpazioSlots needs a scheduler whose handle has the configuration of its client")

// run starts the Factory; f.mu is held.
func (f *Factory) run(ctx context.Context, handle fwk.Handle) error {
	if f.source == nil {
		if handle.KubeConfig() == nil {
			return errNoKubeConfig
		}
		client, err := dynamic.NewForConfig(handle.KubeConfig())
		if err != nil {
			return fmt.Errorf("client for BatchJobs: %w", err)
		}
		f.source = source(client)
	}
	synced, err := f.followPods(handle.SharedInformerFactory())
	if err != nil {
		return err
	}
	f.tasks.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), synced) {
			f.synced.Store(true)
			objects.Activate(ctx, f.jobs.all())
		}
	})
	f.tasks.Go(func() { f.followJobs(ctx) })
	return nil
}

// source lists and watches all BatchJobs.
func source(client dynamic.Interface) cache.ListerWatcher {
	r := client.Resource(schema.GroupVersionResource{Group: Group, Version: Version, Resource: BatchJobs})
	return &cache.ListWatch{ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return r.List(ctx, o)
	}, WatchFuncWithContext: r.Watch}
}

// followJobs keeps the jobs up to date until ctx ends.
func (f *Factory) followJobs(ctx context.Context) {
	logger, logged := klog.FromContext(ctx), false
	jobs := objects.Kind{
		Source: f.source, Object: &unstructured.Unstructured{}, Strip: strip, Retry: f.options.retry,
		Handler: objects.Handler(func(u *unstructured.Unstructured) { f.jobSeen(ctx, u) }, func(u *unstructured.Unstructured) {
			f.jobs.remove(u.GetUID())
		}),
		Synced: func() {
			f.known.Store(true)
			objects.Activate(ctx, f.jobs.all())
		},
		Ended: func(err error) {
			f.known.Store(false)
			f.jobs.clear()
			if !logged { // logged once until they are there again
				logger.Info("No pod can be put into a slot: BatchJobs are not known", "plugin", Name, "reason", err)
			}
			logged = !errors.Is(err, objects.ErrGone)
		},
	}
	jobs.Follow(ctx)
}

// jobSeen takes in a BatchJob, and activates its pods if it now asks for other slots.
func (f *Factory) jobSeen(ctx context.Context, u *unstructured.Unstructured) {
	j, err := readJob(u)
	if err != nil {
		klog.FromContext(ctx).Error(err, "BatchJob not taken", "plugin", Name, "batchJob", klog.KObj(u))
		f.jobs.remove(u.GetUID())
		return
	}
	if f.jobs.set(j) && f.known.Load() {
		objects.Activate(ctx, f.jobs.waitersOf(j.uid))
	}
}

// followPods keeps the table up to date, and returns a function that reports whether it is.
func (f *Factory) followPods(factory informers.SharedInformerFactory) (cache.InformerSynced, error) {
	f.pods = factory.Core().V1().Pods().Lister()
	registration, err := factory.Core().V1().Pods().Informer().AddEventHandler(objects.Handler(f.podSeen, f.podGone))
	if err != nil {
		return nil, fmt.Errorf("follow pods: %w", err)
	}
	return registration.HasSynced, nil
}

// podSeen updates the table with a pod's current state.
func (f *Factory) podSeen(pod *v1.Pod) {
	switch {
	case objects.IsTerminal(pod):
		f.podGone(pod)
	case isPlaceholder(pod):
		if at, ok := placeOf(pod); ok {
			f.table.addPlaceholder(placeholder{pod.Namespace, pod.Name, pod.UID}, at)
		}
	case isTenant(pod) && pod.Spec.NodeName != "":
		f.jobs.done(pod.UID)
		// A pod on another node than its slot's is in no slot, whatever its annotation names.
		if at, ok := placeOf(pod); ok && at.slot.Node == pod.Spec.NodeName {
			f.table.settle(pod.UID, runOf(pod), at)
		} else {
			f.table.remove(pod.UID)
		}
	}
}

// podGone forgets a pod that has ended, and activates the pods that wait for its slot. The
// scheduler learns of the end by itself, and may have tried them before the table was updated.
func (f *Factory) podGone(pod *v1.Pod) {
	f.table.removePlaceholder(pod.UID)
	f.jobs.done(pod.UID)
	if held, ok := f.table.remove(pod.UID); ok {
		objects.Activate(context.Background(), f.jobs.waitersFor(held.place))
	}
}

// there reports whether the API has the pod, as far as the lister shows.
func (f *Factory) there(pod *v1.Pod) bool {
	current, err := f.pods.Pods(pod.Namespace).Get(pod.Name)
	return err == nil && current.UID == pod.UID
}

// placeOf returns the slot that a pod's label and annotation name.
func placeOf(pod *v1.Pod) (place, bool) {
	id, err := slot.ParseID(pod.Annotations[AnnotationSlot])
	testbed := types.UID(pod.Labels[LabelTestbedUID])
	return place{testbed, id}, err == nil && testbed != ""
}

// Name is the plugin's name in a scheduler's configuration.
const Name = "SpazioSlots"

// These names are documented in package operator/v1alpha1, which plugins do not import. A test of
// the programs, which import both, keeps them equal.
const (
	// Group, Version and BatchJobs identify the resource of BatchJobs.
	Group     = "testbed.spazio-scheduler.github.io"
	Version   = "v1alpha1"
	BatchJobs = "batchjobs"

	LabelRole        = Group + "/role"
	LabelTestbedUID  = Group + "/testbed-uid"
	LabelBatchJobUID = Group + "/batchjob-uid"
	LabelAttempt     = Group + "/attempt"
	AnnotationSlot   = Group + "/slot"

	RolePlaceholder = "placeholder"
	RoleSlot        = "slot"
)

func isPlaceholder(pod *v1.Pod) bool { return pod.Labels[LabelRole] == RolePlaceholder }

// isTenant reports whether the pod belongs to a BatchJob and goes into a slot.
func isTenant(pod *v1.Pod) bool { return pod.Labels[LabelRole] == RoleSlot }

// metricSet holds the plugin's metrics. Safe for concurrent use.
type metricSet struct{ swap *metrics.Histogram }

// registerMetrics registers the metrics with the scheduler's registry, once for the
// process however many Factories there are.
var registerMetrics = sync.OnceValue(func() *metricSet {
	m := &metricSet{swap: metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: "spazio_testbed", Name: "swap_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time in which no pod held a slot's resources: from the end of its placeholder to the bind of its pod, failed attempts included.",
		Buckets: metrics.ExponentialBuckets(.0005, 2, 16),
	})}
	legacyregistry.MustRegister(m.swap)
	return m
})

const (
	// grace is how long a placeholder has to end with swap: Graceful, in seconds.
	grace = 1
	// graceMost bounds the wait for a placeholder's end, because its node's kubelet may be away.
	graceMost = 30 * time.Second
)

var errNoSlot = errors.New("SpazioSlots: the pod has no slot")

// Bind puts a pod into its slot in the place of the slot's placeholder, and a placeholder on its node. If
// Bind fails, the pod keeps its slot, because the placeholder may be gone.
func (p *plugin) Bind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	var annotations map[string]string
	if isTenant(pod) {
		at, placeholders, ok := p.table.swap(pod.UID)
		if !ok || at.slot.Node != node {
			return fwk.AsStatus(fmt.Errorf("%w on %s", errNoSlot, node))
		}
		for _, g := range placeholders {
			ended, err := p.end(ctx, g)
			if err != nil {
				return fwk.AsStatus(fmt.Errorf("delete the placeholder %s/%s of the slot %s: %w", g.namespace, g.name, at.slot, err))
			}
			p.table.emptied(pod.UID, ended, p.options.now())
		}
		annotations = map[string]string{AnnotationSlot: at.slot.String()}
	}
	if err := p.bind(ctx, pod, node, annotations); err != nil {
		return fwk.AsStatus(err)
	}
	if held, ok := p.table.tenancy(pod.UID); ok && !held.emptied.IsZero() {
		p.metrics.swap.Observe(p.options.now().Sub(held.emptied).Seconds())
	}
	return nil
}

// end deletes a placeholder, and reports whether it did. It is no error if the placeholder was already gone.
func (p *plugin) end(ctx context.Context, g placeholder) (ended bool, err error) {
	var seconds int64
	if p.graceful {
		seconds = grace
	}
	klog.FromContext(ctx).V(3).Info("Deleting the placeholder of a slot", "placeholder", klog.KRef(g.namespace, g.name))
	err = p.handle.ClientSet().CoreV1().Pods(g.namespace).Delete(ctx, g.name, metav1.DeleteOptions{
		GracePeriodSeconds: &seconds, Preconditions: &metav1.Preconditions{UID: &g.uid},
	})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // a conflict: another pod has its name
		return false, nil
	case err != nil || !p.graceful:
		return err == nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, graceMost)
	defer cancel()
	err = p.table.awaitGone(ctx, g.uid)
	return err == nil, err
}

// bind binds a pod as DefaultBinder does, with annotations.
func (p *plugin) bind(ctx context.Context, pod *v1.Pod, node string, annotations map[string]string) error {
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Annotations: annotations},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}
	cacher := p.handle.APICacher()
	if cacher == nil {
		return p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	}
	finished, err := cacher.BindPod(binding)
	if err != nil {
		return err
	}
	return cacher.WaitOnFinish(ctx, finished)
}
