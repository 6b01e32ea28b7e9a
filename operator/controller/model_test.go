package controller

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// history is a bed with random events.
type history struct {
	*bed
	rng      *rand.Rand
	replicas []*replica
	seed     uint64
	jobsMade int
}

// After any sequence of events, with controllers that lag, crash between two requests, lead
// concurrently and lose answers, no slot was ever claimed twice; and once it is quiet, every slot
// has its placeholder or its pod, nothing else exists, and nothing more is written.
func TestModel(t *testing.T) {
	seeds := uint64(25)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &history{bed: newBed(t), rng: rand.New(rand.NewPCG(seed, 1)), seed: seed}
			for i := range 3 {
				h.node(fmt.Sprintf("n%d", i), fmt.Sprint(h.rng.IntN(3)))
			}
			h.testbed("one", 2)
			h.replicas = []*replica{h.replica()}
			h.after, h.fault = h.claimedOnce, h.unlucky
			for range 120 {
				h.event()
				h.now = h.now.Add(time.Duration(h.rng.IntN(400)) * time.Millisecond)
			}
			h.fault = func(string, client.Object) error { return nil }
			h.settle()
		})
	}
}

// claimedOnce checks each status that is written.
func (h *history) claimedOnce(_ string, o client.Object) {
	tb, ok := o.(*v1alpha1.Testbed)
	if !ok {
		return
	}
	owner := map[string]types.UID{}
	for _, c := range tb.Status.Claims {
		for _, id := range c.Slots {
			if other, twice := owner[id]; twice {
				h.t.Fatalf("slot %s is claimed by %s and %s", id, other, c.BatchJobUID)
			}
			owner[id] = c.BatchJobUID
		}
	}
}

// unlucky makes some of the controllers' writes fail, before or after they are done.
func (h *history) unlucky(_ string, o client.Object) error {
	switch h.rng.IntN(12) {
	case 0:
		return apierrors.NewConflict(schema.GroupResource{Resource: "things"}, o.GetName(), errors.New("unlucky"))
	case 1:
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, o.GetName(), errors.New("unlucky"))
	case 2:
		return errLost
	}
	return nil
}

// lucky makes a write of another client succeed.
func (h *history) lucky(do func()) {
	fault := h.fault
	h.fault = func(string, client.Object) error { return nil }
	defer func() { h.fault = fault }()
	do()
}

// event is one random event.
func (h *history) event() {
	r := h.replicas[h.rng.IntN(len(h.replicas))]
	switch n := h.rng.IntN(20); n {
	case 0, 1, 2, 3, 4, 5: // a controller continues
		for name, at := range maps.Clone(r.due) {
			if !at.After(h.now) {
				_ = r.reconcile(name)
			}
		}
	case 6, 7: // its watches show some of what there is
		r.show(func(client.Object) bool { return h.rng.IntN(2) == 0 })
	case 8:
		r.show(func(client.Object) bool { return true })
	case 9, 10: // some of its requests are made
		for range h.rng.IntN(4) {
			if len(r.queue) > 0 {
				i := h.rng.IntN(len(r.queue))
				f := r.queue[i]
				r.queue = slices.Delete(r.queue, i, i+1)
				f()
			}
		}
	case 11: // it crashes, with what it was to do, or another leads beside it
		if h.rng.IntN(2) == 0 || len(h.replicas) > 2 {
			h.replicas = nil
		}
		h.replicas = append(h.replicas, h.replica())
	default:
		h.lucky(func() { h.outside(n) })
	}
}

// outside is an event of people, nodes and other controllers.
func (h *history) outside(n int) {
	switch n {
	case 12, 13:
		h.bind(func(*corev1.Pod) bool { return h.rng.IntN(2) == 0 })
	case 14:
		h.nodeEvent()
	case 15:
		h.testbedEvent()
	case 16:
		name := fmt.Sprintf("job%d", h.jobsMade)
		h.jobsMade++
		h.job(name)
		if all := h.testbeds(); len(all) > 0 {
			queue := slices.Repeat([]string{name}, 1+h.rng.IntN(3))
			h.scheduling(all[h.rng.IntN(len(all))], "s-"+name, queue...)
		}
	case 17:
		h.podsEnter()
	case 18:
		h.jobEnds()
	case 19:
		h.podEvent()
	}
}

func (h *history) nodeEvent() {
	all := h.nodes()
	switch {
	case len(all) < 2 || h.rng.IntN(3) == 0 && len(all) < 5:
		h.made++
		h.node(fmt.Sprintf("m%d", h.made), fmt.Sprint(h.rng.IntN(3)))
	case h.rng.IntN(2) == 0:
		n := all[h.rng.IntN(len(all))]
		h.delete(n)
		for _, p := range h.pods() { // the pods' garbage collector's work
			if p.Spec.NodeName == n.Name {
				h.delete(p)
			}
		}
	default:
		edit(h.bed, all[h.rng.IntN(len(all))], func(n *corev1.Node) {
			if h.rng.IntN(3) == 0 {
				delete(n.Labels, nodeLabel)
			} else {
				n.Labels = map[string]string{nodeLabel: fmt.Sprint(h.rng.IntN(3))}
			}
		})
	}
}

func (h *history) testbedEvent() {
	all := h.testbeds()
	if len(all) == 0 || len(all) < 3 && h.rng.IntN(5) == 0 {
		h.made++
		h.testbed(fmt.Sprintf("t%d", h.made), 1, func(tb *v1alpha1.Testbed) {
			if h.rng.IntN(2) == 0 {
				tb.Spec.Sharing = v1alpha1.Shared
			}
		})
		return
	}
	tb := all[h.rng.IntN(len(all))]
	if h.rng.IntN(6) == 0 {
		h.delete(tb)
		return
	}
	edit(h.bed, tb, func(tb *v1alpha1.Testbed) {
		if h.rng.IntN(2) == 0 {
			tb.Spec.SlotsPerNode.IntVal = int32(h.rng.IntN(4))
		} else {
			tb.Spec.ResourcesPerSlot = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(100*(1+h.rng.IntN(2))), resource.DecimalSI)}
		}
	})
}

// podsEnter binds pods of jobs that have slots, late ones too, and lets them replace the
// placeholders.
func (h *history) podsEnter() {
	there := map[string]bool{}
	for _, n := range h.nodes() {
		there[n.Name] = true
	}
	for _, tb := range h.testbeds() {
		for _, c := range tb.Status.Claims {
			i := slices.IndexFunc(h.jobs(), func(j *v1alpha1.BatchJob) bool { return j.UID == c.BatchJobUID })
			if i < 0 {
				continue
			}
			for _, text := range c.Slots {
				id, err := slot.ParseID(text)
				if err != nil {
					h.t.Fatal(err)
				}
				if there[id.Node] && !h.inSlot(tb, text) && h.rng.IntN(2) == 0 {
					h.made++
					h.enter(tb, h.jobs()[i], id)
				}
			}
		}
	}
}

// inSlot reports whether a job's pod is in the slot.
func (h *history) inSlot(tb *v1alpha1.Testbed, id string) bool {
	return slices.ContainsFunc(h.pods(), func(p *corev1.Pod) bool {
		return p.Labels[v1alpha1.LabelRole] == v1alpha1.RoleSlot && p.Labels[v1alpha1.LabelTestbedUID] == string(tb.UID) &&
			p.Annotations[v1alpha1.AnnotationSlot] == id && p.Status.Phase != corev1.PodFailed
	})
}

// jobEnds ends a job: its pods go, then its claims, or it is deleted before that.
func (h *history) jobEnds() {
	all := h.jobs()
	if len(all) == 0 {
		return
	}
	h.end(all[h.rng.IntN(len(all))], h.rng.IntN(3) == 0)
}

func (h *history) end(job *v1alpha1.BatchJob, deleted bool) {
	if deleted {
		h.delete(job)
	} else {
		status(h.bed, job, func(j *v1alpha1.BatchJob) { j.Status.State = done })
	}
	for _, p := range h.pods() {
		if p.Labels[v1alpha1.LabelBatchJobUID] == string(job.UID) {
			h.delete(p)
		}
	}
	for _, tb := range h.testbeds() {
		if !deleted && slices.ContainsFunc(tb.Status.Claims, func(c v1alpha1.Claim) bool { return c.BatchJobUID == job.UID }) {
			h.free(tb, job.UID)
		}
	}
}

// podEvent evicts or deletes a pod.
func (h *history) podEvent() {
	all := h.pods()
	if len(all) == 0 {
		return
	}
	p := all[h.rng.IntN(len(all))]
	if h.rng.IntN(2) == 0 {
		h.delete(p)
		return
	}
	status(h.bed, p, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
}

// settle lets everything become quiet, and checks the result.
func (h *history) settle() {
	h.replicas = h.replicas[len(h.replicas)-1:]
	for _, job := range h.jobs() {
		if h.rng.IntN(2) == 0 {
			h.end(job, false)
		}
	}
	h.run(75*time.Second, h.replicas[0])
	before := h.total()
	for name := range h.replicas[0].states {
		h.replicas[0].wake(name, 0)
	}
	h.run(15*time.Second, h.replicas[0])
	if n := h.total() - before; n != 0 {
		h.t.Errorf("%d writes once it is quiet", n)
	}
	for _, tb := range h.testbeds() {
		if tb.DeletionTimestamp != nil {
			if len(tb.Status.Claims) == 0 {
				h.t.Errorf("Testbed %s has no claims and is still there", tb.Name)
			}
			continue
		}
		h.checkSlots(tb)
	}
	for _, p := range h.pods() {
		owned := slices.ContainsFunc(h.testbeds(), func(tb *v1alpha1.Testbed) bool { return string(tb.UID) == p.Labels[v1alpha1.LabelTestbedUID] })
		if p.Labels[v1alpha1.LabelRole] == v1alpha1.RolePlaceholder && !owned {
			h.t.Errorf("placeholder %s of a Testbed that is gone", p.Name)
		}
	}
}

// checkSlots compares a Testbed's objects with the expected ones, derived from its nodes alone.
func (h *history) checkSlots(tb *v1alpha1.Testbed) {
	claimed := map[string]bool{}
	for _, c := range tb.Status.Claims {
		for _, id := range c.Slots {
			claimed[id] = true
		}
	}
	reported := map[string]bool{}
	for _, n := range tb.Status.Nodes {
		for i := range n.Slots {
			reported[fmt.Sprintf("%s/%d", n.Name, i)] = true
		}
		if n.Slots != tb.Spec.SlotsPerNode.IntVal {
			h.t.Errorf("%s: node %s has %d slots of %d", tb.Name, n.Name, n.Slots, tb.Spec.SlotsPerNode.IntVal)
		}
	}
	placeholders := map[string]int{}
	for _, p := range h.pods() {
		if p.Labels[v1alpha1.LabelRole] != v1alpha1.RolePlaceholder || p.Labels[v1alpha1.LabelTestbedUID] != string(tb.UID) {
			continue
		}
		id := p.Annotations[v1alpha1.AnnotationSlot]
		placeholders[id]++
		switch size := p.Spec.Containers[0].Resources.Requests.Cpu(); {
		case p.Status.Phase == corev1.PodFailed:
			h.t.Errorf("%s: the placeholder in %s has ended", tb.Name, id)
		case !reported[id] && !claimed[id]:
			h.t.Errorf("%s: a placeholder in %s, which is no slot", tb.Name, id)
		case !claimed[id] && size.Cmp(*tb.Spec.ResourcesPerSlot.Cpu()) != 0:
			h.t.Errorf("%s: the placeholder in %s holds %s, not %s", tb.Name, id, size, tb.Spec.ResourcesPerSlot.Cpu())
		}
	}
	for id := range reported {
		pod := h.inSlot(tb, id)
		if pod && placeholders[id] != 0 || !pod && placeholders[id] != 1 {
			h.t.Errorf("%s: slot %s has %d placeholders; a pod: %v", tb.Name, id, placeholders[id], pod)
		}
	}
	h.checkNodes(tb)
}

// checkNodes checks that every Testbed reports a node with the label if all of them share, and one
// does otherwise.
func (h *history) checkNodes(tb *v1alpha1.Testbed) {
	labelled := map[string]bool{}
	for _, n := range h.nodes() {
		if _, ok := n.Labels[nodeLabel]; ok {
			labelled[n.Name] = true
		}
	}
	by := map[string]int{}
	shared := true
	for _, other := range h.testbeds() {
		shared = shared && other.Spec.Sharing == v1alpha1.Shared
		for _, n := range other.Status.Nodes {
			by[n.Name]++
			if !labelled[n.Name] && other.DeletionTimestamp == nil {
				h.t.Errorf("%s: node %s has no label", other.Name, n.Name)
			}
		}
	}
	if len(h.testbeds()) != 1 && !shared {
		return
	}
	for name := range labelled {
		if by[name] != len(h.testbeds()) {
			h.t.Errorf("%s: node %s is %d Testbeds' of %d", tb.Name, name, by[name], len(h.testbeds()))
		}
	}
}
