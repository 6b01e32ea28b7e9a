package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "Spazio"

// HubOptions are for tests and measurements; the zero value is what a scheduler uses.
type HubOptions struct {
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Random draws from [0,1) and breaks near-ties of the score; default a
	// random generator. It is called concurrently.
	Random func() float64
	// OnReserve, if set, observes each reservation that was granted on a current signal: the
	// signal as capped by the ledger, and the pods in flight at that moment, without the new pod.
	// It is called with the node locked and must not call back.
	OnReserve func(node string, signal reserve.Signal, flight reserve.Flight)
	// Profiles is the source of WorkloadProfiles; default the scheduler's API server.
	// ProfilesRetry is how often an API server without them is asked again; default 5 min.
	Profiles      cache.ListerWatcher
	ProfilesRetry time.Duration
	// Testbeds is the source of Testbeds, unstructured; default the scheduler's API server.
	Testbeds cache.ListerWatcher
	// Leading reports whether this scheduler is the active one of several. By default it reads
	// client-go's leader election metric leader_election_master_status, and returns true if the
	// process has no such metric.
	Leading func() bool
	// Buffer, if set, names the CapacityBuffer that asks for nodes for a pod that waits for room, as
	// namespace/name, empty if none does. It is called concurrently.
	Buffer func(*v1.Pod) string
	// silencePeriod, silenceGap and roomPeriod replace the constants of these names, which only this
	// package's tests do, and review how long the API server's answer about an agent's token counts,
	// also for an open stream: 10 min.
	silencePeriod, silenceGap, roomPeriod, review time.Duration
}

// Hub is what the profiles of a scheduler share: the signals, the ledger, the waiting pods and
// the server that agents publish to. Its New is the plugin factory. Everything that a Hub started
// ends with the context given to the first New, and Wait returns when it has. Safe for concurrent
// use.
type Hub struct {
	options HubOptions
	start   time.Time
	ledger  *reserve.Ledger
	nodes   nodes
	waiting *waiting
	// histories hold what happened to each pod, for explanations.
	histories    histories
	placeholders placeholders
	metrics      *metricSet
	// synced is set once the informers have delivered what existed at the start.
	synced atomic.Bool
	rules  rules
	// lastMoment is the moment of the newest decision; see moment.
	clockMu    sync.Mutex
	lastMoment reserve.Moment
	// driven is set if a test runs what the Hub otherwise does by itself.
	driven bool
	// reclassed is when the demands of the waiting pods were last updated. Only the inspection
	// uses it.
	reclassed time.Duration
	// unauthenticated bounds the streams that have not yet brought a report that counts, watchers the
	// streams of rooms.
	unauthenticated, watchers *transport.Quota
	// limiter limits the callers; refusals is what it had refused when the metrics were last set.
	limiter  *transport.ConnLimiter
	refusals transport.ConnStats
	// workloads holds what profiles state about pods, profiling how the profiles are followed.
	workloads workloads
	profiling profiling
	// lives orders the pods if ShortestFirst is enabled.
	lives lives

	// consumption holds what agents measured pods to take. labelled holds the workloads that a
	// metric has series for; only gauge uses it.
	consumption consumption
	labelled    map[string]struct{}

	// identities reviews the agents' tokens, controllers the tokens of callers that read rooms;
	// nil reviews none.
	identities, controllers *identity.Reviewer

	// args are set before the Hub counts as started, and never change.
	args SpazioArgs

	mu       sync.Mutex
	started  bool
	listener net.Listener
	// profiles holds the plugins made so far, by the names of their profiles.
	profiles map[string]*spazio
	// silent is set before the Hub counts as started, and never changes: it sends agents nothing.
	silent bool

	// pods is set before the Hub counts as started, and never changes. podIndex is set only if
	// profiles decide.
	pods     listers.PodLister
	podIndex cache.Indexer

	tasks sync.WaitGroup
}

// NewHub returns a Hub that does nothing until New is called.
func NewHub(o HubOptions) *Hub {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.roomPeriod = cmp.Or(o.roomPeriod, roomPeriod)
	if o.Leading == nil {
		o.Leading = leading
	}
	return &Hub{
		options: o, waiting: newWaiting(), metrics: registerMetrics(), ledger: &reserve.Ledger{},
		unauthenticated: transport.NewQuota(maxUnauthenticated, maxUnauthenticatedOfOne), watchers: transport.NewQuota(maxWatchers, maxWatchersOfOne),
		consumption: consumption{book: energy.NewBook()},
		profiles:    make(map[string]*spazio),
		nodes:       nodes{byName: make(map[string]*node)},
		histories:   histories{byPod: make(map[reserve.PodKey]*history)},
		placeholders: placeholders{
			named: make(map[reserve.PodKey]float64), of: make(map[types.UID]testbedPlaceholders),
			on: make(map[string]map[reserve.PodKey]struct{}), node: make(map[reserve.PodKey]string),
		},
		workloads: workloads{all: make(map[profile.Workload]*workload), byPod: make(map[reserve.PodKey]knownPod)},
	}
}

// New makes the plugin of one profile; it is a PluginFactory. The first call starts the Hub,
// which listens for agents and follows pods and nodes through the handle's informers until ctx
// ends. Later calls, for further profiles, must agree with it on all arguments except those of
// ranking and of opting out; see SpazioArgs.
func (h *Hub) New(ctx context.Context, obj runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := config.Decode[SpazioArgs](obj)
	if err != nil {
		return nil, err
	}
	if err := args.Validate(); err != nil {
		return nil, fmt.Errorf("profile %s: %w", handle.ProfileName(), err)
	}
	args = args.WithDefaults()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		if !reflect.DeepEqual(args.Shared(), h.args.Shared()) {
			return nil, fmt.Errorf("plugin: profile %s: %w", handle.ProfileName(), errProfilesDiffer)
		}
	} else if err := h.run(ctx, args, handle, handle.EventRecorder()); err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	objective, err := args.Objective()
	if err != nil {
		return nil, err
	}
	p := &spazio{
		hub: h, handle: handle, optOut: args.OptOutAnnotation, tolerated: args.OptOutToleration,
		ranking:   reserve.Ranking{Blend: args.CapacityWeight, Energy: args.EnergyWeight, TieTolerance: args.TieTolerance},
		energy:    energy.Ranker{Objective: objective, IdleNodesPowerDown: args.IdleNodesPowerDown},
		scoreOnly: args.ScoreOnly,
	}
	if args.EnergyWeight > 0 {
		h.consumption.on.Store(true)
	}
	h.profiles[handle.ProfileName()] = p
	return p, nil
}

// Cluster is what a Hub reaches of the cluster, for concurrent use; a scheduler's framework.Handle is one.
type Cluster interface {
	ClientSet() kubernetes.Interface
	// KubeConfig is nil if it is not known: then there are no reviews of tokens and no profiles.
	KubeConfig() *rest.Config
	// SharedInformerFactory is started by its owner, after Start.
	SharedInformerFactory() informers.SharedInformerFactory
}

// Start starts a Hub for a program beside the scheduler, such as a descheduler: it receives reports, but
// places no pods, records no events and sends nothing to agents, because the scheduler does. It is
// called once, in place of New.
func (h *Hub) Start(ctx context.Context, args SpazioArgs, c Cluster) error {
	if err := args.Validate(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silent = true
	if err := h.run(ctx, args.WithDefaults(), c, nil); err != nil {
		return fmt.Errorf("plugin: %w", err)
	}
	return nil
}

var errProfilesDiffer = errors.New("arguments other than capacityWeight, tieTolerance, energyWeight, energyObjective, idleNodesPowerDown, scoreOnly, optOutAnnotation and optOutToleration differ from another profile's")

// run starts the Hub; h.mu is held. Nothing is left running after an error.
func (h *Hub) run(ctx context.Context, args SpazioArgs, handle Cluster, recorder events.EventRecorder) error {
	if err := h.configure(args); err != nil {
		return err
	}
	limiter, err := transport.NewConnLimiter(args.Limits())
	if err != nil {
		return err
	}
	options, err := limiter.ServerOptions(args.Transport())
	if err != nil {
		return err
	}
	listener, err := limiter.Listen(ctx, args.Listen, args.Transport())
	if err != nil {
		return err
	}
	if err = h.reviewers(args, handle); err != nil {
		return errors.Join(err, listener.Close())
	}
	if h.profiling.source, err = h.profileSource(args, handle); err != nil {
		return errors.Join(err, listener.Close())
	}
	testbeds, err := h.testbedSource(handle)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	synced, err := h.follow(ctx, handle.SharedInformerFactory())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	h.listener, h.started, h.limiter = listener, true, limiter
	server := grpc.NewServer(append(options, grpc.WaitForHandlers(true))...)
	h.serve(ctx, server, listener)
	h.attend(ctx)
	h.tasks.Go(func() {
		h.announceSignals(ctx, recorder, handle.SharedInformerFactory().Core().V1().Nodes().Lister())
	})
	if testbeds != nil {
		h.tasks.Go(func() { h.followTestbeds(ctx, testbeds) })
	}
	h.tasks.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			h.inventory()
			h.followProfiles(ctx)
		}
	})
	klog.FromContext(ctx).Info("Receiving capacity reports", "plugin", Name, "address", listener.Addr(), "clientCertificates", args.TLSClientCAFile != "")
	return nil
}

func (h *Hub) configure(args SpazioArgs) error {
	policy, err := reserve.ParseStalePolicy(args.StalePolicy)
	if err != nil {
		return err
	}
	ledger, err := reserve.NewLedger(args.AssumedTTL.Duration)
	if err != nil {
		return err
	}
	h.ledger, h.start, h.args = ledger, h.clock(), args
	h.workloads.start = h.start
	h.rules = rules{
		admit:     args.Rules(),
		freshness: reserve.Freshness{MaxAge: args.MaxAge.Duration, Grace: args.StartupGrace.Duration, Policy: policy},
		overdue:   args.OverdueAdmission(),
		byDemand:  args.Profiles == config.ProfilesOn,
	}
	return nil
}

// Addr returns the address agents publish to, nil before New.
func (h *Hub) Addr() net.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listener == nil {
		return nil
	}
	return h.listener.Addr()
}

// profileOf returns the plugin of a pod's profile, nil if that does not enable it.
func (h *Hub) profileOf(pod *v1.Pod) *spazio {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.profiles[pod.Spec.SchedulerName]
}

// Ready reports whether the Hub knows the pods that existed at its start. Until then the plugin
// lets no pod pass.
func (h *Hub) Ready() bool { return h.synced.Load() }

// Wait returns when everything the Hub started has ended, after the end of the
// context given to the first New. It returns at once if New was never called.
func (h *Hub) Wait() { h.tasks.Wait() }

func (h *Hub) clock() time.Time { return h.options.Now() }

// now returns the time since the Hub's start, the form in which views keep it.
func (h *Hub) now() time.Duration { return h.clock().Sub(h.start) }

// SpazioArgs are the plugin's arguments.
type SpazioArgs = config.SpazioArgs

// ErrInvalid is what a *field.Error of this package wraps.
var ErrInvalid = config.ErrInvalid

// node returns the named node, which it creates if it is new.
func (h *Hub) node(name string) *node {
	n, made := h.nodes.ensure(name, func() *node {
		n := &node{
			name: name, account: h.ledger.Account(name), since: h.now(),
			limiter: rate.NewLimiter(rate.Limit(h.args.MaxReportRate), int(h.args.ReportBurst)),
		}
		n.refresh(&h.rules, h.moment(), h.clock())
		return n
	})
	if made {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !n.removed { // else its id may be another's
			h.waiting.admit(n)
		}
	}
	return n
}

// change calls f, which reports whether it changed the ledger's entries of a node, with the node's
// mutex held, so that a decision sees all of the change or nothing. The node is unknown while its own
// event is still to come, or once it is gone: then there are no decisions to keep consistent.
func (h *Hub) change(node string, f func() (changed bool)) {
	n := h.nodes.get(node)
	if n == nil {
		f()
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if f() {
		h.refreshLocked(n)
	}
}

// refresh makes a node's state visible and wakes pods if it gained slots.
func (h *Hub) refresh(node string) { h.change(node, func() bool { return true }) }

// refreshLocked is refresh for a caller that holds the node's mutex.
func (h *Hub) refreshLocked(n *node) {
	at := h.moment()
	if !n.view.Load().fresh(at.Now) {
		h.waiting.notify(n) // pods may have been refused since it turned stale: against then it rises
	}
	if n.report != nil && h.rules.freshness.Reported(n.sampled).Fresh(at.Now) {
		h.ledger.ConfirmRunning(n.account)
	}
	n.refresh(&h.rules, at, h.clock())
	h.waiting.notify(n)
}

// inventory runs when the informers have delivered all existing objects. It drops nodes that are
// known only from reports, and wakes pods that were tried too early.
func (h *Hub) inventory() {
	for _, n := range h.nodes.list().nodes {
		n.mu.Lock()
		n.removed = !n.inAPI.Load()
		remove := n.removed
		n.mu.Unlock()
		if remove {
			h.dropNode(n)
		}
	}
	h.synced.Store(true)
	for _, n := range h.nodes.list().nodes {
		h.sendPlaceholders(n.name)
		h.waiting.recheck(n)
	}
}

// nodeSeen takes in a node as the API has it.
func (h *Hub) nodeSeen(object *v1.Node) {
	n := h.node(object.Name)
	n.mu.Lock()
	for n.removed {
		// The inventory has just found the node missing in the API.
		n.mu.Unlock()
		h.dropNode(n)
		n = h.node(object.Name)
		n.mu.Lock()
	}
	wasInAPI, cores := n.inAPI.Swap(true), coresOf(object)
	if n.cores.Swap(cores) != cores || !wasInAPI { // slow start's line has moved, or its slots count now
		h.refreshLocked(n)
	}
	if n.setTaints(taintsOf(object)) {
		h.waiting.admit(n) // pods that a taint kept from it may go there now
	}
	n.mu.Unlock()
}

// coresOf returns the node's cores, or 0 if it states none.
func coresOf(object *v1.Node) int32 {
	return int32(min(object.Status.Capacity.Cpu().Value(), math.MaxInt32))
}

// nodeGone forgets a node that the API no longer has. The ledger keeps its
// account until the last of its pods is gone.
func (h *Hub) nodeGone(object *v1.Node) {
	if n := h.nodes.get(object.Name); n != nil {
		h.dropNode(n)
	}
}

// dropNode removes a node that may already have been removed. Its id is given to another only when
// nothing knows the node by it any more.
func (h *Hub) dropNode(n *node) {
	n.mu.Lock()
	n.removed = true
	n.inAPI.Store(false)
	h.waiting.remove(n)
	n.mu.Unlock()
	if !h.nodes.remove(n) {
		return
	}
	h.placeholders.forget(n.name)
	h.ledger.Release(n.account)
}
