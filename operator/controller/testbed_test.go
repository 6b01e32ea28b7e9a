package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// ready returns the reason of the Testbed's condition Ready.
func ready(tb *v1alpha1.Testbed) string {
	c := meta.FindStatusCondition(tb.Status.Conditions, v1alpha1.TestbedReady)
	if c == nil {
		return ""
	}
	return c.Reason
}

// placeholders returns the slots that have one, on its node.
func (b *bed) placeholders(tb *v1alpha1.Testbed) []string {
	var out []string
	for _, p := range b.pods() {
		if p.Labels[v1alpha1.LabelRole] == v1alpha1.RolePlaceholder && p.Labels[v1alpha1.LabelTestbedUID] == string(tb.UID) {
			out = append(out, p.Annotations[v1alpha1.AnnotationSlot])
		}
	}
	slices.Sort(out)
	return out
}

// claims returns the jobs with their slots.
func claims(tb *v1alpha1.Testbed) map[string][]string {
	out := map[string][]string{}
	for _, c := range tb.Status.Claims {
		out[c.BatchJob] = c.Slots
	}
	return out
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A Testbed gets a valid placeholder for each slot, on that slot's node.
func TestPlaceholders(t *testing.T) {
	b := newBed(t)
	b.node("b", "2")
	b.node("a", "10")
	b.node("other", "x")
	edit(b, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, func(n *corev1.Node) { n.Labels = nil })
	tb := b.testbed("small", 2, func(tb *v1alpha1.Testbed) {
		tb.Spec.Placeholders.RuntimeClassName = "slim"
		tb.Spec.Placeholders.Tolerations = []corev1.Toleration{{Key: "lab", Operator: corev1.TolerationOpExists}}
		tb.Spec.ResourcesPerSlot["example.com/gpu"] = resource.MustParse("1")
	})
	b.options.PlaceholderImage = "nothing:1"
	b.run(3*time.Second, b.replica())
	tb = b.get(tb)
	check(t, "placeholders", b.placeholders(tb), []string{"a/0", "a/1", "b/0", "b/1"})
	check(t, "nodes", tb.Status.Nodes, v1alpha1.TestbedNodes{{Name: "b", ID: 0, Slots: 2, Wanted: 2}, {Name: "a", ID: 1, Slots: 2, Wanted: 2}})
	check(t, "counts", tb.Status.Counts, v1alpha1.SlotCounts{Slots: 4, Free: 4})
	check(t, "ready", ready(tb), v1alpha1.ReasonSlotsReady)
	check(t, "generation", tb.Status.ObservedGeneration, tb.Generation)

	yes, no, grace, user, class := true, false, int64(0), int64(65535), "slim"
	id := slot.ID{Node: "a", Position: 1}
	var got *corev1.Pod
	for _, p := range b.pods() {
		if p.Annotations[v1alpha1.AnnotationSlot] == id.String() {
			got = p
		}
	}
	gpu := resource.MustParse("1")
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: slot.PlaceholderName(string(tb.UID), id),
			Labels: map[string]string{v1alpha1.LabelRole: v1alpha1.RolePlaceholder, v1alpha1.LabelTestbedUID: string(tb.UID)},
			Annotations: map[string]string{
				v1alpha1.AnnotationSlot: "a/1", v1alpha1.AnnotationOptOut: "true",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "testbed.spazio-scheduler.github.io/v1alpha1", Kind: "Testbed", Name: "small", UID: tb.UID, Controller: &yes}},
		},
		Spec: corev1.PodSpec{
			NodeName: "a", SchedulerName: "spazio-slots", PriorityClassName: "spazio-placeholder", RuntimeClassName: &class,
			TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			Tolerations: []corev1.Toleration{{Key: "lab", Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"a"}}}}},
			}}},
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: "RuntimeDefault"}},
			Containers: []corev1.Container{{
				Name: "placeholder", Image: "nothing:1",
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("700m"), "example.com/gpu": gpu},
					Limits:   corev1.ResourceList{"example.com/gpu": gpu},
				},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "Generation", "ResourceVersion", "CreationTimestamp", "ManagedFields"),
		cmpopts.IgnoreMapEntries(func(key, _ string) bool { return key == v1alpha1.AnnotationSize })); diff != "" {
		t.Errorf("a placeholder (-want +got):\n%s", diff)
	}
}

// Nodes come, go and get another label; slots follow, and are in the labels' order.
func TestNodesFollowed(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	c := b.node("c", "3")
	tb := b.testbed("small", 1)
	r := b.replica()
	b.run(2*time.Second, r)
	b.node("b", "2")
	b.delete(c)
	b.run(3*time.Second, r)
	check(t, "placeholders", b.placeholders(tb), []string{"a/0", "b/0"})
	edit(b, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, func(n *corev1.Node) { n.Labels[nodeLabel] = "9" })
	b.run(3*time.Second, r)
	check(t, "nodes", b.get(tb).Status.Nodes, v1alpha1.TestbedNodes{{Name: "b", ID: 0, Slots: 1, Wanted: 1}, {Name: "a", ID: 1, Slots: 1, Wanted: 1}})
	edit(b, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, func(n *corev1.Node) { delete(n.Labels, nodeLabel) })
	edit(b, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, func(n *corev1.Node) { delete(n.Labels, nodeLabel) })
	b.run(3*time.Second, r)
	check(t, "placeholders", b.placeholders(tb), []string(nil))
	check(t, "ready", ready(b.get(tb)), v1alpha1.ReasonNoNodes)
}

// The condition has the number of slots beyond the limit.
func TestTooLarge(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	b.node("b", "2")
	tb := b.testbed("small", 3, func(tb *v1alpha1.Testbed) { tb.Spec.MaxSlots = 5 })
	b.run(3*time.Second, b.replica())
	check(t, "placeholders", b.placeholders(tb), []string{"a/0", "a/1", "a/2", "b/0", "b/1"})
	tb = b.get(tb)
	check(t, "ready", ready(tb), v1alpha1.ReasonTooLarge)
	check(t, "nodes", tb.Status.Nodes[1], v1alpha1.TestbedNode{Name: "b", ID: 1, Slots: 2, Wanted: 3, Reason: v1alpha1.ReasonTooLarge})
	if c := meta.FindStatusCondition(tb.Status.Conditions, v1alpha1.TestbedReady); !strings.HasPrefix(c.Message, "1 slot") {
		t.Errorf("message: %s", c.Message)
	}
}

// A node belongs to one Testbed, unless all share; the loser reports it, and gets the node when the
// other is gone.
func TestSharing(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	first := b.testbed("first", 1)
	b.now = b.now.Add(2 * time.Second)
	second := b.testbed("second", 1)
	r := b.replica()
	b.run(3*time.Second, r)
	check(t, "first", b.placeholders(first), []string{"a/0"})
	check(t, "second", b.placeholders(second), []string(nil))
	check(t, "ready", ready(b.get(second)), v1alpha1.ReasonNodeConflict)

	for _, tb := range []*v1alpha1.Testbed{first, second} {
		edit(b, tb, func(tb *v1alpha1.Testbed) { tb.Spec.Sharing = v1alpha1.Shared })
	}
	b.run(3*time.Second, r)
	check(t, "second, shared", b.placeholders(second), []string{"a/0"})

	for _, tb := range []*v1alpha1.Testbed{first, second} {
		edit(b, tb, func(tb *v1alpha1.Testbed) { tb.Spec.Sharing = v1alpha1.Exclusive })
	}
	b.run(3*time.Second, r)
	check(t, "first, exclusive", b.placeholders(first), []string{"a/0"})
	check(t, "second, exclusive", b.placeholders(second), []string(nil))

	b.delete(first)
	b.run(5*time.Second, r)
	check(t, "Testbeds", len(b.testbeds()), 1)
	check(t, "second, alone", b.placeholders(second), []string{"a/0"})
	check(t, "ready", ready(b.get(second)), v1alpha1.ReasonSlotsReady)
}

// Free slots are resized at once, claimed ones when they are released.
func TestResize(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 2)
	r := b.replica()
	b.run(2*time.Second, r)
	job := b.job("one")
	b.scheduling(tb, "s", "one")
	b.run(2*time.Second, r)
	check(t, "claims", claims(b.get(tb)), map[string][]string{"lab/one": {"a/0"}})
	edit(b, tb, func(tb *v1alpha1.Testbed) {
		tb.Spec.ResourcesPerSlot = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
	})
	b.run(3*time.Second, r)
	check(t, "one claimed", b.sizes(), map[string]string{"a/0": "700m", "a/1": "200m"})

	// The claim's size outlives the controller, because the job's creation request has it.
	status(b, job, func(j *v1alpha1.BatchJob) {
		j.Status.CreationRequest = &v1alpha1.CreationRequest{
			Testbed: v1alpha1.ObjectReference{Namespace: "lab", Name: "small", UID: tb.UID}, Attempt: 1, Replication: 1,
			Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.7")},
		}
	})
	r = b.replica()
	pod := b.enter(tb, job, slot.ID{Node: "a"})
	b.run(2*time.Second, r)
	check(t, "placeholders beside the pod", b.placeholders(tb), []string{"a/1"})
	b.delete(pod)
	b.run(5*time.Second, r)
	check(t, "one claimed, empty again", b.sizes(), map[string]string{"a/0": "700m", "a/1": "200m"})

	status(b, job, func(j *v1alpha1.BatchJob) { j.Status.State = done })
	b.free(tb, job.UID)
	b.run(3*time.Second, r)
	check(t, "released", b.sizes(), map[string]string{"a/0": "200m", "a/1": "200m"})
}

// sizes returns the CPU requests of placeholders, by slot.
func (b *bed) sizes() map[string]string {
	out := map[string]string{}
	for _, p := range b.pods() {
		if p.Labels[v1alpha1.LabelRole] == v1alpha1.RolePlaceholder {
			out[p.Annotations[v1alpha1.AnnotationSlot]] = p.Spec.Containers[0].Resources.Requests.Cpu().String()
		}
	}
	return out
}

// Another spelling of an amount is the same size: no placeholder is replaced.
func TestSameSize(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 2)
	r := b.replica()
	b.run(2*time.Second, r)
	created := b.writes["create Pod"]
	edit(b, tb, func(tb *v1alpha1.Testbed) {
		tb.Spec.ResourcesPerSlot = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.70")}
		tb.Spec.Placeholders.PriorityClassName = v1alpha1.PriorityClassPlaceholder
	})
	b.run(2*time.Second, r)
	check(t, "placeholders created", b.writes["create Pod"], created)
	edit(b, tb, func(tb *v1alpha1.Testbed) { tb.Spec.Placeholders.PriorityClassName = "other" })
	b.run(2*time.Second, r)
	check(t, "placeholders made otherwise", b.writes["create Pod"], created+2)
}

// An unused Testbed reserves nothing from idleAfter on until the next Scheduling; a controller that
// restarts keeps to it.
func TestIdle(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 2, func(tb *v1alpha1.Testbed) { tb.Spec.IdleAfter = &metav1.Duration{Duration: 10 * time.Second} })
	r := b.replica()
	b.run(9*time.Second, r)
	check(t, "placeholders before", len(b.placeholders(tb)), 2)
	b.run(3*time.Second, r)
	check(t, "placeholders after", len(b.placeholders(tb)), 0)
	check(t, "ready", ready(b.get(tb)), v1alpha1.ReasonIdle)
	r = b.replica()
	b.run(3*time.Second, r)
	check(t, "placeholders after a restart", len(b.placeholders(tb)), 0)

	job := b.job("one")
	s := b.scheduling(tb, "s", "one")
	b.run(2*time.Second, r)
	check(t, "claims", claims(b.get(tb)), map[string][]string{"lab/one": {"a/0"}})
	status(b, job, func(j *v1alpha1.BatchJob) { j.Status.State = done })
	status(b, s, func(s *v1alpha1.Scheduling) { s.Status.State = v1alpha1.SchedulingCompleted })
	b.free(tb, job.UID)
	b.run(9*time.Second, r)
	check(t, "placeholders soon after", len(b.placeholders(tb)), 2)
	b.run(3*time.Second, r)
	check(t, "placeholders at last", len(b.placeholders(tb)), 0)
}

// rooms are readings that a test sets.
type rooms struct {
	of      map[string]room.Reading
	changed chan struct{}
}

func (r *rooms) Room(node string) (room.Reading, bool) { of, ok := r.of[node]; return of, ok }
func (r *rooms) Changed() <-chan struct{}              { return r.changed }

// Slots follow measured room, after their delays, and stay while it is unknown.
func TestAuto(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	source := &rooms{of: map[string]room.Reading{}}
	b.options.Rooms = source
	two := resource.MustParse("2")
	tb := b.testbed("small", 0, func(tb *v1alpha1.Testbed) {
		tb.Spec.SlotsPerNode, tb.Spec.Auto = intstr.FromString(v1alpha1.SlotsAuto), &v1alpha1.Auto{UnitsPerSlot: &two}
	})
	r := b.replica()
	run := func(d time.Duration) {
		t.Helper()
		for range int(d / time.Second) {
			r.wakeAutomatic()
			b.run(time.Second, r)
			// The scheduler counts what placeholders hold as used.
			if of, ok := source.of["a"]; ok {
				of.Held = 2 * float64(len(b.placeholders(tb)))
				source.of["a"] = of
			}
		}
	}
	fresh := func() string {
		c := meta.FindStatusCondition(b.get(tb).Status.Conditions, v1alpha1.TestbedSignalsFresh)
		return string(c.Status)
	}
	run(60 * time.Second)
	check(t, "slots of a silent node", len(b.placeholders(tb)), 0)
	check(t, "fresh", fresh(), "False")
	if age := testutil.ToFloat64(r.metrics.signalAge.WithLabelValues("lab/small")); age < 50 || age > 61 {
		t.Errorf("signals are %v s old", age)
	}

	source.of["a"] = room.Reading{Avail: 5, Fresh: true}
	run(60 * time.Second)
	check(t, "slots where the cost is not known", len(b.placeholders(tb)), 0)
	check(t, "fresh", fresh(), "True")
	check(t, "node", b.get(tb).Status.Nodes[0].Reason, reasonUnknownCost)

	source.of["a"] = room.Reading{Avail: 5, Fresh: true, CostKnown: true}
	run(29 * time.Second)
	check(t, "slots before growAfter", len(b.placeholders(tb)), 0)
	run(3 * time.Second)
	check(t, "slots after growAfter", len(b.placeholders(tb)), 1)
	run(300 * time.Second)
	check(t, "slots in the end", b.placeholders(tb), []string{"a/0", "a/1"})

	// Another controller leaves them unchanged, even without readings.
	known := source.of["a"]
	delete(source.of, "a")
	r = b.replica()
	run(60 * time.Second)
	check(t, "slots after a restart", b.placeholders(tb), []string{"a/0", "a/1"})
	check(t, "fresh", fresh(), "False")

	known.Saturated = true
	source.of["a"] = known
	run(20 * time.Second)
	check(t, "slots of a full node", len(b.placeholders(tb)), 0)
}

// named returns the pods that the Testbed's status names, by slot.
func (b *bed) named(tb *v1alpha1.Testbed) []string {
	b.t.Helper()
	var slots []string
	for _, uid := range strings.Fields(b.get(tb).Status.Placeholders) {
		slots = append(slots, b.pods()[slices.IndexFunc(b.pods(), func(p *corev1.Pod) bool { return string(p.UID) == uid })].Annotations[v1alpha1.AnnotationSlot])
	}
	return slots
}

// The status names exactly the pods that reserve slots.
func TestPlaceholdersAreNamed(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	b.node("b", "2")
	tb := b.testbed("small", 2)
	forged := func(name, namespace string, id slot.ID) {
		b.create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name,
				Labels:      map[string]string{v1alpha1.LabelRole: v1alpha1.RolePlaceholder, v1alpha1.LabelTestbedUID: string(tb.UID)},
				Annotations: map[string]string{v1alpha1.AnnotationSlot: id.String(), v1alpha1.AnnotationSize: "x"},
			},
			Spec: corev1.PodSpec{NodeName: id.Node},
		})
	}
	first := slot.ID{Node: "a"}
	forged("mine", "lab", first)
	forged("mine", "elsewhere", first)
	forged(slot.PlaceholderName(string(tb.UID), first), "elsewhere", first)
	r := b.replica()
	b.run(3*time.Second, r)
	check(t, "named", b.named(tb), []string{"a/0", "b/0", "a/1", "b/1"})
	check(t, "counts", b.get(tb).Status.Counts, v1alpha1.SlotCounts{Slots: 4, Free: 4})

	// A job's pod replaces a placeholder, which comes back when the job has ended.
	job := b.job("one")
	b.scheduling(tb, "s", "one")
	b.run(time.Second, r)
	pod := b.enter(tb, job, first)
	b.run(2*time.Second, r)
	check(t, "named beside a job's pod", b.named(tb), []string{"b/0", "a/1", "b/1"})
	b.delete(pod)
	b.delete(job)
	b.run(5*time.Second, r)
	check(t, "named after it", b.named(tb), []string{"a/0", "b/0", "a/1", "b/1"})

	// Another controller names the same pods, and writes nothing.
	before := b.writes["status Testbed"]
	b.run(3*time.Second, b.replica())
	check(t, "writes of another controller", b.writes["status Testbed"]-before, 0)
	b.delete(tb)
	b.run(3*time.Second, r)
	check(t, "Testbeds", len(b.testbeds()), 0)
}

// The largest Testbed names all its placeholders within an object's size limit.
func TestPlaceholdersOfTheLargestTestbed(t *testing.T) {
	const uid = "01234567-89ab-4def-8123-456789abcdef"
	crds := v1alpha1.CRDs()
	bound := fmt.Sprintf("maxLength: %d", v1alpha1.MaxPlaceholders*len(uid+" "))
	if !slices.ContainsFunc(crds, func(crd []byte) bool { return strings.Contains(string(crd), bound) }) {
		t.Errorf("no definition has %s", bound)
	}
	s := newTestbedState("bed")
	for i := range v1alpha1.MaxPlaceholders + 1 {
		id := slot.ID{Node: fmt.Sprint("n", i)}
		if err := s.table.Observe(slot.Pod{UID: fmt.Sprintf("%s%06d", uid[:30], i), Name: "g", Namespace: "lab", Slot: id, Node: id.Node}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	text := s.placeholders()
	if n := len(strings.Fields(text)); n != v1alpha1.MaxPlaceholders || len(text) > v1alpha1.MaxPlaceholders*len(uid+" ") {
		t.Errorf("%d pods in %d bytes", n, len(text))
	}
}

// A deleted Testbed waits for its claims, and leaves no placeholder behind.
func TestDeleting(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 2)
	r := b.replica()
	b.run(2*time.Second, r)
	job := b.job("one")
	b.scheduling(tb, "s", "one")
	b.run(2*time.Second, r)
	b.delete(tb)
	b.job("two")
	b.scheduling(tb, "late", "two")
	b.run(3*time.Second, r)
	got := b.get(tb)
	if !meta.IsStatusConditionTrue(got.Status.Conditions, v1alpha1.TestbedDeleting) {
		t.Errorf("conditions: %v", got.Status.Conditions)
	}
	for kind, want := range map[string]string{
		v1alpha1.TestbedReady:    "Deleting: the Testbed is being deleted: it waits for 1 job with slots to be released: lab/one (1 slot)",
		v1alpha1.TestbedDeleting: "WaitingForClaims: it waits for 1 job with slots to be released: lab/one (1 slot)",
	} {
		if c := meta.FindStatusCondition(got.Status.Conditions, kind); c.Reason+": "+c.Message != want {
			t.Errorf("%s: %s: %s, want %s", kind, c.Reason, c.Message, want)
		}
	}
	check(t, "claims", claims(got), map[string][]string{"lab/one": {"a/0"}})
	check(t, "placeholders while claimed", b.placeholders(tb), []string{"a/0"})
	b.free(tb, job.UID)
	b.run(3*time.Second, r)
	check(t, "Testbeds", len(b.testbeds()), 0)
	check(t, "placeholders", len(b.pods()), 0)
	if n := testutil.CollectAndCount(r.metrics.slots); n != 0 {
		t.Errorf("%d series of a Testbed that is gone", n)
	}
}

// All grants are one write; after a conflict the controller starts from the newer state.
func TestGrants(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 4)
	r := b.replica()
	b.run(2*time.Second, r)
	var uids []types.UID
	for _, name := range []string{"one", "two", "three", "four"} {
		uids = append(uids, b.job(name).UID)
	}
	b.job("never")
	b.scheduling(tb, "first", "one", "one")
	b.scheduling(tb, "second", "two")
	b.scheduling(tb, "third", "three", "three", "four")
	b.scheduling(tb, "bad", "never")
	before := b.writes["status Testbed"]
	lost := false
	b.fault = func(verb string, o client.Object) error {
		if verb == "status" && !lost {
			lost = true
			return apierrors.NewConflict(schema.GroupResource{Resource: "testbeds"}, o.GetName(), errors.New("another was first"))
		}
		return nil
	}
	b.run(300*time.Millisecond, r)
	got := b.get(tb)
	check(t, "claims", claims(got), map[string][]string{"lab/one": {"a/0", "a/1"}, "lab/two": {"a/2"}})
	check(t, "counts", got.Status.Counts, v1alpha1.SlotCounts{Slots: 4, Free: 1, Reserved: 3})
	check(t, "writes", b.writes["status Testbed"]-before, 1)
	check(t, "granted", testutil.ToFloat64(r.metrics.claims.WithLabelValues("granted")), 2.)
	check(t, "conflicts", testutil.ToFloat64(r.metrics.claims.WithLabelValues("conflict")), 1.)
	check(t, "waits", testutil.CollectAndCount(r.metrics.claimSeconds), 1)
	c := got.Status.Claims[0]
	if c.BatchJobUID != uids[0] || c.Scheduling != "lab/first" || c.SchedulingUID == "" || c.Since.IsZero() {
		t.Errorf("claim %+v", c)
	}
	// The slots that an earlier Scheduling waits for are withheld from later ones.
	b.free(tb, uids[1])
	edit(b, b.jobs()[slices.IndexFunc(b.jobs(), func(j *v1alpha1.BatchJob) bool { return j.Name == "two" })], func(*v1alpha1.BatchJob) {})
	status(b, &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "two"}}, func(j *v1alpha1.BatchJob) { j.Status.State = done })
	b.run(time.Second, r)
	check(t, "claims", claims(b.get(tb)), map[string][]string{"lab/one": {"a/0", "a/1"}, "lab/three": {"a/2", "a/3"}})
}

// The claim of a deleted job ends with its last pod.
func TestOrphans(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 1)
	r := b.replica()
	b.run(2*time.Second, r)
	job := b.job("one")
	b.scheduling(tb, "s", "one")
	b.run(time.Second, r)
	pod := b.enter(tb, job, slot.ID{Node: "a"})
	b.delete(job)
	b.run(3*time.Second, r)
	check(t, "claims while its pod is there", len(b.get(tb).Status.Claims), 1)
	b.delete(pod)
	b.run(time.Second, r)
	check(t, "claims", len(b.get(tb).Status.Claims), 0)
	check(t, "orphaned", testutil.ToFloat64(r.metrics.claims.WithLabelValues("orphaned")), 1.)
}

// A lagging cache does not end a claim.
func TestOrphansAreAskedFor(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 1)
	r := b.replica()
	b.run(2*time.Second, r)
	b.job("one")
	b.scheduling(tb, "s", "one")
	b.run(time.Second, r)
	r = b.replica()
	for key := range r.seen {
		if key.kind == "BatchJob" || key.kind == "Scheduling" {
			delete(r.seen, key)
		}
	}
	if err := r.reconcile(client.ObjectKeyFromObject(tb)); err != nil {
		t.Fatal(err)
	}
	check(t, "claims", len(b.get(tb).Status.Claims), 1)
}

// An exclusive Scheduling has the Testbed alone until it has ended.
func TestExclusive(t *testing.T) {
	for name, end := range map[string]func(*bed, *v1alpha1.Scheduling){
		"completed": func(b *bed, s *v1alpha1.Scheduling) {
			status(b, s, func(s *v1alpha1.Scheduling) { s.Status.State = v1alpha1.SchedulingCompleted })
		},
		"deleted": func(b *bed, s *v1alpha1.Scheduling) { b.delete(s) },
		"shares again": func(b *bed, s *v1alpha1.Scheduling) {
			edit(b, s, func(s *v1alpha1.Scheduling) { s.Spec.Exclusive = false })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.node("a", "1")
			tb := b.testbed("small", 2)
			r := b.replica()
			b.run(2*time.Second, r)
			one := b.job("one")
			b.job("two")
			s := b.scheduling(tb, "alone", "one")
			edit(b, s, func(s *v1alpha1.Scheduling) { s.Spec.Exclusive = true })
			b.now = b.now.Add(2 * time.Second)
			b.scheduling(tb, "other", "two")
			b.run(time.Second, r)
			check(t, "exclusive", b.get(tb).Status.ExclusiveFor, s.UID)
			check(t, "claims", claims(b.get(tb)), map[string][]string{"lab/one": {"a/0"}})
			status(b, one, func(j *v1alpha1.BatchJob) { j.Status.State = done })
			b.run(time.Second, r)
			check(t, "exclusive while it has slots", b.get(tb).Status.ExclusiveFor, s.UID)
			b.free(tb, one.UID)
			end(b, s)
			b.run(time.Second, r)
			check(t, "claims afterwards", claims(b.get(tb)), map[string][]string{"lab/two": {"a/0"}})
			check(t, "exclusive afterwards", b.get(tb).Status.ExclusiveFor, types.UID(""))
		})
	}
}

// Only namespaces that the Testbed admits get slots.
func TestConsent(t *testing.T) {
	b := newBed(t)
	b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"use": "yes"}}})
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"use": "yes"}}
	for _, test := range []struct {
		consent   v1alpha1.AllowedNamespaces
		namespace string
		want      bool
	}{
		{v1alpha1.AllowedNamespaces{}, "lab", true},
		{v1alpha1.AllowedNamespaces{From: v1alpha1.FromSame}, "lab", true},
		{v1alpha1.AllowedNamespaces{From: v1alpha1.FromSame}, "team", false},
		{v1alpha1.AllowedNamespaces{}, "team", false},
		{v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}, "team", true},
		{v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: selector}, "team", true},
		{v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: selector}, "lab", true},
		{v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: selector}, "nowhere", false},
		{v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector}, "team", false},
		{v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "use", Operator: "Strange"}},
		}}, "team", false},
	} {
		got, err := allowed(t.Context(), b.api, &test.consent, "lab", test.namespace)
		if err != nil || got != test.want {
			t.Errorf("%+v, %s: %v, %v", test.consent, test.namespace, got, err)
		}
	}

	b.node("a", "1")
	tb := b.testbed("small", 1)
	b.job("one")
	s := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s"}}
	s.Spec.Testbed = v1alpha1.TestbedReference{Namespace: "lab", Name: "small"}
	s.Spec.QueueBased = []v1alpha1.JobReference{{Name: "one"}}
	b.create(s)
	r := b.replica()
	b.run(2*time.Second, r)
	check(t, "claims", len(b.get(tb).Status.Claims), 0)
	edit(b, tb, func(tb *v1alpha1.Testbed) {
		tb.Spec.AllowedNamespaces = v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"use": "later"}}}
	})
	b.run(2*time.Second, r)
	check(t, "claims", len(b.get(tb).Status.Claims), 0)
	edit(b, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, func(n *corev1.Namespace) { n.Labels["use"] = "later" })
	b.run(15*time.Second, r)
	check(t, "claims with consent", len(b.get(tb).Status.Claims), 1)
}

// Without events nothing is written, and thousands of placeholders are a few writes of the status.
func TestWritesAreFew(t *testing.T) {
	b := newBed(t)
	for i := range 10 {
		b.node(fmt.Sprintf("n%d", i), fmt.Sprint(i))
	}
	b.testbed("small", 4)
	r := b.replica()
	for range 100 {
		r.turn()
		bound := 0
		b.bind(func(*corev1.Pod) bool { bound++; return bound == 1 })
		b.now = b.now.Add(50 * time.Millisecond)
	}
	if n := b.writes["status Testbed"]; n < 2 || n > 7 {
		t.Errorf("%d writes of the status while 40 placeholders were bound in 2 s, and 3 s of quiet", n)
	}
	b.run(3*time.Second, r)
	check(t, "placeholders created", b.writes["create Pod"], 40)
	before := b.total()
	for name := range r.states {
		r.wake(name, 0)
	}
	b.run(300*time.Second, r)
	check(t, "writes in quiet", b.total(), before)
	check(t, "looks to come", len(r.due), 0)
}

// While the API server refuses placeholders, it gets few requests, and all placeholders are created
// soon after it accepts one.
func TestRefusedPlaceholders(t *testing.T) {
	b := newBed(t)
	for i := range 10 {
		b.node(fmt.Sprintf("n%d", i), fmt.Sprint(i))
	}
	tb := b.testbed("small", 15)
	refused, full := 0, true
	b.fault = func(verb string, o client.Object) error {
		if _, ok := o.(*corev1.Pod); ok && verb == "create" && full {
			refused++
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, o.GetName(), errors.New("exceeded quota: placeholders"))
		}
		return nil
	}
	r := b.replica()
	b.run(60*time.Second, r)
	if refused > 160 {
		t.Errorf("%d requests in a minute", refused)
	}
	got := b.get(tb)
	check(t, "ready", ready(got), v1alpha1.ReasonWaitingForCapacity)
	if c := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.TestbedReady); !strings.Contains(c.Message, "exceeded quota: placeholders") {
		t.Errorf("message: %s", c.Message)
	}
	check(t, "failed", testutil.ToFloat64(r.metrics.placeholders.WithLabelValues("create", "failed")), float64(refused))
	full = false
	b.run(35*time.Second, r)
	check(t, "placeholders", len(b.placeholders(tb)), 150)
	check(t, "ready", ready(b.get(tb)), v1alpha1.ReasonSlotsReady)
}

// A lost answer and a lagging watch make no second placeholder.
func TestLostAnswers(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 3)
	b.fault = func(verb string, o client.Object) error {
		if _, ok := o.(*corev1.Pod); ok && verb == "create" {
			return errLost
		}
		return nil
	}
	r := b.replica()
	b.run(5*time.Second, r)
	check(t, "placeholders", b.placeholders(tb), []string{"a/0", "a/1", "a/2"})
	check(t, "placeholders created", b.writes["create Pod"], 3)

	// A controller whose watches show nothing asks the API server, and finds the placeholders.
	b.fault = func(string, client.Object) error { return nil }
	r = b.replica()
	for key := range r.seen {
		if key.kind == "Pod" {
			delete(r.seen, key)
		}
	}
	if err := r.reconcile(client.ObjectKeyFromObject(tb)); err != nil {
		t.Fatal(err)
	}
	check(t, "requests", len(r.queue), 3)
	r.drain()
	check(t, "failed", testutil.ToFloat64(r.metrics.placeholders.WithLabelValues("create", "failed")), 0.)
	check(t, "placeholders created", b.writes["create Pod"], 3)
	check(t, "asked again at once", r.ask(tb), 0)
}

// ask reconciles a Testbed, and returns the number of requests that follow.
func (r *replica) ask(tb *v1alpha1.Testbed) int {
	if err := r.reconcile(client.ObjectKeyFromObject(tb)); err != nil {
		r.bed.t.Fatal(err)
	}
	return len(r.queue)
}

// A Testbed with the name of a deleted one is another Testbed.
func TestAnotherOfTheName(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	old := b.testbed("small", 2)
	r := b.replica()
	b.run(2*time.Second, r)
	edit(b, old, func(tb *v1alpha1.Testbed) { tb.Finalizers = nil })
	b.delete(old)
	b.testbed("small", 1)
	for _, p := range b.pods() { // the garbage collector's work
		b.delete(p)
	}
	b.run(3*time.Second, r)
	tb := b.testbeds()[0]
	check(t, "placeholders", b.placeholders(tb), []string{"a/0"})
	check(t, "counts", tb.Status.Counts, v1alpha1.SlotCounts{Slots: 1, Free: 1})
}

// A value out of range is refused with the field's name.
func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"Namespaces": {Namespaces: []string{"a", "a"}},
	} {
		var refused *field.Error
		if err := o.Validate(); !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Options{Namespaces: []string{"a", "b"}}).Validate(); err != nil {
		t.Error(err)
	}
}

// metric is an entry of cmd/deploy/observe/metrics.json, which the dashboards are checked against.
type metric struct {
	Type   string   `json:"type"`
	Labels []string `json:"labels"`
	Help   string   `json:"help"`
}

// elsewhere holds the metrics of test beds that the scheduler, the interface and the server export:
// packages plugin/slots, external/server and api/kube/server test them.
var elsewhere = []string{
	"spazio_testbed_swap_seconds", "spazio_testbed_events_total", "spazio_testbed_requests_total", "spazio_testbed_watchers",
	"spazio_testbed_refused_callers_total",
}

// documented returns the metrics of test beds that this package exports.
func documented(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile("../../cmd/deploy/observe/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]metric
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all, func(name string, _ metric) bool {
		return !strings.HasPrefix(name, "spazio_testbed_") || slices.Contains(elsewhere, name)
	})
	return all
}

// shown returns the metrics that have a series.
func shown(t *testing.T, g prometheus.Gatherer) map[string]metric {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]metric{}
	for _, f := range families {
		m := metric{Type: strings.ToLower(f.GetType().String()), Labels: []string{}, Help: f.GetHelp()}
		for _, pair := range f.GetMetric()[0].GetLabel() {
			m.Labels = append(m.Labels, pair.GetName())
		}
		slices.Sort(m.Labels)
		all[f.GetName()] = m
	}
	return all
}

// Each metric is exported as in cmd/deploy/observe/metrics.json, there are no others, and all
// follow Prometheus' rules.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.slots.WithLabelValues("a/b", "free").Set(1)
	m.placeholders.WithLabelValues("create", "missing").Inc()
	m.claims.WithLabelValues("granted").Inc()
	m.signalAge.WithLabelValues("a/b").Set(1)
	m.runs.WithLabelValues("Job", "Succeeded").Inc()
	m.schedulingSeconds.WithLabelValues("Acquiring").Observe(1)
	if diff := cmp.Diff(documented(t), shown(t, registry)); diff != "" {
		t.Errorf("cmd/deploy/observe/metrics.json differs (-it +shown):\n%s", diff)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// A placeholder is not deleted in place of another that had its name.
func TestAnotherPlaceholderOfTheName(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 1)
	r := b.replica()
	b.run(2*time.Second, r)
	edit(b, tb, func(tb *v1alpha1.Testbed) { tb.Spec.SlotsPerNode = intstr.FromInt(0) })
	r.show(func(client.Object) bool { return true })
	check(t, "requests", r.ask(tb), 1)
	old := b.pods()[0]
	b.delete(old)
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, Labels: old.Labels, Annotations: old.Annotations}}
	b.create(other)
	r.drain()
	check(t, "placeholders", len(b.pods()), 1)
	check(t, "failed", testutil.ToFloat64(r.metrics.placeholders.WithLabelValues("delete", "failed")), 0.)
}

// A controller continues from its own writes, although no watch has shown them yet.
func TestOwnWrites(t *testing.T) {
	b := newBed(t)
	b.node("a", "1")
	tb := b.testbed("small", 1)
	r := b.replica()
	b.run(2*time.Second, r)
	b.job("one")
	b.scheduling(tb, "s", "one")
	r.show(func(client.Object) bool { return true })
	r.ask(tb)
	check(t, "claims", len(b.get(tb).Status.Claims), 1)
	before := b.total()
	r.ask(tb)
	check(t, "writes", b.total(), before)
	check(t, "conflicts", testutil.ToFloat64(r.metrics.claims.WithLabelValues("conflict")), 0.)
	check(t, "granted", testutil.ToFloat64(r.metrics.claims.WithLabelValues("granted")), 1.)
}
