package slots

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
)

// plugin is the plugin of one profile.
type plugin struct {
	*Factory
	handle   fwk.Handle
	graceful bool
}

var (
	_ fwk.PreFilterPlugin   = (*plugin)(nil)
	_ fwk.FilterPlugin      = (*plugin)(nil)
	_ fwk.PostFilterPlugin  = (*plugin)(nil)
	_ fwk.ScorePlugin       = (*plugin)(nil)
	_ fwk.ScoreExtensions   = (*plugin)(nil)
	_ fwk.ReservePlugin     = (*plugin)(nil)
	_ fwk.BindPlugin        = (*plugin)(nil)
	_ fwk.EnqueueExtensions = (*plugin)(nil)
	_ fwk.SignPlugin        = (*plugin)(nil)
)

// Name returns the plugin's name.
func (*plugin) Name() string { return Name }

// cycle is what one scheduling cycle knows about its pod.
type cycle struct {
	requests []request
	// places is nil for a placeholder. The candidates of each node are in the order of the request.
	places map[string]*choice
	// cut is set if the pod might also have slots on other nodes.
	cut bool
}

// choice is the slots of a node that a pod may have, and the one that Filter chose: the first in
// which the pod fits. Filter handles a node once at a time.
type choice struct {
	candidates []candidate
	chosen     int
}

// candidate is a slot that a pod may have. The first in the request has index 0.
type candidate struct {
	place place
	index int64
}

const stateKey = fwk.StateKey(Name)

// Clone returns the cycle itself, because this profile never tries a pod with other pods removed.
func (c *cycle) Clone() fwk.StateData { return c }

var errNoCycle = errors.New("SpazioSlots: Filter, Score or Reserve without PreFilter")

func cycleOf(state fwk.CycleState) (*cycle, error) {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoCycle, err)
	}
	c, ok := data.(*cycle)
	if !ok {
		return nil, errNoCycle
	}
	return c, nil
}

// PreFilter finds the slots that a pod may have.
func (p *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if !isPlaceholder(pod) && !isTenant(pod) {
		return nil, refuse("pods of this profile are placeholders and pods for slots: their label %s is %s or %s", LabelRole, RolePlaceholder, RoleSlot)
	}
	if objects.MarkBound(state, pod); objects.IsBound(pod) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	// The pod waits before its job is looked up, so that a change of the job is seen by either.
	p.jobs.wait(objects.Activation{Pod: pod, Handle: p.handle})
	if !p.there(pod) { // it may have been deleted before
		p.jobs.done(pod.UID)
	}
	if !p.synced.Load() {
		return nil, refuse("pods in slots are still being read from the API")
	}
	c := &cycle{requests: requestsOf(pod)}
	if isPlaceholder(pod) {
		return nil, p.preFilterPlaceholder(state, pod, c)
	}
	j, refused := p.request(pod, c.requests)
	if refused != nil {
		return nil, refused
	}
	if c.places, c.cut, refused = p.candidates(pod, j); refused != nil {
		return nil, refused
	}
	state.Write(stateKey, c)
	return &fwk.PreFilterResult{NodeNames: sets.KeySet(c.places)}, nil
}

// preFilterPlaceholder lets a placeholder pass unless a pod is in its slot, one that the testbed's controller
// does not know of yet.
func (p *plugin) preFilterPlaceholder(state fwk.CycleState, pod *v1.Pod, c *cycle) *fwk.Status {
	if at, ok := placeOf(pod); ok && p.table.occupied(at) {
		return refuse("a pod is in the slot %s", at.slot)
	}
	p.jobs.done(pod.UID)
	state.Write(stateKey, c)
	return nil
}

// request returns the pod's job if it asks for pods like this one.
func (p *plugin) request(pod *v1.Pod, requests []request) (*job, *fwk.Status) {
	uid := pod.Labels[LabelBatchJobUID]
	if uid == "" {
		return nil, refuse("the pod has no label %s", LabelBatchJobUID)
	}
	j := p.jobs.of(pod)
	switch {
	case j == nil && !p.known.Load():
		return nil, refuse("BatchJobs are not known: the API server has not shown them yet")
	case j == nil:
		return nil, refuse("no BatchJob in namespace %s has the UID %s", pod.Namespace, uid)
	case j.attempt == "":
		return nil, refuse("%s has no slots", j.name)
	case j.attempt != pod.Labels[LabelAttempt]:
		return nil, refuse("%s is at attempt %s, the pod is of attempt %q", j.name, j.attempt, pod.Labels[LabelAttempt])
	case string(j.testbed) != pod.Labels[LabelTestbedUID]:
		return nil, refuse("%s has slots of the testbed %s, the pod is for %q", j.name, j.testbed, pod.Labels[LabelTestbedUID])
	}
	if excess := j.exceeds(requests); excess != "" {
		return nil, refuse("too large for a slot of %s: asks for %s", j.name, excess)
	}
	return j, nil
}

// candidates returns the job's first free slots, by node: those on as many nodes as a pod is
// tried on at first, or on all nodes if none of the first fits. cut reports whether there are
// more.
func (p *plugin) candidates(pod *v1.Pod, j *job) (nodes map[string]*choice, cut bool, refused *fwk.Status) {
	most := p.options.nodes
	if p.jobs.widened(runOf(pod)) {
		most = len(j.places)
	}
	nodes, nowhere := make(map[string]*choice), 0
	taken := p.table.eachFree(pod.UID, runOf(pod), j.places, func(i int) bool {
		at := j.places[i]
		switch on := nodes[at.slot.Node]; {
		case on != nil:
			on.candidates = append(on.candidates, candidate{at, int64(i)})
		case !p.has(at.slot.Node):
			nowhere++
		case len(nodes) >= most:
			cut = true
		default:
			nodes[at.slot.Node] = &choice{candidates: []candidate{{at, int64(i)}}, chosen: -1}
		}
		return !cut
	})
	switch {
	case len(nodes) > 0:
		p.preferKept(pod, j, nodes)
		return nodes, cut, nil
	case nowhere > 0:
		return nil, false, refuse("%d of %d slots of %s are taken, and the nodes of the others are gone", taken, len(j.places), j.name)
	case taken == 1:
		return nil, false, refuse("the slot of %s is taken", j.name)
	}
	return nil, false, refuse("all %d slots of %s are taken", taken, j.name)
}

// preferKept puts the slot that is kept for the pod before the others.
func (p *plugin) preferKept(pod *v1.Pod, j *job, nodes map[string]*choice) {
	held, ok := p.table.tenancy(pod.UID)
	if !ok {
		return
	}
	node, i := held.place.slot.Node, slices.Index(j.places, held.place)
	if i < 0 || !p.has(node) || p.table.eachFree(pod.UID, runOf(pod), j.places[i:i+1], func(int) bool { return false }) > 0 {
		return
	}
	on := nodes[node]
	if on == nil {
		on = &choice{chosen: -1}
		nodes[node] = on
	}
	others := slices.DeleteFunc(on.candidates, func(c candidate) bool { return c.place == held.place })
	on.candidates = append([]candidate{{held.place, -1}}, others...)
}

// has reports whether the scheduler knows the node.
func (p *plugin) has(node string) bool {
	_, err := p.handle.SnapshotSharedLister().NodeInfos().Get(node)
	return err == nil
}

// refuse returns a refusal with its reason, one that evicting pods would not change.
func refuse(format string, args ...any) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf(format, args...))
}

// PreFilterExtensions returns nil: no pod is evicted for another in this profile.
func (*plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter refuses a node where the pod fits into none of its slots.
func (p *plugin) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	if objects.IsBound(pod) {
		return nil
	}
	c, err := cycleOf(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	on := p.look(info)
	if c.places == nil {
		return judge(lacks(c.requests, info, on.swaps(nil), p.drawn))
	}
	choice := c.places[info.Node().Name]
	if choice == nil {
		return refuse("the node has none of the pod's slots")
	}
	var reasons []string
	for i := range choice.candidates {
		if reasons = lacks(c.requests, info, on.swaps(&choice.candidates[i].place), p.drawn); len(reasons) == 0 {
			choice.chosen = i
			return nil
		}
	}
	choice.chosen = -1
	return judge(reasons)
}

func judge(reasons []string) *fwk.Status {
	if len(reasons) == 0 {
		return nil
	}
	return fwk.NewStatus(fwk.Unschedulable, reasons...)
}

// PostFilter has a pod tried on all of its slots if it fits none of the first, and with it the
// later pods of its run, because what is wrong with the first nodes mostly concerns them all.
func (p *plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	c, err := cycleOf(state)
	if err != nil || !c.cut {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.jobs.widen(runOf(pod))
	objects.Activate(ctx, []objects.Activation{{Pod: pod, Handle: p.handle}})
	return nil, fwk.NewStatus(fwk.Unschedulable, "the pod's other slots are tried next")
}

// drawn reports whether the plugin DynamicResources handles the resource.
func (p *plugin) drawn(name v1.ResourceName) bool {
	manager := p.handle.SharedDRAManager()
	return manager != nil && manager.DeviceClassResolver().GetDeviceClass(name) != nil
}

// occupants are the pods in the slots of a node.
type occupants struct {
	placeholders, tenants map[place]fwk.PodInfo
}

// look finds a node's placeholders and the pods in their places. It looks these up in the table,
// because pods that are on their way do not name their slot yet.
func (p *plugin) look(info fwk.NodeInfo) *occupants {
	o := &occupants{placeholders: make(map[place]fwk.PodInfo), tenants: make(map[place]fwk.PodInfo)}
	for _, pod := range info.GetPods() {
		switch {
		case isPlaceholder(pod.GetPod()):
			if at, ok := placeOf(pod.GetPod()); ok {
				o.placeholders[at] = pod
			}
		case isTenant(pod.GetPod()):
			if held, ok := p.table.tenancy(pod.GetPod().UID); ok {
				o.tenants[held.place] = pod
			}
		}
	}
	return o
}

// swaps returns the swaps that are under way and, if a place is given, the one that would be.
func (o *occupants) swaps(of *place) *swaps {
	s := &swaps{}
	for at, g := range o.placeholders {
		tenant := o.tenants[at]
		switch {
		case of != nil && at == *of:
			s.whole = append(s.whole, g.CalculateResource().Resource)
		case tenant != nil:
			s.pairs = append(s.pairs, [2]fwk.Resource{g.CalculateResource().Resource, tenant.CalculateResource().Resource})
		}
	}
	return s
}

// Score returns how late in the request the node's slot comes; NormalizeScore inverts it.
func (*plugin) Score(_ context.Context, state fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) (int64, *fwk.Status) {
	if objects.IsBound(pod) {
		return 0, nil
	}
	c, err := cycleOf(state)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	choice := c.places[info.Node().Name]
	if choice == nil || choice.chosen < 0 {
		return math.MaxInt64, nil
	}
	return choice.candidates[choice.chosen].index, nil
}

// ScoreExtensions returns the plugin itself, which normalises.
func (p *plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// bestScore is the framework's highest score, whose constant has another name in Kubernetes 1.35.
const bestScore = 100

// NormalizeScore gives the best score to the node of the first slot, and 0 to the others.
func (*plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	least := int64(math.MaxInt64)
	for _, s := range scores {
		least = min(least, s.Score)
	}
	for i := range scores {
		if scores[i].Score == least {
			scores[i].Score = bestScore
		} else {
			scores[i].Score = 0
		}
	}
	return nil
}

// Reserve takes the slot.
func (p *plugin) Reserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if isPlaceholder(pod) || objects.WasBound(state) {
		return nil
	}
	c, err := cycleOf(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	choice := c.places[node]
	if choice == nil || choice.chosen < 0 {
		return fwk.AsStatus(fmt.Errorf("%w: no slot on %s", errNoCycle, node))
	}
	at := choice.candidates[choice.chosen].place
	if !p.table.reserve(pod.UID, runOf(pod), at) {
		// The pod's job may have another slot, and no other event would have the pod tried for
		// it.
		objects.Activate(ctx, []objects.Activation{{Pod: pod, Handle: p.handle}})
		return fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf("the slot %s has been taken meanwhile", at.slot))
	}
	p.jobs.done(pod.UID)
	return nil
}

// Unreserve returns the slot unless the pod's bind has begun. Then the slot's placeholder may be gone,
// and the pod must get the slot when it is tried again.
func (p *plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	p.table.unreserve(pod.UID, func() bool { return p.there(pod) })
}

// EventsToRegister names the events of the API that may help a pod the plugin refused.
// A change of its BatchJob is not among them: the Factory activates pods then.
func (p *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	nodeChanges := fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeTaint | fwk.UpdateNodeLabel
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete | fwk.UpdatePodScaleDown}, QueueingHintFn: p.podChanged},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: nodeChanges}, QueueingHintFn: p.nodeChanged},
	}, nil
}

// podChanged queues a pod where one on a node of its slots has ended or become smaller.
func (p *plugin) podChanged(_ klog.Logger, pod *v1.Pod, before, after any) (fwk.QueueingHint, error) {
	changed, ok := after.(*v1.Pod)
	if !ok || changed == nil {
		if changed, ok = before.(*v1.Pod); !ok {
			return fwk.Queue, nil
		}
	}
	return p.onNode(pod, changed.Spec.NodeName), nil
}

// nodeChanged queues a pod where a node of its slots has come or changed.
func (p *plugin) nodeChanged(_ klog.Logger, pod *v1.Pod, _, after any) (fwk.QueueingHint, error) {
	node, ok := after.(*v1.Node)
	if !ok {
		return fwk.Queue, nil
	}
	return p.onNode(pod, node.Name), nil
}

// onNode queues a pod if one of its slots is on the node.
func (p *plugin) onNode(pod *v1.Pod, node string) fwk.QueueingHint {
	if node != "" && slices.ContainsFunc(p.placesOf(pod), func(at place) bool { return at.slot.Node == node }) {
		return fwk.Queue
	}
	return fwk.QueueSkip
}

// placesOf are the slots that a pod may have, taken or not.
func (p *plugin) placesOf(pod *v1.Pod) []place {
	if isPlaceholder(pod) {
		if at, ok := placeOf(pod); ok {
			return []place{at}
		}
		return nil
	}
	if j := p.jobs.of(pod); j != nil {
		return j.places
	}
	return nil
}

// SignPod refuses: of two pods that are alike each gets a slot of its own.
func (*plugin) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable, "each pod has a slot of its own")
}
