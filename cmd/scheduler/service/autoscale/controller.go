package autoscale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin"
)

// fieldManager is whose fields the Controller's are in the objects that it writes.
const fieldManager = "spazio-autoscale"

const (
	// WaitingForNodes is the reason of the events on pods that a buffer asks nodes for.
	WaitingForNodes = "WaitingForNodes"
	// eventsPerPass bounds the events of a pass.
	eventsPerPass = 50
	// The Controller has a client of its own, because binds must not wait for it.
	clientQPS, clientBurst = 20, 50
	// maxPass is how long a pass may take: what it has decided must not be written much later.
	maxPass = 15 * time.Second
)

// Controller shows the autoscaler what a scheduler's Hub knows, while the scheduler leads. It serves
// one Hub, whose options should have its BufferOf. Safe for concurrent use.
type Controller struct {
	config  Config
	metrics *metricSet
	// buffers names the buffer of each waiting pod.
	buffers atomic.Pointer[map[types.UID]string]
	running sync.WaitGroup

	// What follows is set by start and belongs to the goroutine that it starts.
	hub      *plugin.Hub
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	lister   listers.NodeLister
	recorder events.EventRecorder
	now      func() time.Time
	// planner is nil while another scheduler leads.
	planner *planner
	owners  []metav1.OwnerReference
	// deferred are the nodes that are not written now.
	deferred deferrals
	// announced are the waiting pods that have an event.
	announced map[types.UID]bool
	// last is the text of the last pass's error, so that the same is logged once.
	last string
}

// New returns a Controller that does nothing yet. The error is a *field.Error.
func New(c Config) (*Controller, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Controller{config: c, metrics: registerMetrics(), now: time.Now, deferred: deferrals{}, announced: map[types.UID]bool{}}, nil
}

var errNoClient = errors.New("autoscale: the scheduler's handle has no configuration of its client")

// Attach returns hub's factory of plugins, which starts the Controller with the first plugin, until
// the context of that call ends. Of a nil Controller it is hub's alone.
func (c *Controller) Attach(hub *plugin.Hub) func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	if c == nil {
		return hub.New
	}
	var once sync.Once
	return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		made, err := hub.New(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		once.Do(func() { err = c.start(ctx, hub, handle) })
		return made, err
	}
}

// start is called while the scheduler makes its plugins, so that the informer of nodes is there.
func (c *Controller) start(ctx context.Context, hub *plugin.Hub, handle fwk.Handle) error {
	if handle.KubeConfig() == nil {
		return errNoClient
	}
	config := rest.CopyConfig(handle.KubeConfig())
	config.QPS, config.Burst, config.RateLimiter = clientQPS, clientBurst, nil
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return leaderTransport{next, hub.IsLeading} })
	var err error
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("autoscale: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("autoscale: %w", err)
	}
	c.hub, c.recorder = hub, handle.EventRecorder()
	c.lister = handle.SharedInformerFactory().Core().V1().Nodes().Lister()
	c.running.Go(func() { c.run(ctx) })
	return nil
}

// Wait returns when the Controller has ended, at once if it was never started.
func (c *Controller) Wait() { c.running.Wait() }

// BufferOf returns the CapacityBuffer that asks for nodes for a pod, as namespace/name, or "".
func (c *Controller) BufferOf(pod *corev1.Pod) string {
	if names := c.buffers.Load(); names != nil {
		return (*names)[pod.UID]
	}
	return ""
}

func (c *Controller) run(ctx context.Context) {
	ticker := time.NewTicker(c.config.period())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !c.hub.Ready() || !c.hub.IsLeading() {
			c.rest()
			continue
		}
		if err := c.pass(ctx); ctx.Err() == nil && c.hub.IsLeading() {
			c.log(ctx, err)
		}
	}
}

// rest forgets what was decided: another scheduler leads, or will find what exists.
func (c *Controller) rest() {
	if c.planner != nil {
		c.planner, c.deferred, c.announced = nil, deferrals{}, map[types.UID]bool{}
		c.buffers.Store(nil)
		c.metrics.pods.Set(0)
		c.metrics.mark(0, 0)
	}
}

// log reports an error once, and that it is over.
func (c *Controller) log(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch logger := klog.FromContext(ctx); {
	case text == c.last:
	case err != nil:
		logger.Error(err, "The autoscaler is not shown all that is measured; what failed is tried again", "next", c.config.period())
	default:
		logger.Info("The autoscaler is shown all that is measured again")
	}
	c.last = text
}

// pass makes the API once as it should be. Pods and nodes do not wait for each other's errors.
func (c *Controller) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxPass)
	defer cancel()
	if c.planner == nil {
		c.planner = newPlanner(c.config)
	}
	waiters := c.hub.WaitingForRoom()
	waiting, newest := group(waiters)
	e, listErr := c.list(ctx)
	if errors.Is(listErr, errNoCapacityBuffers) { // without them nothing reads the label of full nodes
		waiting = nil
	}
	nodes := c.nodes()
	out := c.planner.decide(plannerInput{Now: c.now(), Waiting: waiting, Nodes: nodes, Buffers: e.buffers, BuffersUnknown: listErr != nil})
	errs := []error{listErr, c.mark(ctx, out.Nodes)}
	if listErr == nil {
		asking, err := c.write(ctx, out, newest, e)
		errs = append(errs, err)
		c.announce(waiters, asking)
	}
	c.count(e.buffers, nodes)
	return errors.Join(errs...)
}

// group returns the workloads whose pods wait, and the newest pod of each.
func group(waiters []plugin.RoomWaiter) (waiting []waitingPods, newest map[string]*corev1.Pod) {
	at := make(map[string]int)
	newest = make(map[string]*corev1.Pod)
	for _, w := range waiters {
		of := w.Workload.String()
		i, known := at[of]
		if !known {
			i = len(waiting)
			at[of] = i
			waiting = append(waiting, waitingPods{Workload: of, Oldest: w.Since, Demand: amount{CPU: w.Cores, Memory: w.Bytes}})
		}
		g := &waiting[i]
		g.Pods++
		if w.Since.Before(g.Oldest) {
			g.Oldest = w.Since
		}
		if before := newest[of]; before == nil || isNewer(w.Pod, before) {
			newest[of] = w.Pod
		}
	}
	return waiting, newest
}

func isNewer(a, b *corev1.Pod) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name > b.Name
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}

// announce remembers which buffer asks for nodes for each pod, and records an event on pods that
// have none yet. Of a workload's pods a buffer asks for those that have waited longest, as many as it
// has replicas.
func (c *Controller) announce(waiters []plugin.RoomWaiter, asking map[string]int) {
	byAge := slices.SortedFunc(slices.Values(waiters), func(a, b plugin.RoomWaiter) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	left := maps.Clone(asking)
	names, announced, recorded := make(map[types.UID]string, len(waiters)), make(map[types.UID]bool, len(waiters)), 0
	for _, w := range byAge {
		of, uid := w.Workload.String(), w.Pod.UID
		announced[uid] = c.announced[uid]
		if left[of]--; left[of] < 0 {
			continue
		}
		names[uid] = c.config.Namespace + "/" + nameOf(of)
		if announced[uid] || recorded >= eventsPerPass {
			continue
		}
		recorded++
		announced[uid] = true
		if c.recorder != nil {
			c.recorder.Eventf(w.Pod, nil, corev1.EventTypeNormal, WaitingForNodes, "Scheduling",
				"no node has had measured room since %s: CapacityBuffer %s asks the autoscaler for nodes", w.Since.UTC().Format(time.RFC3339), names[uid])
		}
	}
	c.announced = announced
	c.buffers.Store(&names)
}

// count sets the gauges to what a pass has found.
func (c *Controller) count(buffers []buffer, nodes []plannedNode) {
	pods, full, protected := 0, 0, 0
	for _, b := range buffers {
		pods += b.Replicas
	}
	for _, n := range nodes {
		if n.IsFull {
			full++
		}
		if n.IsProtected {
			protected++
		}
	}
	c.metrics.pods.Set(float64(pods))
	c.metrics.mark(full, protected)
}
