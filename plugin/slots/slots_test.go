package slots_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/slots"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pair returns a world of two nodes of 2 cores with two slots of 1 core each, their placeholders, and
// the job crawler, which requests all four. The first slots of the nodes come first, as in any Testbed.
func pair(t testing.TB) *world {
	w := newWorld(t)
	w.node("a", "cpu 2 memory 2Gi")
	w.node("b", "cpu 2 memory 2Gi")
	w.placeholders("cpu 1 memory 1Gi", "a/0", "a/1", "b/0", "b/1")
	w.jobs.put(jobOf("crawler", 1, "cpu 1 memory 1Gi", "a/0", "b/0", "a/1", "b/1"))
	w.start()
	return w
}

// submit creates a pod for one of the crawler's slots.
func (w *world) submit(name, requests string) *v1.Pod { return w.put(podOf("crawler", name, requests)) }

// TestSlotsInOrder: pods get a job's slots in the order of the request, each replacing its placeholder,
// and no other pod is affected.
func TestSlotsInOrder(t *testing.T) {
	w := pair(t)
	other := podOf("crawler", "bystander", "")
	other.Labels, other.Spec.NodeName = nil, "a"
	w.put(other)
	for i, want := range []string{"a/0", "b/0", "a/1", "b/1"} {
		if got := w.place(w.submit(fmt.Sprint("pod-", i), "cpu 1 memory 1Gi")); got != want {
			t.Fatalf("pod %d is in %q, want %s", i, got, want)
		}
		if got, want := w.gone(), []string{"placeholder-" + strings.ReplaceAll(want, "/", "-") + " grace 0"}; !slices.Equal(got, want) {
			t.Errorf("pod %d: got deleted placeholder %q, want %q", i, got, want)
		}
	}
	if got := w.place(w.submit("late", "cpu 1")); got != "all 4 slots of default/crawler are taken" {
		t.Errorf("fifth pod: got %q", got)
	}
	if w.current("default", "bystander") == nil {
		t.Error("a pod that is no placeholder was deleted")
	}
	elsewhere := w.put(placeholderOf("b/1", "cpu 1"))
	for slot, want := range map[string]string{"a/1": "a pod is in the slot a/1", "b/1": "a pod is in the slot b/1"} {
		if got := w.place(w.put(placeholderOf(slot, "cpu 1"))); got != want {
			t.Errorf("a placeholder: %q", got)
		}
	}
	w.woken()
	// kube-scheduler's own handler may have tried them before the table was filled.
	w.remove(w.current("default", "pod-2"), false)
	if got := w.woken(); !slices.Equal(got, []string{"late", "placeholder-a-1"}) {
		t.Errorf("end of the pod in a/1: got activated %q", got)
	}
	w.remove(elsewhere, false)
	if got := w.place(w.submit("next", "cpu 1")); got != "a/1" {
		t.Errorf("after the end of a pod: got slot %q for the next", got)
	}
}

// TestMessages checks the message of each pod without a slot.
func TestMessages(t *testing.T) {
	w := newWorld(t)
	w.node("a", "cpu 2 memory 2Gi example.com/gpu 1")
	w.placeholders("cpu 1 memory 1Gi", "a/0", "a/1")
	for _, j := range []struct {
		name string
		ids  []string
	}{{"crawler", []string{"a/0", "b/0"}}, {"single", []string{"a/1"}}, {"four", []string{"a/10", "a/11", "a/12", "a/13"}}, {"elsewhere", []string{"x/0", "x/1", "a/20"}}} {
		w.jobs.put(jobOf(j.name, 1, "cpu 1 memory 1Gi example.com/gpu 1", j.ids...))
	}
	idle := jobOf("idle", 1, "")
	delete(idle.Object, "status")
	w.jobs.put(idle)
	foreign := jobOf("foreign", 1, "cpu 1", "a/0")
	foreign.SetNamespace("other")
	w.jobs.put(foreign)
	for i := range 4 {
		w.put(bound(podOf("four", fmt.Sprint("in-", i), ""), fmt.Sprint("a/1", i)))
	}
	w.put(bound(podOf("single", "in-single", ""), "a/1"))
	w.put(bound(podOf("elsewhere", "in-elsewhere", ""), "a/20"))
	w.start()
	with := func(pod *v1.Pod, label, value string) *v1.Pod {
		pod.Labels[label] = value
		return pod
	}
	var text strings.Builder
	for _, c := range []struct {
		about string
		pod   *v1.Pod
	}{
		{"a pod without a testbed", with(podOf("crawler", "p", ""), slots.LabelRole, "")},
		{"without a job", with(podOf("crawler", "p", ""), slots.LabelBatchJobUID, "")},
		{"of an unknown job", podOf("unknown", "p", "")},
		{"of another namespace's job", podOf("foreign", "p", "")},
		{"of a job without slots", podOf("idle", "p", "")},
		{"of an earlier attempt", with(podOf("crawler", "p", ""), slots.LabelAttempt, "0")},
		{"without an attempt", with(podOf("crawler", "p", ""), slots.LabelAttempt, "")},
		{"for another testbed", with(podOf("crawler", "p", ""), slots.LabelTestbedUID, "beef")},
		{"too large", podOf("crawler", "p", "cpu 1500m memory 1025Mi example.com/gpu 2")},
		{"beyond one slot", podOf("single", "p", "")},
		{"beyond all slots", podOf("four", "p", "")},
		{"with slots on lost nodes", podOf("elsewhere", "p", "")},
		{"a placeholder of a slot that a pod is in", placeholderOf("a/1", "cpu 1")},
		{"with a resource that the node lacks", podOf("crawler", "p", "cpu 1 ephemeral-storage 1Gi")},
	} {
		w.put(c.pod)
		_, _, status := w.try(c.pod)
		fmt.Fprintf(&text, "%s: %v: %s\n", c.about, status.Code(), reasons(status))
		w.remove(c.pod, false)
	}
	const golden = "testdata/messages.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func reasons(status *fwk.Status) string {
	if status == nil {
		return ""
	}
	return strings.Join(status.Reasons(), ", ")
}

// TestFit: a slot's pod may use the room of its own placeholder, and of no other.
func TestFit(t *testing.T) {
	for name, c := range map[string]struct {
		// node is its allocatable, on the names and requests of other pods on it, which may be
		// placeholders of slots.
		node, placeholder string
		on                map[string]string
		requests, want    string
	}{
		"in the room of its placeholder":            {node: "cpu 1 memory 1Gi", placeholder: "cpu 1 memory 1Gi", requests: "cpu 1 memory 1Gi"},
		"larger than its placeholder":               {node: "cpu 1", placeholder: "cpu 500m", requests: "cpu 501m", on: map[string]string{"x": "cpu 500m"}, want: "Insufficient cpu"},
		"as large as the remaining room":            {node: "cpu 1", placeholder: "cpu 500m", requests: "cpu 500m", on: map[string]string{"x": "cpu 500m"}},
		"beside another placeholder":                {node: "cpu 1", placeholder: "cpu 500m", requests: "cpu 600m", on: map[string]string{"a/1": "cpu 500m"}, want: "Insufficient cpu"},
		"without a placeholder":                     {node: "cpu 1", requests: "cpu 500m", on: map[string]string{"x": "cpu 501m"}, want: "Insufficient cpu"},
		"without a placeholder, with room":          {node: "cpu 1", requests: "cpu 500m", on: map[string]string{"x": "cpu 500m"}},
		"its place in the pod limit":                {node: "pods 2 cpu 1", placeholder: "cpu 1", requests: "cpu 1", on: map[string]string{"x": ""}},
		"too many pods":                             {node: "pods 2 cpu 1", requests: "", on: map[string]string{"x": "", "y": ""}, want: "Too many pods"},
		"no request on a full node":                 {node: "cpu 1", requests: "", on: map[string]string{"x": "cpu 2"}},
		"an unknown resource":                       {node: "cpu 1", requests: "example.com/gpu 1", want: "Insufficient example.com/gpu"},
		"the placeholder's device":                  {node: "cpu 1 example.com/gpu 1", placeholder: "example.com/gpu 1", requests: "example.com/gpu 1"},
		"every reason, in one order":                {node: "pods 0", requests: "example.com/b 1 example.com/a 1 memory 1 cpu 1 ephemeral-storage 1", want: "Too many pods, Insufficient cpu, Insufficient memory, Insufficient ephemeral-storage, Insufficient example.com/a, Insufficient example.com/b"},
		"more cores than can be counted":            {node: "cpu 1", requests: "cpu 9E", want: "Insufficient cpu"},
		"more bytes than can be counted":            {node: "cpu 1 memory 1Gi", requests: "memory 9000E", want: "Insufficient memory"},
		"a resource that no node counts":            {node: "cpu 1", requests: "cpu 1 storage 1Gi"},
		"beside a swap in progress":                 {node: "cpu 2", placeholder: "cpu 1", requests: "cpu 1", on: map[string]string{"a/1": "cpu 1", "in a/1": "cpu 1"}},
		"beside a swap of a small pod":              {node: "cpu 2", requests: "cpu 1100m", on: map[string]string{"a/1": "cpu 1", "in a/1": "cpu 500m"}, want: "Insufficient cpu"},
		"beside a swap of no placeholder":           {node: "cpu 2", requests: "cpu 1100m", on: map[string]string{"in a/1": "cpu 1"}, want: "Insufficient cpu"},
		"pods of a swap count for one":              {node: "pods 2 cpu 1", requests: "", on: map[string]string{"a/1": "", "in a/1": ""}},
		"pods of a swap count for at least one":     {node: "pods 1 cpu 1", requests: "", on: map[string]string{"a/1": "", "in a/1": ""}, want: "Too many pods"},
		"in the room of another placeholder beside": {node: "cpu 2", placeholder: "cpu 1", requests: "cpu 1", on: map[string]string{"a/1": "cpu 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("a", c.node)
			if c.placeholder != "" {
				w.placeholders(c.placeholder, "a/0")
			}
			for on, requests := range c.on {
				switch slot, in := strings.CutPrefix(on, "in "); {
				case in:
					w.put(bound(podOf("crawler", "tenant", requests), slot))
				case strings.Contains(on, "/"):
					w.placeholders(requests, on)
				default:
					pod := podOf("crawler", on, requests)
					pod.Labels, pod.Spec.NodeName = nil, "a"
					w.put(pod)
				}
			}
			w.jobs.put(jobOf("crawler", 1, "", "a/0"))
			w.start()
			_, _, status := w.try(w.submit("pod", c.requests))
			if got := reasons(status); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestPlaceholders: placeholders are placed as any pod, in the available room.
func TestPlaceholders(t *testing.T) {
	w := newWorld(t)
	w.node("a", "cpu 2")
	w.start()
	placeholder := w.put(placeholderOf("a/0", "cpu 1500m"))
	if got := w.place(placeholder); got != "a/0" || w.current("lab", placeholder.Name).Spec.NodeName != "a" {
		t.Errorf("got placeholder in %q", got)
	}
	if got := w.place(w.put(placeholderOf("a/1", "cpu 1"))); got != "Insufficient cpu" {
		t.Errorf("second placeholder: got %q", got)
	}
	if gone := w.gone(); gone != nil {
		t.Errorf("placeholders displaced %q", gone)
	}
}

// TestRace: of two pods that found the same slot one gets it, and the other is tried again at once.
func TestRace(t *testing.T) {
	w := pair(t)
	w.jobs.put(jobOf("crawler", 1, "cpu 1 memory 1Gi", "b/1"))
	first, second := w.submit("first", "cpu 1"), w.submit("second", "cpu 1")
	var states [2]*cycleState
	eventually(t, "both find the only slot", func() bool {
		for i, pod := range []*v1.Pod{first, second} {
			state, node, status := w.find(pod)
			if !status.IsSuccess() || node != "b" {
				return false
			}
			states[i] = state
		}
		return true
	})
	if status := w.Reserve(t.Context(), states[0], first, "b"); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	w.woken()
	status := w.Reserve(t.Context(), states[1], second, "b")
	if status.Code() != fwk.Unschedulable || status.Message() != "the slot b/1 has been taken meanwhile" {
		t.Errorf("second pod: got %v", status)
	}
	if woken := w.woken(); !slices.Equal(woken, []string{"second"}) {
		t.Errorf("activated %q", woken)
	}
	w.Unreserve(t.Context(), states[1], second, "b")
	if _, _, status := w.find(second); status.Message() != "the slot of default/crawler is taken" {
		t.Errorf("the second pod freed the slot: %v", status)
	}
	w.Unreserve(t.Context(), states[0], first, "b")
	if _, node, status := w.find(second); !status.IsSuccess() || node != "b" {
		t.Errorf("after the first released it: got %q, %v", node, status)
	}
}

var internal = apierrors.NewInternalError(errors.New("etcd is away"))

// TestFailedBind: a pod whose placeholder is deleted and whose bind failed keeps its slot, and the
// metric counts how long no pod held the slot.
func TestFailedBind(t *testing.T) {
	w := pair(t)
	before := swaps(t)
	w.noBind = []error{internal}
	pod, sibling := w.submit("pod", "cpu 1"), w.submit("sibling", "cpu 1")
	if got := w.place(pod); !strings.Contains(got, "etcd is away") {
		t.Fatalf("the API refused the bind: got slot %q", got)
	}
	if got := w.gone(); len(got) != 1 {
		t.Fatalf("deleted %q", got)
	}
	if got := swaps(t); got != before {
		t.Errorf("a failed swap was counted: got %v, want %v", got, before)
	}
	w.advance(3 * time.Second)
	if got := w.place(sibling); got != "b/0" {
		t.Errorf("got a sibling in %q although a/0 is reserved", got)
	}
	if got := w.place(pod); got != "a/0" {
		t.Errorf("second attempt: got slot %q", got)
	}
	if got := swaps(t); got.count != before.count+2 || got.sum != before.sum+3 {
		t.Errorf("got swaps %+v after %+v, want one more of 3 s and one of 0 s", got, before)
	}
}

// TestReservedSlotComesFirst: a pod gets the slot whose placeholder was deleted for it, even if an
// earlier one is free meanwhile.
func TestReservedSlotComesFirst(t *testing.T) {
	w := pair(t)
	first, pod := w.submit("first", "cpu 1"), w.submit("pod", "cpu 1")
	w.place(first)
	w.noBind = []error{internal}
	w.place(pod)
	w.remove(first, false)
	if got := w.place(pod); got != "b/0" {
		t.Errorf("got slot %q, want the reserved b/0", got)
	}
	// The same holds on one node.
	third, fourth := w.submit("third", "cpu 1"), w.submit("fourth", "cpu 1")
	w.place(third)
	w.noBind = []error{internal}
	w.place(fourth)
	w.remove(w.current("default", "third"), true)
	if got := w.place(fourth); got != "a/1" {
		t.Errorf("fourth pod: got slot %q, want the reserved a/1", got)
	}
}

// row returns a world of nodes n00, n01, … with a slot each, and the crawler, which requests all of
// them.
func row(t testing.TB, nodes int) *world {
	w := newWorld(t)
	ids := make([]string, nodes)
	for i := range ids {
		node := fmt.Sprintf("n%02d", i)
		w.node(node, "cpu 1")
		ids[i] = node + "/0"
	}
	w.placeholders("cpu 1", ids...)
	w.jobs.put(jobOf("crawler", 1, "cpu 1", ids...))
	w.start()
	return w
}

// TestFirstNodes: a pod is tried on the nodes of a few slots, and on all only if none of those works.
func TestFirstNodes(t *testing.T) {
	w := row(t, 40)
	look := func(name, slot string, nodes int) {
		t.Helper()
		w.looked = 0
		if got := w.place(w.submit(name, "cpu 1")); got != slot || w.looked != nodes {
			t.Errorf("%s: got slot %q after %d nodes, want %s after %d", name, got, w.looked, slot, nodes)
		}
	}
	look("first", "n00/0", 16)
	look("second", "n01/0", 16)
	w.cordoned = map[string]bool{}
	for i := range 20 {
		w.cordoned[fmt.Sprintf("n%02d", i)] = true
	}
	look("third", "n20/0", 16+38) // of n02 to n17, then of all free ones
	look("fourth", "n21/0", 37)   // the first nodes' refusals are remembered
	w.remove(w.current("default", "first"), false)
	clear(w.cordoned)
	look("fifth", "n00/0", 37)

	// The memory is of one run only.
	var ids []string
	for i := range 40 {
		ids = append(ids, fmt.Sprintf("n%02d/0", i))
	}
	w.jobs.put(jobOf("crawler", 2, "cpu 1", ids...))
	pod := podOf("crawler", "sixth", "cpu 1")
	pod.Labels[slots.LabelAttempt] = "2"
	w.put(pod)
	eventually(t, "the next attempt's pod is tried", func() bool {
		w.looked = 0
		return w.place(pod) == "n02/0"
	})
	if w.looked != 16 {
		t.Errorf("next attempt: got %d tried nodes", w.looked)
	}
}

// TestNowhere: a pod that no node accepts is not tried for ever, and its slots are not granted again
// while nothing changes.
func TestNowhere(t *testing.T) {
	w := row(t, 20)
	w.cordoned = map[string]bool{}
	for name := range w.nodes {
		w.cordoned[name] = true
	}
	pod := w.submit("pod", "cpu 1")
	if got := w.place(pod); got != "cordoned" || w.looked != 16+20 {
		t.Errorf("got %q after %d nodes", got, w.looked)
	}
	w.looked = 0
	if got := w.place(pod); got != "cordoned" || w.looked != 20 || len(w.woken()) > 0 {
		t.Errorf("got %q after %d more nodes", got, w.looked)
	}
}

// TestReservedSlotIsFar: a slot that is reserved for a pod is among those tried, however many come
// before it.
func TestReservedSlotIsFar(t *testing.T) {
	w := row(t, 40)
	pod := w.submit("pod", "cpu 1")
	var before []*v1.Pod
	for i := range 30 {
		before = append(before, w.submit(fmt.Sprint("before-", i), "cpu 1"))
		w.place(before[i])
	}
	w.noBind = []error{internal}
	w.place(pod)
	for _, other := range before {
		w.remove(other, false)
	}
	w.looked = 0
	if got := w.place(pod); got != "n30/0" || w.looked != 17 {
		t.Errorf("got slot %q after %d nodes, want the reserved n30/0", got, w.looked)
	}
}

// TestReservedSlotIsNotLost: a slot reserved for a pod is free once the pod is gone, belongs to another
// run, or cannot use it any more.
func TestReservedSlotIsNotLost(t *testing.T) {
	fail := func(t *testing.T) (*world, *v1.Pod) {
		w := pair(t)
		w.jobs.put(jobOf("crawler", 1, "cpu 1", "a/0"))
		pod := w.submit("pod", "cpu 1")
		eventually(t, "the request has one slot", func() bool {
			w.noBind = []error{internal}
			w.place(pod)
			return w.current("lab", "placeholder-a-0") == nil && len(w.placesLeft(t)) == 0
		})
		w.woken()
		return w, pod
	}
	t.Run("the pod goes", func(t *testing.T) {
		w, pod := fail(t)
		next := w.submit("next", "cpu 1")
		if got := w.place(next); got != "the slot of default/crawler is taken" {
			t.Fatalf("next pod: got %q", got)
		}
		w.remove(pod, false)
		if woken := w.woken(); !slices.Equal(woken, []string{"next"}) {
			t.Errorf("activated %q", woken)
		}
		if got := w.place(next); got != "a/0" {
			t.Errorf("next pod: got %q", got)
		}
	})
	t.Run("the pod has gone before it was reserved", func(t *testing.T) {
		w := pair(t)
		pod := w.submit("pod", "cpu 1")
		state, node, _ := w.find(pod)
		w.remove(pod, false)
		if status := w.Reserve(t.Context(), state, pod, node); !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
		if status := w.bind(t.Context(), state, pod, node); status.IsSuccess() {
			t.Error("a deleted pod was bound")
		}
		if got := w.place(w.submit("next", "cpu 1")); got != "a/0" {
			t.Errorf("next pod: got slot %q", got)
		}
	})
	t.Run("another attempt", func(t *testing.T) {
		w, _ := fail(t)
		w.jobs.put(jobOf("crawler", 2, "cpu 1", "a/0"))
		next := podOf("crawler", "next", "cpu 1")
		next.Labels[slots.LabelAttempt] = "2"
		w.put(next)
		eventually(t, "the new attempt has the slot", func() bool { return w.place(next) == "a/0" })
	})
	t.Run("its node is lost", func(t *testing.T) {
		w := pair(t)
		w.noBind = []error{internal}
		pod := w.submit("pod", "cpu 1")
		w.place(pod)
		delete(w.nodes, "a")
		if got := w.place(pod); got != "b/0" {
			t.Errorf("got slot %q", got)
		}
	})
	t.Run("a placeholder comes back", func(t *testing.T) {
		w, pod := fail(t)
		again := placeholderOf("a/0", "cpu 1 memory 1Gi")
		again.UID = "another"
		if got := w.place(w.put(again)); got != "a/0" {
			t.Fatalf("placeholder: got %q", got)
		}
		if got := w.place(pod); got != "a/0" || w.current("lab", again.Name) != nil {
			t.Errorf("got slot %q beside the placeholder %v", got, w.current("lab", again.Name))
		}
	})
}

// placesLeft tries a pod repeatedly and returns the slots that it would get.
func (w *world) placesLeft(t *testing.T) []string {
	t.Helper()
	probe := w.submit("probe", "")
	state, node, status := w.try(probe)
	w.remove(probe, false)
	if !status.IsSuccess() {
		return nil
	}
	w.Unreserve(t.Context(), state, probe, node)
	return []string{node}
}

// TestDeletion: a missing placeholder is no error, another pod of its name is not deleted, and if the
// API does not answer the pod is not bound.
func TestDeletion(t *testing.T) {
	t.Run("not found", func(t *testing.T) {
		w := pair(t)
		w.noDelete = []error{apierrors.NewNotFound(podResource, "placeholder-a-0")}
		if got := w.place(w.submit("pod", "cpu 1")); got != "a/0" {
			t.Error(got)
		}
	})
	t.Run("another of its name", func(t *testing.T) {
		w := pair(t)
		pod := w.submit("pod", "cpu 1")
		w.noDelete = []error{apierrors.NewConflict(podResource, "placeholder-a-0", errors.New("the UID differs"))}
		if got := w.place(pod); got != "a/0" || w.current("lab", "placeholder-a-0") == nil {
			t.Error(got)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		w := pair(t)
		pod := w.submit("pod", "cpu 1")
		w.noDelete = []error{internal}
		got := w.place(pod)
		if !strings.Contains(got, "lab/placeholder-a-0 of the slot a/0") || !strings.Contains(got, "etcd is away") || w.current("default", "pod").Spec.NodeName != "" {
			t.Error(got)
		}
		if got := w.place(pod); got != "a/0" {
			t.Error(got)
		}
	})
}

// TestGraceful: the pod is bound once its slot's placeholder has ended, with a limit.
func TestGraceful(t *testing.T) {
	w := newWorld(t)
	w.args.Swap = config.SwapGraceful
	w.node("a", "cpu 2")
	w.placeholders("cpu 1", "a/0", "a/1")
	w.jobs.put(jobOf("crawler", 1, "cpu 1", "a/0"))
	w.start()
	pod := w.submit("pod", "cpu 1")
	state, node, status := w.try(pod)
	if !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopping"))
	if status := w.bind(ctx, state, pod, node); !strings.Contains(status.Message(), "stopping") {
		t.Errorf("cancelled context: got %v", status)
	}
	if got := w.gone(); !slices.Equal(got, []string{"placeholder-a-0 grace 1"}) {
		t.Errorf("deleted %q", got)
	}
	if state, node, status = w.try(pod); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	ended := make(chan *fwk.Status)
	go func() { ended <- w.bind(t.Context(), state, pod, node) }()
	eventually(t, "the placeholder is being deleted", func() bool { return len(w.gone()) == 1 })
	other := placeholderOf("a/1", "")
	w.remove(other, false) // another pod
	select {
	case status := <-ended:
		t.Fatalf("bound beside the placeholder: %v", status)
	default:
	}
	w.remove(placeholderOf("a/0", ""), true)
	if status := <-ended; !status.IsSuccess() || w.current("default", "pod").Annotations[slots.AnnotationSlot] != "a/0" {
		t.Errorf("after its end: got %v", status)
	}
}

// TestRestart: a starting scheduler learns from the API's pods which slots are taken; one that was
// killed between a placeholder's deletion and the bind continues.
func TestRestart(t *testing.T) {
	w := pair(t)
	for i := range 2 {
		w.place(w.submit(fmt.Sprint("pod-", i), "cpu 1"))
	}
	third := w.submit("pod-2", "cpu 1")
	if _, _, status := w.try(third); !status.IsSuccess() { // a/1
		t.Fatal(status.AsError())
	}
	w.remove(placeholderOf("a/1", ""), false)
	succeeded := w.current("default", "pod-1").DeepCopy()
	succeeded.Status.Phase = v1.PodSucceeded
	w.put(succeeded)
	misplaced := bound(podOf("crawler", "misplaced", ""), "b/1")
	misplaced.Spec.NodeName = "a" // it claims a slot of another node
	w.put(misplaced)
	w.start()
	for pod, want := range map[*v1.Pod]string{third: "b/0"} {
		if got := w.place(pod); got != want {
			t.Errorf("%s: got slot %q, want %s", pod.Name, got, want)
		}
	}
	if got := w.place(w.submit("pod-3", "cpu 1")); got != "a/1" {
		t.Errorf("slot without a placeholder: got %q", got)
	}
	if got := w.place(w.submit("pod-4", "cpu 1")); got != "b/1" {
		t.Errorf("last slot: got %q", got)
	}
	if got := w.place(w.submit("pod-5", "cpu 1")); got != "all 4 slots of default/crawler are taken" {
		t.Errorf("one more: got %q", got)
	}
}

// TestDefinitionAppears: a scheduler starts without BatchJobs and notices when the definition appears,
// disappears and returns; waiting pods are tried then.
func TestDefinitionAppears(t *testing.T) {
	gone := map[string]error{
		"no definition": apierrors.NewNotFound(schema.GroupResource{Resource: slots.BatchJobs}, ""),
		"forbidden":     apierrors.NewForbidden(schema.GroupResource{Resource: slots.BatchJobs}, "", errors.New("not for you")),
	}
	for name, err := range gone {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("a", "cpu 1")
			w.jobs.put(jobOf("crawler", 1, "cpu 1", "a/0"))
			w.jobs.lose(err)
			w.begin()
			pod := w.submit("pod", "cpu 1")
			eventually(t, "pods are known", func() bool {
				_, _, status := w.find(pod)
				return status.Message() == "BatchJobs are not known: the API server has not shown them yet"
			})
			if w.factory.Ready() {
				t.Error("ready without BatchJobs")
			}
			w.woken()
			w.jobs.lose(nil)
			eventually(t, "the pod is tried again", func() bool { return slices.Contains(w.woken(), "pod") })
			if got := w.place(pod); got != "a/0" {
				t.Errorf("got slot %q", got)
			}
			w.jobs.lose(err)
			late := w.submit("late", "cpu 1")
			eventually(t, "BatchJobs are forgotten", func() bool {
				return strings.HasPrefix(w.place(late), "BatchJobs are not known")
			})
			w.woken()
			w.jobs.lose(nil)
			eventually(t, "it is tried again", func() bool { return slices.Contains(w.woken(), "late") })
			if got := w.place(late); got != "the slot of default/crawler is taken" {
				t.Error(got)
			}
		})
	}
}

// TestRequestChanges: a job's waiting pods are activated when its request changes, and no others.
func TestRequestChanges(t *testing.T) {
	w := newWorld(t)
	w.node("a", "cpu 9")
	w.jobs.put(jobOf("other", 1, "cpu 1", "a/8"))
	w.start()
	early, stranger := w.submit("early", "cpu 1"), w.put(podOf("other", "stranger", "cpu 2"))
	gone := w.submit("gone", "cpu 1")
	for _, pod := range []*v1.Pod{early, stranger, gone} {
		if _, _, status := w.try(pod); status.Code() != fwk.UnschedulableAndUnresolvable {
			t.Fatal(status)
		}
	}
	w.remove(gone, false)
	if _, _, status := w.try(gone); status.IsSuccess() { // it was still queued
		t.Fatal("a pod without a job passed")
	}
	woken := func() (names []string) {
		eventually(t, "pods are activated", func() bool { names = w.woken(); return len(names) > 0 })
		return names
	}
	job := jobOf("crawler", 1, "cpu 1", "a/0")
	w.jobs.put(job)
	if got := woken(); !slices.Equal(got, []string{"early"}) {
		t.Errorf("activated %q", got)
	}
	if got := w.place(early); got != "a/0" {
		t.Error(got)
	}
	late := w.submit("late", "cpu 1")
	w.place(late)
	// Changes that do not matter to the pods wake none.
	same := job.DeepCopy()
	same.Object["status"].(map[string]any)["state"] = "Scheduled"
	w.jobs.put(same)
	w.jobs.put(jobOf("crawler", 1, "cpu 2", "a/0")) // each part of the request counts
	if got := woken(); !slices.Equal(got, []string{"late"}) {
		t.Errorf("activated %q", got)
	}
	w.jobs.put(jobOf("crawler", 1, "cpu 2", "a/0", "a/1"))
	if got := woken(); !slices.Equal(got, []string{"late"}) {
		t.Errorf("activated %q", got)
	}
	if got := w.place(late); got != "a/1" {
		t.Error(got)
	}
	w.jobs.remove(jobOf("crawler", 1, ""))
	more := w.submit("more", "")
	eventually(t, "the job is gone", func() bool {
		return w.place(more) == "no BatchJob in namespace default has the UID uid-crawler"
	})
	w.jobs.put(jobOf("crawler", 2, "", "a/0"))
	if got := woken(); !slices.Equal(got, []string{"more"}) {
		t.Errorf("activated %q", got)
	}
}

// TestFreedSlot: the end of a pod activates the pods that wait for its slot, whichever job requests it.
func TestFreedSlot(t *testing.T) {
	w := newWorld(t)
	w.node("a", "cpu 9")
	for job, place := range map[string]string{"crawler": "a/0", "heir": "a/0", "neighbour": "a/1"} {
		w.jobs.put(jobOf(job, 1, "cpu 1", place))
	}
	w.start()
	first, heir := w.submit("first", "cpu 1"), w.put(podOf("heir", "heir", "cpu 1"))
	lodger, neighbour := w.put(podOf("neighbour", "lodger", "cpu 1")), w.put(podOf("neighbour", "neighbour", "cpu 1"))
	if a, b := w.place(first), w.place(lodger); a != "a/0" || b != "a/1" {
		t.Fatal(a, b)
	}
	for _, pod := range []*v1.Pod{heir, neighbour} {
		if _, _, status := w.try(pod); status.Code() != fwk.UnschedulableAndUnresolvable {
			t.Fatal(status)
		}
	}
	w.woken()
	w.remove(first, false)
	if got := w.woken(); !slices.Equal(got, []string{"heir"}) {
		t.Errorf("activated %q", got)
	}
	if got := w.place(heir); got != "a/0" {
		t.Error(got)
	}
}

// TestBadRequest: an invalid request counts as none.
func TestBadRequest(t *testing.T) {
	for name, spoil := range map[string]func(request map[string]any){
		"slot":     func(r map[string]any) { r["slots"] = []any{"a/00"} },
		"slots":    func(r map[string]any) { r["slots"] = "a/0" },
		"quantity": func(r map[string]any) { r["resources"] = map[string]any{"cpu": "much"} },
		"attempt":  func(r map[string]any) { r["attempt"] = "1" },
		"testbed":  func(r map[string]any) { r["testbed"] = map[string]any{"uid": int64(1)} },
	} {
		t.Run(name, func(t *testing.T) {
			w := pair(t)
			pod := w.submit("pod", "cpu 1")
			bad := jobOf("crawler", 1, "cpu 1", "a/0")
			spoil(bad.Object["status"].(map[string]any)["creationRequest"].(map[string]any))
			w.jobs.put(bad)
			eventually(t, "the job's request is ignored", func() bool {
				_, _, status := w.find(pod)
				return status.Code() == fwk.UnschedulableAndUnresolvable
			})
		})
	}
}

// TestEvents: each event that may help a pod queues it.
func TestEvents(t *testing.T) {
	w := pair(t)
	events, err := w.EventsToRegister(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hints := map[fwk.EventResource]fwk.QueueingHintFn{}
	for _, e := range events {
		hints[e.Event.Resource] = e.QueueingHintFn
		for _, action := range map[fwk.EventResource][]fwk.ActionType{
			fwk.Pod:  {fwk.Delete, fwk.UpdatePodScaleDown},
			fwk.Node: {fwk.Add, fwk.UpdateNodeAllocatable, fwk.UpdateNodeTaint, fwk.UpdateNodeLabel},
		}[e.Event.Resource] {
			if e.Event.ActionType&action == 0 {
				t.Errorf("%s %s is not registered", e.Event.Resource, action)
			}
		}
	}
	node := func(name string) *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	on := func(name string) *v1.Pod {
		pod := podOf("other", "x", "")
		pod.Spec.NodeName = name
		return pod
	}
	pod, unknown, placeholder := w.submit("pod", ""), podOf("unknown", "y", ""), placeholderOf("b/0", "")
	lost := placeholderOf("b/0", "")
	lost.Annotations = nil
	for _, c := range []struct {
		name     string
		resource fwk.EventResource
		pod      *v1.Pod
		old, new any
		want     fwk.QueueingHint
	}{
		{"a pod of its node ends", fwk.Pod, pod, on("a"), nil, fwk.Queue},
		{"one of another node ends", fwk.Pod, pod, on("c"), nil, fwk.QueueSkip},
		{"one that was nowhere ends", fwk.Pod, pod, on(""), nil, fwk.QueueSkip},
		{"a pod of its node shrinks", fwk.Pod, pod, on("a"), on("a"), fwk.Queue},
		{"one of another node shrinks", fwk.Pod, pod, on("c"), on("c"), fwk.QueueSkip},
		{"a pod ends, a placeholder waits", fwk.Pod, placeholder, on("b"), nil, fwk.Queue},
		{"a pod ends elsewhere, a placeholder waits", fwk.Pod, placeholder, on("a"), nil, fwk.QueueSkip},
		{"a placeholder of nowhere", fwk.Pod, lost, on("b"), nil, fwk.QueueSkip},
		{"a pod of an unknown job", fwk.Pod, unknown, on("a"), nil, fwk.QueueSkip},
		{"its node comes", fwk.Node, pod, nil, node("b"), fwk.Queue},
		{"another comes", fwk.Node, pod, nil, node("c"), fwk.QueueSkip},
		{"its node changes", fwk.Node, pod, node("a"), node("a"), fwk.Queue},
		{"a placeholder's node comes", fwk.Node, placeholder, nil, node("b"), fwk.Queue},
		{"something else", fwk.Node, pod, nil, "?", fwk.Queue},
		{"something else", fwk.Pod, pod, "?", nil, fwk.Queue},
	} {
		got, err := hints[c.resource](klog.Background(), c.pod, c.old, c.new)
		if err != nil || got != c.want {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// TestPodsHaveNoSignature: scheduling results are not shared between pods.
func TestPodsHaveNoSignature(t *testing.T) {
	w := pair(t)
	if fragments, status := w.SignPod(t.Context(), w.submit("pod", "")); status.Code() != fwk.Unschedulable || fragments != nil {
		t.Errorf("signed %v, %v", fragments, status)
	}
	if w.PreFilterExtensions() != nil {
		t.Error("pods are evicted for others")
	}
	if w.Name() != slots.Name {
		t.Errorf("name %q", w.Name())
	}
	if _, ok := w.profile.(fwk.PermitPlugin); ok {
		t.Error("the plugin implements Permit although claims already make gangs")
	}
}

// TestWithoutPreFilter: a call order that a profile must not use returns an error, not a panic.
func TestWithoutPreFilter(t *testing.T) {
	w := pair(t)
	pod, state := w.submit("pod", ""), &cycleState{}
	_, score := w.Score(t.Context(), state, pod, w.info("a"))
	for name, status := range map[string]*fwk.Status{
		"Filter": w.Filter(t.Context(), state, pod, w.info("a")), "Score": score,
		"Reserve": w.Reserve(t.Context(), state, pod, "a"), "Bind": w.Bind(t.Context(), state, pod, "a"),
	} {
		if status.Code() != fwk.Error {
			t.Errorf("%s: %v", name, status)
		}
	}
	w.Unreserve(t.Context(), state, pod, "a")
	state, _, _ = w.find(pod)
	w.node("c", "cpu 1")
	if status := w.Filter(t.Context(), state, pod, w.info("c")); status.IsSuccess() {
		t.Error("a node without a slot has passed")
	}
	if status := w.Reserve(t.Context(), state, pod, "c"); status.Code() != fwk.Error {
		t.Errorf("Reserve on a node without a slot: got %v", status)
	}
	if status := w.Reserve(t.Context(), state, pod, "a"); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	if status := w.Bind(t.Context(), state, pod, "b"); status.Code() != fwk.Error || len(w.gone()) > 0 {
		t.Errorf("Bind to another node than the slot's: got %v", status)
	}
}

// The metric matches cmd/deploy/observe/metrics.json, against which the dashboard is checked.
func TestMetric(t *testing.T) {
	newWorld(t).start() // start registers the metric
	text, err := os.ReadFile("../../cmd/deploy/observe/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	var documented map[string]struct {
		Type   string
		Labels []string
	}
	if err := json.Unmarshal(text, &documented); err != nil {
		t.Fatal(err)
	}
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "spazio_testbed_swap_seconds" {
			continue
		}
		want := documented[f.GetName()]
		if !strings.EqualFold(f.GetType().String(), want.Type) || len(f.GetMetric()[0].GetLabel()) > 0 || len(want.Labels) > 0 {
			t.Errorf("got %v, documented as %+v", f, want)
		}
		return
	}
	t.Error("the metric is missing")
}

type histogram struct {
	count uint64
	sum   float64
}

// swaps reads the metric.
func swaps(t *testing.T) histogram {
	t.Helper()
	vec, err := testutil.GetHistogramVecFromGatherer(legacyregistry.DefaultGatherer, "spazio_testbed_swap_seconds", nil)
	if err != nil {
		t.Fatal(err)
	}
	h := histogram{count: vec.GetAggregatedSampleCount()}
	for _, one := range vec {
		h.sum += one.GetSampleSum()
	}
	return h
}
