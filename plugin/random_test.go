package plugin_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

var (
	randomOps  = flag.Int("random-ops", 4000, "how many operations TestRandomEvents makes")
	randomSeed = flag.Uint64("random-seed", 0, "the seed of TestRandomEvents; 0 draws one")
)

// episodeOps is the number of operations on one cluster. The first four episodes are shorter, so that
// few operations see each limit of the wait sets' memory.
const episodeOps = 1000

// TestRandomEvents makes random changes of the API, reports and scheduling cycles, also concurrently,
// and compares the plugin with a model made of lists: the pods in flight to each node, the nodes that
// admit each pod, that no pod waits beside room without being woken, that none is woken without cause
// or after its deletion, and the order of waking.
func TestRandomEvents(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	ops := *randomOps
	if testing.Short() {
		ops = min(ops, 1000)
	}
	t.Logf("seed %d", seed)
	for episode := uint64(0); ops > 0 && !t.Failed(); episode++ {
		w := newWorld(t, seed, episode)
		length := min(ops, episodeOps)
		if episode < 4 {
			length = min(ops, episodeOps/4)
		}
		for range length {
			if w.step(); t.Failed() {
				break
			}
		}
		w.end()
		ops -= length
	}
}

// world is a cluster in which the test makes every step.
type world struct {
	*profiled
	t        *testing.T
	rng      *rand.Rand
	seed     uint64
	episode  uint64
	clock    *clock
	start    time.Time
	args     plugin.SpazioArgs
	pods     *feed[*v1.Pod]
	nodes    *feed[*v1.Node]
	hub      *plugin.Hub
	stop     context.CancelFunc
	m        *model
	setBytes int
	made     int
	reports  uint64
	// changes counts the node changes that the plugin has received.
	changes int
	// tries are the pods that were tried and not bound.
	tries   []*try
	running []runningPod
	// changed are the nodes' changes since the current pod's cycle began.
	changed []nodeChange
	steps   []string

	mu sync.Mutex
	// active are the pods in the scheduler's active queue; current is in its cycle; again is set if it
	// was activated meanwhile.
	active  []types.UID
	current types.UID
	again   bool
	// inRound is true while activations are for room.
	inRound bool
	// fault describes an invalid activation.
	fault string
}

// try is the test's record of a pod's attempts.
type try struct {
	uid types.UID
	// changes is the number of node changes before the last attempt; excused allows waking without room:
	// the pod lost its node, or the nodes changed during its cycle.
	changes int
	excused bool
	// refused is set if some node was refused for its room alone, elsewhere if other plugins refused
	// some.
	refused, elsewhere bool
	// bound is set once the scheduler has bound it, whatever its cache shows.
	bound    bool
	failures int
}

func newWorld(t *testing.T, seed, episode uint64) *world {
	w := &world{t: t, seed: seed, episode: episode, rng: rand.New(rand.NewPCG(seed, episode)), clock: newClock(), pods: newFeed[*v1.Pod](), nodes: newFeed[*v1.Node](), m: new(model)}
	hour, never := metav1.Duration{Duration: time.Hour}, metav1.Duration{}
	w.args = plugin.SpazioArgs{
		Listen: "127.0.0.1:0", MaxAge: metav1.Duration{Duration: time.Minute}, IdleTimeout: hour, RetryPeriod: hour,
		MaxWait: &never, MaxReportRate: 1e4, ReportBurst: 1e5,
		StalePolicy: []string{"Neutral", "Reject"}[w.rng.IntN(2)],
	}
	if w.rng.IntN(3) == 0 {
		w.args.MaxWait = &metav1.Duration{Duration: time.Minute}
	}
	w.setBytes = []int{32 << 20, 32 << 20, 16, 0}[(seed+episode)%4]
	for range w.rng.IntN(8) {
		w.addNode()
	}
	w.begin()
	return w
}

// begin starts a scheduler on the present state of the API.
func (w *world) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	w.hub = plugin.NewDrivenHub(plugin.HubOptions{Now: w.clock.Now})
	w.start = w.clock.Now()
	w.m = &model{maxAge: w.args.MaxAge.Duration, maxWait: w.args.MaxWait.Duration}
	w.nodes.changed = nil
	w.pods.relist()
	w.nodes.relist()
	w.pods.events, w.nodes.events = nil, nil
	made, err := w.hub.New(ctx, &w.args, &handle{factory: &feeds{pods: w.pods, nodes: w.nodes}, activate: w.activate, recorder: new(events.FakeRecorder)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.hub.BoundWaitSets(w.setBytes)
	w.profiled = &profiled{made.(profile)}
	w.nodes.changed = w.hint
	for end := time.Now().Add(time.Minute); !w.hub.Ready(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			w.t.Fatal("the Hub is not ready")
		}
	}
	w.active, w.tries, w.running = nil, nil, nil
	for _, pod := range w.pods.list() {
		w.m.podSeen(pod)
		if c := w.m.claim(pod.UID); c != nil {
			c.overdue = isOverdue(pod)
		}
	}
	for _, node := range w.nodes.list() {
		w.m.nodeSeen(node)
	}
	w.advance(time.Second)
}

func (w *world) end() {
	w.stop()
	w.hub.Wait()
}

func isOverdue(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == plugin.OverdueCondition })
}

func (w *world) failf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d, episode %d: %s\n%s", w.seed, w.episode, fmt.Sprintf(format, args...), strings.Join(w.steps[max(0, len(w.steps)-40):], "\n"))
}

func (w *world) note(format string, args ...any) {
	w.steps = append(w.steps, fmt.Sprintf("%4d %8v ", len(w.steps), w.m.now)+fmt.Sprintf(format, args...))
}

// step makes a random operation and checks the outcome.
func (w *world) step() {
	w.look()
	w.operate()
	w.check()
}

func (w *world) operate() {
	ops := []struct {
		weight int
		do     func()
	}{
		{30, w.changeAPI}, {30, w.deliverSome}, {25, w.report}, {30, func() { w.cycle(func() {}) }},
		{6, func() { w.cycle(w.interrupt) }}, {6, w.pass}, {20, w.round}, {6, w.inspect}, {8, w.settle},
		{3, w.storm}, {3, w.quietIncrease}, {1, w.stray}, {1, w.restart},
	}
	total := 0
	for _, op := range ops {
		total += op.weight
	}
	chosen := w.rng.IntN(total)
	for _, op := range ops {
		if chosen -= op.weight; chosen < 0 {
			op.do()
			return
		}
	}
}

// look reads the clock, so that the Hub notices elapsed time.
func (w *world) look() {
	w.m.now = w.clock.Now().Sub(w.start)
	w.hub.Snapshot()
}

func (w *world) advance(d time.Duration) {
	w.clock.advance(d)
	w.look()
}

// pass advances the clock by a while, rarely a long one.
func (w *world) pass() {
	d := time.Duration(w.rng.IntN(1000)) * time.Millisecond
	if w.rng.IntN(8) == 0 {
		d = time.Duration(w.rng.IntN(1000)) * time.Second
	}
	w.note("%v pass", d)
	for ; d > 0; d -= 20 * time.Second {
		w.advance(min(d, 20*time.Second))
	}
}

// changeAPI changes one object, or the watch of the API.
func (w *world) changeAPI() {
	switch w.rng.IntN(32) {
	case 0, 1:
		w.addNode()
	case 2:
		w.removeNode(false)
	case 3:
		w.removeNode(true)
	case 4, 5, 6:
		w.taintNode()
	case 7:
		w.deletePod(true)
	case 8, 9, 10:
		w.deletePod(false)
	case 11, 12:
		w.endPod()
	case 13:
		w.optOut()
	case 14:
		w.note("the watch of pods breaks")
		w.pods.broken = true
	case 15:
		w.note("the watch of nodes breaks")
		w.nodes.broken = true
	case 16, 17:
		w.note("pods are listed anew")
		w.pods.relist()
		w.queueNew()
	case 18, 19:
		w.note("nodes are listed anew")
		w.nodes.relist()
	case 20:
		w.repeat()
	case 21, 22:
		w.addPod(w.someNode())
	default:
		w.addPod(nil)
	}
}

func pick[T any](rng *rand.Rand, list []T) (one T, ok bool) {
	if len(list) == 0 {
		return one, false
	}
	return list[rng.IntN(len(list))], true
}

func (w *world) someNode() *v1.Node {
	node, _ := pick(w.rng, w.nodes.api)
	return node
}

func (w *world) addNode() {
	if len(w.nodes.api) >= 10 {
		return
	}
	w.made++
	w.putNode(fmt.Sprintf("node-%d", w.made))
}

var testTaints = []v1.Taint{{Key: "a", Effect: v1.TaintEffectNoSchedule}, {Key: "b", Effect: v1.TaintEffectNoExecute}, {Key: "c", Effect: v1.TaintEffectPreferNoSchedule}}

func (w *world) putNode(name string) {
	w.made++
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: podUID(w.made), Labels: map[string]string{"disk": []string{"ssd", "hdd"}[w.rng.IntN(2)]},
	}}
	node.Status.Capacity = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity([]int64{1, 2, 4, 32, 64}[w.rng.IntN(5)], resource.DecimalSI)}
	if w.rng.IntN(3) == 0 {
		node.Spec.Taints = []v1.Taint{testTaints[w.rng.IntN(3)]}
	}
	w.note("%s is made, taints %v", name, node.Spec.Taints)
	w.nodes.put(node)
}

func (w *world) removeNode(again bool) {
	node := w.someNode()
	if node == nil {
		return
	}
	w.note("%s is removed", node.Name)
	w.nodes.remove(node)
	if again {
		w.putNode(node.Name)
	}
}

func (w *world) taintNode() {
	node := w.someNode()
	if node == nil {
		return
	}
	node = node.DeepCopy()
	node.Spec.Taints = nil
	for _, taint := range testTaints {
		if w.rng.IntN(4) == 0 {
			node.Spec.Taints = append(node.Spec.Taints, taint)
		}
	}
	w.note("%s gets taints %v", node.Name, node.Spec.Taints)
	w.nodes.put(node)
}

// addPod creates a pod, on a node unless that is nil.
func (w *world) addPod(node *v1.Node) {
	if len(w.pods.api) >= 40 {
		return
	}
	w.made++
	w.putPod(fmt.Sprintf("pod-%d", w.made), node)
}

func (w *world) putPod(name string, node *v1.Node) {
	w.made++
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: podUID(w.made)}}
	pod.Spec.SchedulerName = "spazio"
	priority := int32(w.rng.IntN(3))
	pod.Spec.Priority = &priority
	if w.rng.IntN(3) == 0 {
		pod.Spec.NodeSelector = map[string]string{"disk": []string{"ssd", "hdd"}[w.rng.IntN(2)]}
	}
	for _, taint := range testTaints[:2] {
		if w.rng.IntN(3) == 0 {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpExists})
		}
	}
	if w.rng.IntN(12) == 0 {
		pod.Annotations = map[string]string{optOutKey: "true"}
	}
	if node != nil {
		pod.Spec.NodeName = node.Name
		if w.rng.IntN(6) == 0 {
			pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
		}
	}
	w.note("%s is made, priority %d, selector %v, %d tolerations, node %q, annotations %v",
		describe(pod), priority, pod.Spec.NodeSelector, len(pod.Spec.Tolerations), pod.Spec.NodeName, pod.Annotations)
	w.pods.put(pod)
	w.queueNew()
}

func describe(pod *v1.Pod) string { return pod.Name + "/" + string(pod.UID[:8]) }

func isExempt(pod *v1.Pod) bool { return len(pod.Annotations) > 0 }

// queueNew queues pods that are in the scheduler's cache and untried.
func (w *world) queueNew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range w.pods.list() {
		if pod.Spec.NodeName == "" && pod.Status.Phase == "" && w.tryOf(pod.UID) == nil && !slices.Contains(w.active, pod.UID) {
			w.active = append(w.active, pod.UID)
		}
	}
}

func (w *world) tryOf(uid types.UID) *try {
	for _, t := range w.tries {
		if t.uid == uid {
			return t
		}
	}
	return nil
}

func (w *world) deletePod(again bool) {
	pod, ok := pick(w.rng, w.pods.api)
	if !ok {
		return
	}
	w.note("%s is deleted", describe(pod))
	w.pods.remove(pod)
	if again {
		w.putPod(pod.Name, nil)
	}
}

func (w *world) endPod() {
	pod, ok := pick(w.rng, w.pods.api)
	if !ok || pod.Spec.NodeName == "" || isExempt(pod) && pod.Annotations[v1.MirrorPodAnnotationKey] != "" {
		return
	}
	w.note("%s ends", describe(pod))
	pod = pod.DeepCopy()
	pod.Status.Phase = []v1.PodPhase{v1.PodSucceeded, v1.PodFailed}[w.rng.IntN(2)]
	w.pods.put(pod)
}

func (w *world) optOut() {
	pod, ok := pick(w.rng, w.pods.api)
	if !ok || pod.Spec.NodeName != "" {
		return
	}
	w.note("%s opts out", describe(pod))
	pod = pod.DeepCopy()
	pod.Annotations = map[string]string{optOutKey: "true"}
	w.pods.put(pod)
	w.queueNew()
}

func (w *world) repeat() {
	if pod, ok := pick(w.rng, w.pods.list()); ok {
		w.pods.repeat(pod)
	}
	if node, ok := pick(w.rng, w.nodes.list()); ok {
		w.nodes.repeat(node)
	}
}

// deliverSome delivers some of the changes to the plugin.
func (w *world) deliverSome() {
	for _, e := range w.pods.next(w.rng.IntN(4)) {
		w.deliverPod(e)
		w.pods.deliver(e)
	}
	for _, e := range w.nodes.next(w.rng.IntN(4)) {
		w.deliverNode(e)
		w.nodes.deliver(e)
	}
}

// deliverAll delivers all of them.
func (w *world) deliverAll() {
	for len(w.pods.events)+len(w.nodes.events) > 0 {
		w.deliverSome()
	}
}

func (w *world) deliverPod(e event[*v1.Pod]) {
	switch {
	case e.deleted:
		w.note("delivered deletion of %s", describe(e.old))
		if e.old.Annotations[v1.MirrorPodAnnotationKey] == "" {
			w.m.podGone(e.old)
		}
	case !e.added && e.old.UID != e.new.UID:
		w.note("delivered replacement of %s by %s", describe(e.old), describe(e.new))
		w.m.podGone(e.old)
		w.m.podSeen(e.new)
	default:
		w.note("delivered %s on %q, phase %q", describe(e.new), e.new.Spec.NodeName, e.new.Status.Phase)
		w.m.podSeen(e.new)
		if c := w.m.claim(e.new.UID); c != nil && isOverdue(e.new) {
			c.overdue = true
		}
	}
}

func (w *world) deliverNode(e event[*v1.Node]) {
	w.changes++
	switch {
	case e.deleted:
		w.note("delivered deletion of %s", e.old.Name)
		w.m.nodeGone(e.old.Name)
	case !e.added && e.old.UID != e.new.UID:
		w.note("delivered replacement of %s", e.new.Name)
		w.m.nodeGone(e.old.Name)
		w.m.nodeSeen(e.new)
	default:
		w.note("delivered %s, taints %v", e.new.Name, e.new.Spec.Taints)
		w.m.nodeSeen(e.new)
	}
}

// report sends an agent's report.
func (w *world) report() {
	if node := w.someNode(); node != nil {
		avail := float64(w.rng.IntN(16))/2 - 1
		age := time.Duration(0)
		if w.rng.IntN(4) == 0 {
			age = time.Duration(w.rng.IntN(70)) * time.Second
		}
		w.reportRoom(node.Name, avail, w.rng.IntN(10) == 0, age)
	}
}

func (w *world) reportRoom(node string, avail float64, saturated bool, age time.Duration) {
	r, running := w.nextReport(node, avail, saturated)
	w.note("%s reports %v, saturated %v, age %v, %d pods", node, avail, saturated, age, len(running))
	result := w.hub.Report(r, age)
	if known := w.m.node(node) != nil; known != (result == "accepted") {
		w.failf("report of %s: got %s, known %v", node, result, known)
	}
	w.m.report(node, w.modelReport(r, age), running)
}

func (w *world) modelReport(r agent.Report, age time.Duration) modelReport {
	return modelReport{avail: r.Avail, saturated: r.Saturated, memory: .5 / r.Channels[0].Cost, sampled: w.m.now - age}
}

// runningPod is a pod that a node runs.
type runningPod struct {
	uid  types.UID
	node string
}

// nextReport makes a report of a node, which has started some more of the API's pods and runs each
// until the plugin has its end.
func (w *world) nextReport(node string, avail float64, saturated bool) (agent.Report, []types.UID) {
	w.reports++
	memory := []float64{.5, 8}[w.rng.IntN(2)]
	r := agent.Report{
		Node: node, Incarnation: 1, Sequence: w.reports, Avail: avail, Saturated: saturated, Limiting: agent.CPU,
		Channels: []agent.ChannelReport{{Name: agent.Memory, Usage: .5, Cost: .5 / memory}},
	}
	w.running = slices.DeleteFunc(w.running, func(r runningPod) bool {
		return w.m.claim(r.uid) == nil && !slices.ContainsFunc(w.pods.api, func(p *v1.Pod) bool { return p.UID == r.uid && p.Status.Phase == "" }) &&
			!slices.ContainsFunc(w.pods.events, func(e event[*v1.Pod]) bool {
				return e.old != nil && e.old.UID == r.uid || e.new != nil && e.new.UID == r.uid
			})
	})
	for _, pod := range w.pods.api {
		if pod.Spec.NodeName == node && pod.Status.Phase == "" && pod.Annotations[v1.MirrorPodAnnotationKey] == "" && w.rng.IntN(2) == 0 &&
			!slices.Contains(w.running, runningPod{pod.UID, node}) {
			w.running = append(w.running, runningPod{pod.UID, node})
		}
	}
	var running []types.UID
	for _, r := range w.running {
		if r.node == node {
			running = append(running, r.uid)
		}
	}
	for _, uid := range running {
		r.Pods = append(r.Pods, reserve.KeyOf(string(uid)))
	}
	return r, running
}

// unbound returns the pod from the scheduler's cache if it has no node.
func (w *world) unbound(uid types.UID) (*v1.Pod, bool) {
	for _, pod := range w.pods.list() {
		if pod.UID == uid {
			t := w.tryOf(uid)
			return pod, pod.Spec.NodeName == "" && pod.Status.Phase == "" && (t == nil || !t.bound)
		}
	}
	return nil, false
}

// activate is the scheduler's function.
func (w *world) activate(pods map[string]*v1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range pods {
		pod, ok := w.unbound(pod.UID)
		if !ok {
			w.fault = "a deleted or bound pod was woken"
			continue
		}
		if pod.UID == w.current {
			w.again = true
			continue
		}
		if slices.Contains(w.active, pod.UID) {
			continue
		}
		if w.inRound && !w.mayWake(pod) {
			w.fault = describe(pod) + " was woken without cause"
		}
		w.active = append(w.active, pod.UID)
	}
}

// mayWake reports whether an idle pod has a reason to be woken for room.
func (w *world) mayWake(pod *v1.Pod) bool {
	t := w.tryOf(pod.UID)
	if t == nil || t.excused || t.changes != w.changes || w.setBytes < 1<<20 || t.failures > 0 || isExempt(pod) {
		return true
	}
	return slices.ContainsFunc(w.m.nodes, func(n *modelNode) bool {
		cached, there := w.nodes.find(n.object)
		return (fits(pod, n.object) || there && fits(pod, cached)) && (!w.m.fresh(n) || w.m.room(n, 0))
	})
}

// hint does what kube-scheduler does after a node change: it retries the pods for which the hint of a
// refusing plugin returns Queue. Changes during a pod's cycle count at its end.
func (w *world) hint(old, node *v1.Node, added bool) {
	w.changes++
	w.changed = append(w.changed, nodeChange{old, node, added})
	for _, pod := range w.pods.list() {
		t := w.tryOf(pod.UID)
		if _, ok := w.unbound(pod.UID); !ok || t == nil || pod.UID == w.current || slices.Contains(w.active, pod.UID) {
			continue
		}
		if w.helps(nodeChange{old, node, added}, pod, t) {
			w.active = append(w.active, pod.UID)
		}
	}
}

// nodeChange is a change that is in the scheduler's cache.
type nodeChange struct {
	old, node *v1.Node
	added     bool
}

// helps reports whether a change may help a pod, by the hints of the plugins that refused it.
func (w *world) helps(c nodeChange, pod *v1.Pod, t *try) bool {
	if t.elsewhere && fits(pod, c.node) && (c.added || !fits(pod, c.old)) {
		return true
	}
	hints, err := w.EventsToRegister(context.Background())
	if err != nil || len(hints) != 1 {
		w.failf("%v, %v", hints, err)
	}
	hint, err := hints[0].QueueingHintFn(klog.Background(), pod, c.old, c.node)
	return t.refused && (err != nil || hint == fwk.Queue)
}

func (w *world) round() {
	w.note("round")
	w.rounds()
}

func (w *world) rounds() {
	w.inRound = true
	w.hub.Round()
	w.inRound = false
}

func (w *world) inspect() {
	w.note("inspection")
	w.inspection()
}

func (w *world) inspection() {
	w.m.expire()
	w.hub.Inspect()
}

// interrupt makes a random change during a pod's cycle.
func (w *world) interrupt() {
	for range w.rng.IntN(3) {
		switch w.rng.IntN(5) {
		case 0:
			w.changeAPI()
		case 1, 2:
			w.deliverSome()
		case 3:
			w.report()
		case 4:
			w.round()
		}
	}
}

// cycle tries a pod of the active queue. between runs between its steps.
func (w *world) cycle(between func()) {
	w.mu.Lock()
	for len(w.active) > 0 {
		i := w.rng.IntN(len(w.active))
		w.current = w.active[i]
		w.active = slices.Delete(w.active, i, i+1)
		if _, ok := w.unbound(w.current); ok {
			break
		}
		w.current = ""
	}
	w.again = false
	w.mu.Unlock()
	if w.current == "" {
		return
	}
	pod, _ := w.unbound(w.current)
	w.changed = nil
	placed := w.try(pod, between)
	for _, c := range w.changed {
		w.again = w.again || w.helps(c, pod, w.tryOf(pod.UID))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = ""
	if _, ok := w.unbound(pod.UID); ok && !placed && (w.again || w.tryOf(pod.UID).failures > 0 && w.rng.IntN(2) == 0) {
		w.active = append(w.active, pod.UID)
	}
}

// try makes one attempt and reports whether the pod was bound.
func (w *world) try(pod *v1.Pod, between func()) (bound bool) {
	t := w.tryOf(pod.UID)
	if t == nil {
		t = &try{uid: pod.UID}
		w.tries = append(w.tries, t)
	}
	w.began(pod, t)
	before := len(w.steps)
	w.note("%s is tried", describe(pod))
	var infos []fwk.NodeInfo
	for _, node := range w.nodes.list() {
		infos = append(infos, nodeInfo{node: node})
	}
	ctx, state := context.Background(), &cycleState{}
	result, status := w.PreFilter(ctx, state, pod, infos)
	between()
	skip := status.IsSkip()
	var feasible []string
	t.refused, t.elsewhere = false, len(infos) == 0
	if status.IsSuccess() || skip {
		for _, info := range infos {
			node := info.Node()
			if !fits(pod, node) || !skip && !result.AllNodes() && !result.NodeNames.Has(node.Name) {
				continue
			}
			if skip || w.Filter(ctx, state, pod, info).IsSuccess() {
				feasible = append(feasible, node.Name)
			}
			if w.rng.IntN(4) == 0 {
				between()
			}
		}
	}
	undisturbed := len(w.steps) == before+1
	t.excused = t.excused || !undisturbed
	for _, info := range infos {
		t.elsewhere = t.elsewhere || (status.IsSuccess() || skip) && !fits(pod, info.Node())
		t.refused = t.refused || fits(pod, info.Node()) && !slices.Contains(feasible, info.Node().Name)
	}
	w.m.tried(pod.UID, t.refused)
	if undisturbed {
		w.checkFeasible(pod, infos, feasible)
	}
	node, ok := pick(w.rng, feasible)
	if !ok {
		return false
	}
	between()
	undisturbed = len(w.steps) == before+1
	known := w.m.node(node)
	roomy := known == nil || !w.m.fresh(known) || w.m.room(known, 0)
	overdue, _ := w.m.isOverdue(pod.UID)
	places := known != nil && w.m.fresh(known) && w.m.takesOverdue(known)
	status = w.Reserve(ctx, state, assumed(pod, node), node)
	w.note("%s is reserved on %s: %v", describe(pod), node, status.IsSuccess())
	if !status.IsSuccess() {
		if undisturbed {
			w.failf("Reserve refused what Filter admitted: %v", status.AsError())
		}
		t.excused, t.refused = true, true
		w.m.tried(pod.UID, true)
		w.Unreserve(ctx, state, pod, node)
		return false
	}
	c := w.m.enter(pod.UID, node, false)
	w.m.wait(pod.UID, false)
	if !roomy && !isExempt(pod) {
		if !overdue || !places {
			w.failf("got %s reserved on %s without room; overdue %v, places %v", describe(pod), node, overdue, places)
		}
		c.overdue = true
	}
	between()
	return w.bind(state, pod, node, t)
}

// began records that a pod is about to look for a node.
func (w *world) began(pod *v1.Pod, t *try) {
	t.changes, t.excused = w.changes, false
	if p := w.m.waits(pod.UID); p != nil && !t.refused {
		p.latest = 0
	}
	_, lives := w.unbound(pod.UID)
	w.m.wait(pod.UID, lives && !isExempt(pod))
}

// bind ends the cycle of a pod with a node.
func (w *world) bind(state fwk.CycleState, pod *v1.Pod, node string, t *try) bool {
	ctx := context.Background()
	current := slices.IndexFunc(w.pods.api, func(p *v1.Pod) bool { return p.UID == pod.UID && p.Spec.NodeName == "" })
	if current < 0 || w.rng.IntN(8) == 0 {
		w.note("the bind of %s fails", describe(pod))
		w.Unreserve(ctx, state, pod, node)
		if c := w.m.claim(pod.UID); c != nil && !c.bound {
			w.m.drop(pod.UID)
		}
		t.failures++
		return false
	}
	t.bound = true
	bound := w.pods.api[current].DeepCopy()
	bound.Spec.NodeName = node
	if c := w.m.claim(pod.UID); c != nil && c.overdue {
		bound.Status.Conditions = []v1.PodCondition{{Type: plugin.OverdueCondition, Status: v1.ConditionTrue}}
	}
	w.note("%s is bound", describe(pod))
	w.pods.put(bound)
	w.PostBind(ctx, state, pod, node)
	if c := w.m.claim(pod.UID); c != nil {
		c.bound = true
	}
	return true
}

// checkFeasible compares a pod's feasible nodes with the model's.
func (w *world) checkFeasible(pod *v1.Pod, infos []fwk.NodeInfo, feasible []string) {
	for _, info := range infos {
		node, known := info.Node(), w.m.node(info.Node().Name)
		got := slices.Contains(feasible, node.Name)
		want := fits(pod, node)
		switch {
		case !want || isExempt(pod):
		case known == nil:
			want = false
		case w.m.fresh(known):
			want = w.m.room(known, 0)
			if may, _ := w.m.isOverdue(pod.UID); may && w.m.takesOverdue(known) {
				want = want || got
			}
		case w.args.StalePolicy == "Neutral":
			continue
		default:
			want = false
		}
		if got != want {
			w.failf("%s on %s: got feasible %v, want %v", describe(pod), node.Name, got, want)
		}
	}
}

// check compares the plugin's state with the model.
func (w *world) check() {
	if w.fault != "" {
		w.failf("%s; %+v", w.fault, w.hub.Snapshot())
	}
	states := w.hub.Snapshot()
	if len(states) != len(w.m.nodes) {
		w.failf("%d nodes, want %d", len(states), len(w.m.nodes))
	}
	for _, s := range states {
		n := w.m.node(s.Node)
		if n == nil {
			w.failf("%s is unknown to the model", s.Node)
		}
		all, _ := w.m.flight(s.Node)
		if s.InFlight != float64(all) {
			w.failf("got %v pods in flight to %s, want %d", s.InFlight, s.Node, all)
		}
		if w.m.fresh(n) && s.Slots != w.m.slots(n) {
			w.failf("%s has %d slots, want %d", s.Node, s.Slots, w.m.slots(n))
		}
		if w.m.fresh(n) != (s.Signal == "fresh") {
			w.failf("signal of %s: got %s, want fresh %v", s.Node, s.Signal, w.m.fresh(n))
		}
	}
	if l := w.hub.Ledger(); l.Assumed+l.Bound+l.Confirmed != len(w.m.claims) {
		w.failf("got %d pods in the ledger, want %d", l.Assumed+l.Bound+l.Confirmed, len(w.m.claims))
	}
	least := 0
	for _, p := range w.m.waiting {
		if _, ok := w.unbound(p.uid); ok {
			least++
		}
	}
	if got := w.hub.Waiting(); got < least || got > len(w.m.waiting) {
		w.failf("got %d waiting pods, want %d to %d", got, least, len(w.m.waiting))
	}
	if got := w.hub.WaitSetBytes(); got > w.setBytes {
		w.failf("got %d bytes of wait sets, want at most %d", got, w.setBytes)
	}
}

// settle runs rounds for a few seconds, after which no idle pod may have room.
func (w *world) settle() {
	w.note("settle")
	for i := 0; ; i++ {
		w.rounds()
		stranded := w.stranded()
		if stranded == "" || w.fault != "" {
			return
		}
		switch {
		case i == 200:
			w.failf("no round wakes %s; %+v", stranded, w.hub.Snapshot())
		case i >= 100:
			w.advance(200 * time.Millisecond)
			w.inspection()
		default:
			w.advance(30 * time.Millisecond)
		}
	}
}

// stranded describes an idle pod that could be placed, empty for none.
func (w *world) stranded() string {
	for _, pod := range w.pods.list() {
		if _, ok := w.unbound(pod.UID); !ok || slices.Contains(w.active, pod.UID) {
			continue
		}
		t := w.tryOf(pod.UID)
		if t == nil || t.failures > 2 || w.m.waits(pod.UID) == nil {
			continue
		}
		if isExempt(pod) {
			if len(w.pods.events) == 0 {
				return describe(pod) + ", which has opted out"
			}
			continue
		}
		for _, n := range w.m.nodes {
			node, there := w.nodes.find(n.object)
			if !there || !fits(pod, node) || !fits(pod, n.object) {
				continue
			}
			if state, _ := w.hub.Node(n.name); w.m.fresh(n) && w.m.room(n, 0) || !w.m.fresh(n) && state.Slots > 0 {
				return describe(pod) + " for room on " + n.name
			}
			if _, must := w.m.isOverdue(pod.UID); must && !t.excused && w.setBytes >= 1<<20 && w.m.fresh(n) && w.m.takesOverdue(n) {
				return describe(pod) + ", overdue, for " + n.name
			}
		}
	}
	return ""
}

// quietIncrease raises one node's room while nothing else happens: the pods of the highest priority
// that fit there, and of those the first, are woken.
func (w *world) quietIncrease() {
	w.pods.relist()
	w.nodes.relist()
	w.queueNew()
	w.deliverAll()
	node := w.someNode()
	if node == nil || w.setBytes < 1<<20 {
		return
	}
	for _, n := range w.nodes.api {
		w.reportRoom(n.Name, 0, false, 0)
	}
	w.deliverAll()
	for _, pod := range w.pods.list() { // so that each has seen all nodes in their present state
		if _, ok := w.unbound(pod.UID); ok && !slices.Contains(w.active, pod.UID) {
			w.active = append(w.active, pod.UID)
		}
	}
	for i := 0; len(w.active) > 0 && i < 200; i++ {
		w.cycle(func() {})
	}
	w.deliverAll()
	w.advance(100 * time.Millisecond)
	w.round()
	if len(w.active) > 0 {
		return
	}
	n := w.m.node(node.Name)
	all, _ := w.m.flight(n.name)
	w.reportRoom(n.name, float64(all+1+w.rng.IntN(3)), false, 0)
	var want []types.UID
	for priority := 2; priority >= 0; priority-- {
		for _, p := range w.m.waiting {
			pod, ok := w.unbound(p.uid)
			if ok && int(*pod.Spec.Priority) == priority && fits(pod, node) && len(want) < w.m.slots(n) {
				if w.tryOf(p.uid).failures > 0 {
					return
				}
				want = append(want, p.uid)
			}
		}
	}
	w.round()
	got := slices.Clone(w.active)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		state, _ := w.hub.Node(n.name)
		w.failf("got woken %v, want %v for %d slots of %s: %+v", got, want, w.m.slots(n), n.name, state)
	}
}

// stray calls extension points without a cycle before.
func (w *world) stray() {
	if pod, ok := pick(w.rng, w.pods.api); ok && w.m.claim(pod.UID) == nil && len(w.nodes.api) > 0 {
		w.note("a stray Unreserve of %s", describe(pod))
		w.Unreserve(context.Background(), &cycleState{}, pod, w.someNode().Name)
		w.Filter(context.Background(), &cycleState{}, pod, nodeInfo{node: w.someNode()})
	}
}

// restart starts another scheduler on the same API.
func (w *world) restart() {
	if w.rng.IntN(8) > 0 {
		return
	}
	w.note("restart")
	w.end()
	w.begin()
	w.queueNew()
}

// storm runs the work of a scheduler's goroutines concurrently. Every other episode has no storm and is
// deterministic.
func (w *world) storm() {
	if w.episode%2 == 0 {
		return
	}
	w.note("storm")
	pods, nodes := w.pods.next(w.rng.IntN(5)), w.nodes.next(w.rng.IntN(4))
	var changed []string
	for _, e := range nodes {
		for _, object := range []*v1.Node{e.old, e.new} {
			if object != nil {
				changed = append(changed, object.Name)
			}
		}
	}
	type sent struct {
		report  agent.Report
		running []types.UID
	}
	var reports []sent
	for range w.rng.IntN(4) {
		if node := w.someNode(); node != nil && w.m.node(node.Name) != nil && !slices.Contains(changed, node.Name) {
			r, running := w.nextReport(node.Name, float64(w.rng.IntN(12))/2, false)
			reports = append(reports, sent{r, running})
		}
	}
	var busy sync.WaitGroup
	busy.Go(func() {
		for _, e := range pods {
			w.pods.deliver(e)
		}
	})
	busy.Go(func() {
		for _, e := range nodes {
			w.nodes.deliver(e)
		}
	})
	busy.Go(func() {
		for _, s := range reports {
			w.hub.Report(s.report, 0)
		}
	})
	busy.Go(func() {
		w.hub.Round()
		w.hub.Inspect()
		w.hub.Round()
	})
	busy.Go(func() {
		w.hub.Snapshot()
		w.hub.Pending(5)
		for _, pod := range w.pods.list() {
			_, _ = w.hub.Explain(string(pod.UID))
		}
	})
	attempted := w.tryBeside()
	busy.Wait()
	w.m.expire()
	for _, e := range pods {
		w.deliverPod(e)
	}
	for _, e := range nodes {
		w.deliverNode(e)
	}
	for _, s := range reports {
		w.note("%s has reported %v, %d pods", s.report.Node, s.report.Avail, len(s.running))
		w.m.report(s.report.Node, w.modelReport(s.report, 0), s.running)
	}
	attempted()
}

// tryBeside tries a pod concurrently with other events, and returns a function that ends its cycle
// afterwards.
func (w *world) tryBeside() (end func()) {
	w.mu.Lock()
	i := slices.IndexFunc(w.active, func(uid types.UID) bool { _, ok := w.unbound(uid); return ok })
	if i < 0 {
		w.mu.Unlock()
		return func() {}
	}
	w.current, w.again = w.active[i], false
	w.active = slices.Delete(w.active, i, i+1)
	pod, _ := w.unbound(w.current)
	t := w.tryOf(pod.UID)
	if t == nil {
		t = &try{uid: pod.UID}
		w.tries = append(w.tries, t)
	}
	w.mu.Unlock()
	var infos []fwk.NodeInfo
	for _, node := range w.nodes.list() {
		infos = append(infos, nodeInfo{node: node})
	}
	state, feasible, _ := w.attempt(pod, slices.DeleteFunc(infos, func(i fwk.NodeInfo) bool { return !fits(pod, i.Node()) }))
	reserved := ""
	if len(feasible) > 0 {
		name := feasible[w.rng.IntN(len(feasible))].Node().Name
		if w.Reserve(context.Background(), state, assumed(pod, name), name).IsSuccess() {
			reserved = name
		} else {
			w.Unreserve(context.Background(), state, pod, name)
		}
	}
	return func() {
		w.began(pod, t)
		t.excused, t.refused, t.elsewhere = true, true, true
		w.m.tried(pod.UID, false)
		if p := w.m.waits(pod.UID); p != nil {
			p.latest = 0 // whether a node refused it for room is unknown
		}
		w.note("%s was tried meanwhile and reserved on %q", describe(pod), reserved)
		bound := false
		if reserved != "" {
			w.m.enter(pod.UID, reserved, false)
			w.m.wait(pod.UID, false)
			if known, _ := w.hub.Explain(string(pod.UID)); known.Overdue {
				w.m.claim(pod.UID).overdue = true
			}
			bound = w.bind(state, pod, reserved, t)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.current = ""
		if _, ok := w.unbound(pod.UID); ok && !bound && w.again {
			w.active = append(w.active, pod.UID)
		}
	}
}
