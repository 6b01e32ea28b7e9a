package plugin_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// The fake API's watches panic at so many unread events. A slow informer on a loaded machine must not
// end the test.
func init() { watch.DefaultChanSize = 1 << 15 }

// optOutKey exempts a pod from the plugin, as an annotation or as the key of a toleration.
const optOutKey = "spazio-scheduler.github.io/opt-out"

// clock is a time.Now that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// pass advances the time of a Hub in steps within which reports stay valid.
func (c *cluster) pass(clock *clock, d time.Duration) {
	for step := c.args.WithDefaults().MaxAge.Duration; d > 0; d -= step {
		clock.advance(min(d, step))
		c.hub.Snapshot()
	}
}

// handle is the part of kube-scheduler's handle that the plugin uses.
type handle struct {
	fwk.Handle
	factory  informers.SharedInformerFactory
	activate func(map[string]*v1.Pod)
	profile  string
	config   *rest.Config
	client   *fake.Clientset
	recorder *events.FakeRecorder
}

func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *handle) KubeConfig() *rest.Config                               { return h.config }
func (h *handle) ClientSet() kubernetes.Interface                        { return h.client }
func (h *handle) EventRecorder() eventRecorder                           { return h.recorder }
func (h *handle) ProfileName() string                                    { return cmp.Or(h.profile, "spazio") }
func (h *handle) Activate(_ klog.Logger, pods map[string]*v1.Pod)        { h.activate(pods) }

// cycleState is the part of a CycleState that plugins use.
type cycleState struct {
	fwk.CycleState
	data sync.Map
	// tentative is set while a gang is tried.
	tentative bool
}

func (s *cycleState) IsPodGroupSchedulingCycle() bool { return s.tentative }

func (s *cycleState) Read(key fwk.StateKey) (fwk.StateData, error) {
	if v, ok := s.data.Load(key); ok {
		return v.(fwk.StateData), nil
	}
	return nil, fwk.ErrNotFound
}
func (s *cycleState) Write(key fwk.StateKey, v fwk.StateData) { s.data.Store(key, v) }

// nodeInfo implements the part of a NodeInfo that the plugin uses.
type nodeInfo struct {
	fwk.NodeInfo
	node *v1.Node
}

func (i nodeInfo) Node() *v1.Node { return i.node }

// profile has all extension points of the plugin.
type profile interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PreScorePlugin
	fwk.ScorePlugin
	fwk.ReservePlugin
	fwk.PreBindPlugin
	fwk.PostBindPlugin
	fwk.EnqueueExtensions
	fwk.SignPlugin
}

// cluster is a Hub with an API of nodes and pods around it.
type cluster struct {
	*profiled
	t      testing.TB
	hub    *plugin.Hub
	client *fake.Clientset
	edge   *handle
	args   plugin.SpazioArgs
	pods   listers.PodLister
	stop   context.CancelFunc
	infos  []fwk.NodeInfo
	events chan string

	mu        sync.Mutex
	activated []string
}

// profiled is one profile of a cluster.
type profiled struct{ profile }

type setup struct {
	options plugin.HubOptions
	args    plugin.SpazioArgs
	nodes   int
	objects []runtime.Object
	// activate replaces the recording of activated pods.
	activate func(map[string]*v1.Pod)
	// config leads to an API server besides the fake one.
	config *rest.Config
	// prepare runs before the informers start.
	prepare func(*fake.Clientset)
	// noScheduler starts the Hub alone, which then makes no profile.
	noScheduler bool
}

func newCluster(t testing.TB, s setup) *cluster {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &cluster{t: t, stop: cancel}
	objects := s.objects
	for i := range s.nodes {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}}
		objects = append(objects, node)
		c.infos = append(c.infos, nodeInfo{node: node})
	}
	c.client = fake.NewClientset(objects...)
	if s.prepare != nil {
		s.prepare(c.client)
	}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	if s.args.Listen == "" {
		s.args.Listen = "127.0.0.1:0"
	}
	if s.options.Now == nil && s.args.MaxAge.Duration == 0 {
		// A report counts after the grace for the age of a process: a loaded machine may stop a test
		// for seconds.
		s.args.MaxAge.Duration = time.Hour
	}
	if s.args.IdleTimeout.Duration == 0 {
		// Streams live in real time, whatever the Hub's clock shows.
		s.args.IdleTimeout.Duration = max(time.Hour, s.args.MaxAge.Duration)
	}
	if s.activate == nil {
		s.activate = c.record
	}
	c.hub = plugin.NewHub(plugin.RarelyWatchingSilence(s.options)) // only one test checks the events of nodes
	recorder := events.NewFakeRecorder(100)
	c.events = recorder.Events
	c.edge, c.args = &handle{factory: factory, activate: s.activate, config: s.config, client: c.client, recorder: recorder}, s.args
	if s.noScheduler {
		if err := c.hub.Start(ctx, s.args, c.edge); err != nil {
			cancel()
			t.Fatal(err)
		}
	} else {
		made, err := c.hub.New(ctx, &s.args, c.edge)
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		c.profiled = &profiled{made.(profile)}
	}
	c.pods = factory.Core().V1().Pods().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	// The fake API loses what is created between an informer's list and its watch.
	c.eventually("the informers watch", func() bool { return c.watches("pods") && c.watches("nodes") })
	t.Cleanup(func() {
		cancel()
		c.hub.Wait()
		factory.Shutdown()
	})
	c.eventually("the Hub is ready", c.hub.Ready)
	c.eventually("all nodes are known", func() bool { return len(c.hub.Snapshot()) >= s.nodes })
	return c
}

// second makes another profile of the same scheduler.
func (c *cluster) second(name string, args plugin.SpazioArgs) *profiled {
	c.t.Helper()
	edge := *c.edge
	edge.profile = name
	made, err := c.hub.New(context.Background(), &args, &edge)
	if err != nil {
		c.t.Fatal(err)
	}
	return &profiled{made.(profile)}
}

// watches reports whether an informer watches the resource. The fake API answers a watch and records it
// in one step.
func (c *cluster) watches(resource string) bool {
	return slices.ContainsFunc(c.client.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", resource) })
}

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

func (c *cluster) record(pods map[string]*v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range pods {
		c.activated = append(c.activated, pod.Name)
	}
}

// woken returns the activated pods since the last call.
func (c *cluster) woken() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := make(map[string]bool)
	for _, name := range c.activated {
		set[name] = true
	}
	c.activated = nil
	return set
}

func (c *cluster) peek() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := make(map[string]bool)
	for _, name := range c.activated {
		set[name] = true
	}
	return set
}

func (c *cluster) eventually(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("never: %s", what)
		}
	}
}

// state returns the Hub's view of one node.
func (c *cluster) state(node string) plugin.NodeState {
	for _, s := range c.hub.Snapshot() {
		if s.Node == node {
			return s
		}
	}
	return plugin.NodeState{}
}

// podUID makes a UID in the API's form from a number.
func podUID(i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i+1, i+1))
}

func keyOf(i int) reserve.PodKey { return reserve.KeyOf(string(podUID(i))) }

func newPod(i int, edits ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Namespace: "default", UID: podUID(i)}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func onNode(node string) func(*v1.Pod) { return func(p *v1.Pod) { p.Spec.NodeName = node } }
func withInits(n int) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.InitContainers = make([]v1.Container, n) }
}

func withPriority(x int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Priority = &x }
}

// selective gives a pod a node selector; the caller of Filter decides which nodes match it.
func selective(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }

// create adds pods to the API without waiting.
func (c *cluster) create(pods ...*v1.Pod) {
	c.t.Helper()
	for _, pod := range pods {
		if _, err := c.client.CoreV1().Pods(pod.Namespace).Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// arrive adds pods to the API and waits until the informers have them, as they have any pod that a
// scheduler tries.
func (c *cluster) arrive(pods ...*v1.Pod) {
	c.t.Helper()
	c.create(pods...)
	for _, pod := range pods {
		c.eventually("the pod is in the informer", func() bool {
			_, err := c.pods.Pods(pod.Namespace).Get(pod.Name)
			return err == nil
		})
	}
}

func (c *cluster) update(pod *v1.Pod) {
	c.t.Helper()
	if _, err := c.client.CoreV1().Pods(pod.Namespace).Update(context.Background(), pod, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) delete(pod *v1.Pod) {
	c.t.Helper()
	if err := c.client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// stream is a test agent's connection.
type stream struct {
	grpc.BidiStreamingClient[spaziov1.Report, spaziov1.Notice]
	c    *cluster
	node string
	next uint64
	// before is the node's stream before this one sent a report.
	before any
	// greeted is true once the scheduler's first notice was received.
	greeted bool
}

func (c *cluster) dial() spaziov1.SignalServiceClient {
	c.t.Helper()
	return &agents{c: c}
}

// agents share connections, with as many streams to each as the scheduler allows.
type agents struct {
	c       *cluster
	mu      sync.Mutex
	streams int
	conn    *grpc.ClientConn
}

func (a *agents) Publish(ctx context.Context, options ...grpc.CallOption) (grpc.BidiStreamingClient[spaziov1.Report, spaziov1.Notice], error) {
	conn, err := a.connection()
	if err != nil {
		return nil, err
	}
	return spaziov1.NewSignalServiceClient(conn).Publish(ctx, options...)
}

func (a *agents) connection() (*grpc.ClientConn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams%100 == 0 {
		conn, err := grpc.NewClient(a.c.hub.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		a.c.t.Cleanup(func() { _ = conn.Close() })
		a.conn = conn
	}
	a.streams++
	return a.conn, nil
}

func (c *cluster) open(client spaziov1.SignalServiceClient, node string) *stream {
	c.t.Helper()
	s, err := client.Publish(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	return &stream{BidiStreamingClient: s, c: c, node: node}
}

// Recv returns the next notice, without the first, which begins each stream.
func (s *stream) Recv() (*spaziov1.Notice, error) {
	notice, err := s.BidiStreamingClient.Recv()
	if err == nil && !s.greeted {
		s.greeted = true
		if !notice.GetTakesHeartbeats() {
			return nil, fmt.Errorf("the stream begins with %v", notice)
		}
		return s.BidiStreamingClient.Recv()
	}
	return notice, err
}

// report completes r and sends it.
func (s *stream) report(r agent.Report) {
	s.c.t.Helper()
	s.send(s.complete(r))
}

func (s *stream) complete(r agent.Report) agent.Report {
	s.next++
	if r.Node == "" {
		r.Node = s.node
	}
	if s.next == 1 {
		_, _, s.before = s.c.hub.Newest(r.Node)
	}
	if r.Sequence == 0 {
		r.Incarnation, r.Sequence = 1, s.next
	}
	return r
}

func (s *stream) send(r agent.Report) {
	s.c.t.Helper()
	if err := s.Send(api.FromReport(r)); err != nil {
		s.c.t.Fatal(err)
	}
}

// settle sends r and waits until it counts and the stream is the node's. It does not compare the node
// with r, since an earlier report may have been equal.
func (s *stream) settle(r agent.Report) {
	s.c.t.Helper()
	r = s.complete(r)
	s.send(r)
	s.c.eventually("report seen", func() bool {
		incarnation, sequence, stream := s.c.hub.Newest(r.Node)
		return incarnation == r.Incarnation && sequence == r.Sequence && stream != s.before
	})
}

// attempt is one scheduling cycle up to the choice of a node.
func (p *profiled) attempt(pod *v1.Pod, nodes []fwk.NodeInfo) (fwk.CycleState, []fwk.NodeInfo, *fwk.Status) {
	state := &cycleState{}
	feasible, status := p.attemptIn(state, pod, nodes)
	return state, feasible, status
}

// attemptIn is attempt in a given cycle.
func (p *profiled) attemptIn(state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (feasible []fwk.NodeInfo, status *fwk.Status) {
	ctx := context.Background()
	result, status := p.PreFilter(ctx, state, pod, nodes)
	if status.IsSkip() {
		return nodes, nil
	}
	if !status.IsSuccess() {
		return nil, status
	}
	for _, info := range nodes {
		if !result.AllNodes() && !result.NodeNames.Has(info.Node().Name) {
			continue
		}
		if s := p.Filter(ctx, state, pod, info); s.IsSuccess() {
			feasible = append(feasible, info)
		} else {
			status = s
		}
	}
	return feasible, status
}

// scores runs the scoring of a cycle.
func (p *profiled) scores(state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (map[string]int64, error) {
	ctx := context.Background()
	if status := p.PreScore(ctx, state, pod, nodes); status.IsSkip() {
		return nil, nil
	} else if !status.IsSuccess() {
		return nil, status.AsError()
	}
	list := make(fwk.NodeScoreList, len(nodes))
	for i, info := range nodes {
		score, status := p.Score(ctx, state, pod, info)
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
		list[i] = fwk.NodeScore{Name: info.Node().Name, Score: score}
	}
	if status := p.ScoreExtensions().NormalizeScore(ctx, state, pod, list); !status.IsSuccess() {
		return nil, status.AsError()
	}
	out := make(map[string]int64)
	for _, s := range list {
		out[s.Name] = s.Score
	}
	return out, nil
}

// schedule runs a whole cycle: it reserves the best node and returns its name, or the refusing status.
func (p *profiled) schedule(pod *v1.Pod, nodes []fwk.NodeInfo) (string, *fwk.Status) {
	state, feasible, status := p.attempt(pod, nodes)
	if len(feasible) == 0 {
		return "", status
	}
	scores, err := p.scores(state, pod, feasible)
	if err != nil {
		return "", fwk.AsStatus(err)
	}
	best := feasible[0].Node().Name
	for _, info := range feasible {
		if name := info.Node().Name; scores[name] > scores[best] {
			best = name
		}
	}
	if status := p.Reserve(context.Background(), state, assumed(pod, best), best); !status.IsSuccess() {
		p.Unreserve(context.Background(), state, pod, best)
		return "", status
	}
	return best, nil
}

// assumed returns a pod as Reserve gets it: kube-scheduler has already assumed it on its node.
func assumed(pod *v1.Pod, node string) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	return pod
}
