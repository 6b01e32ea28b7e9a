package testbeds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// steady returns ticks of a second each at every tenth revision, from 0.
func steady() (ticks []tick) {
	start := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for i := range 101 {
		at := start.Add(time.Duration(i) * time.Second)
		ticks = append(ticks, tick{revision: int64(10 * i), sent: at, answered: at.Add(100 * time.Millisecond)})
	}
	return ticks
}

// bed returns a Testbed with claims written as job=slot,slot.
func bed(claims ...string) *v1alpha1.Testbed {
	t := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: "bed", Namespace: "default", UID: "bed"}}
	t.Status.Nodes = []v1alpha1.TestbedNode{{Name: "n", ID: 0, Slots: 2}, {Name: "m", ID: 1, Slots: 1}}
	for _, c := range claims {
		job, slots, _ := strings.Cut(c, "=")
		t.Status.Claims = append(t.Status.Claims, v1alpha1.Claim{BatchJobUID: types.UID(job), BatchJob: "default/" + job, Slots: strings.Split(slots, ",")})
	}
	return t
}

// podIn returns a pod in a slot: a job's, or a placeholder if job is "".
func podIn(name, job, slot string) *corev1.Pod {
	node, _, _ := strings.Cut(slot, "/")
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name),
			Labels:      map[string]string{v1alpha1.LabelRole: v1alpha1.RolePlaceholder, v1alpha1.LabelTestbedUID: "bed"},
			Annotations: map[string]string{v1alpha1.AnnotationSlot: slot},
		},
		Spec: corev1.PodSpec{NodeName: node, SchedulerName: v1alpha1.SchedulerName},
	}
	if job != "" {
		p.Labels[v1alpha1.LabelRole], p.Labels[v1alpha1.LabelBatchJobUID] = v1alpha1.RoleSlot, job
	}
	return p
}

func with(p *corev1.Pod, edit func(*corev1.Pod)) *corev1.Pod {
	edit(p)
	return p
}

// Each bad history is detected with its reason; a similar good one passes.
func TestViolations(t *testing.T) {
	placeholder, a, b := podIn("placeholder", "", "n/0"), podIn("a-0", "a", "n/0"), podIn("b-0", "b", "n/0")
	failed := with(podIn("a-0", "a", "n/0"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	for name, test := range map[string]struct {
		changes []change
		want    []string
	}{
		"nothing": {},
		"a swap": {changes: []change{
			{revision: 1, testbed: bed()}, {revision: 2, pod: placeholder}, {revision: 15, testbed: bed("a=n/0")},
			{revision: 20, pod: placeholder, gone: true}, {revision: 21, pod: a}, {revision: 500, pod: failed}, {revision: 501, testbed: bed()},
		}},
		"changes that come late": {changes: []change{
			{revision: 21, pod: a}, {revision: 1, testbed: bed("a=n/0")}, {revision: 300, pod: placeholder}, {revision: 20, pod: placeholder, gone: true},
			{revision: 2, pod: placeholder}, {revision: 299, pod: a, gone: true}, {revision: 298, testbed: bed()},
		}},
		"two claims of a slot": {
			[]change{{revision: 7, testbed: bed("a=n/0,n/1", "b=m/0,n/1")}},
			[]string{"slot n/1 of bed is claimed by default/a and default/b"},
		},
		"claims one after the other": {changes: []change{{revision: 7, testbed: bed("a=n/1")}, {revision: 8, testbed: bed("b=n/1")}}},
		"two pods for a while": {changes: []change{
			{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: placeholder}, {revision: 3, pod: a}, {revision: 63, pod: placeholder, gone: true},
		}},
		"two pods for too long": {
			[]change{{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: placeholder}, {revision: 3, pod: a}, {revision: 73, pod: placeholder, gone: true}},
			[]string{"pods a-0 and placeholder are both in slot n/0, for at least 5.9s"},
		},
		"two pods to the end": {
			[]change{{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: placeholder}, {revision: 3, pod: a}},
			[]string{"pods a-0 and placeholder are both in slot n/0"},
		},
		"two pods, one of which failed": {changes: []change{
			{revision: 1, testbed: bed("b=n/0")}, {revision: 3, pod: failed}, {revision: 4, pod: b}, {revision: 500, pod: failed, gone: true},
		}},
		"two pods, one of which waits": {changes: []change{
			{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: a},
			{revision: 3, pod: with(podIn("placeholder", "", "n/0"), func(p *corev1.Pod) { p.Spec.NodeName = "" })},
		}},
		"two pods in two test beds": {changes: []change{
			{revision: 2, pod: placeholder},
			{revision: 3, pod: with(podIn("other", "", "n/0"), func(p *corev1.Pod) { p.Labels[v1alpha1.LabelTestbedUID] = "other" })},
		}},
		"a pod after its claim": {
			[]change{{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: a}, {revision: 30, testbed: bed()}, {revision: 200, pod: a, gone: true}},
			[]string{"pod a-0 is in slot n/0, which its job has not claimed, for at least 16.9s"},
		},
		"a pod a moment after its claim": {changes: []change{
			{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: a}, {revision: 30, testbed: bed()}, {revision: 50, pod: a, gone: true},
		}},
		"a pod in another's slot": {
			[]change{{revision: 1, testbed: bed("a=n/1", "b=n/0")}, {revision: 2, pod: a}},
			[]string{"pod a-0 is in slot n/0, which its job has not claimed"},
		},
		"a pod after its Testbed": {
			[]change{{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: a}, {revision: 3, testbed: bed("a=n/0"), gone: true}},
			[]string{"pod a-0 is in slot n/0, which its job has not claimed"},
		},
		"a pod on another node": {
			[]change{{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: with(podIn("a-0", "a", "n/0"), func(p *corev1.Pod) { p.Spec.NodeName = "m" })}},
			[]string{`pod a-0 of slot "n/0" is on node m`},
		},
		"a pod that another scheduler placed": {changes: []change{
			{revision: 1, testbed: bed("a=n/0")},
			{revision: 2, pod: with(podIn("a-0", "a", "n/0"), func(p *corev1.Pod) { p.Annotations, p.Spec.SchedulerName = nil, "default-scheduler" })},
		}},
		"a pod without a slot": {
			[]change{{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: with(podIn("a-0", "a", "n/0"), func(p *corev1.Pod) { p.Annotations = nil })}, {revision: 3, pod: a, gone: true}},
			[]string{`pod a-0 of slot "" is on node n`},
		},
	} {
		found(t, name, violations(test.changes, steady()), test.want)
	}
	// A standstill of the machine, here a minute, does not count.
	stood := steady()
	for i := range stood[3:] {
		stood[3+i].sent, stood[3+i].answered = stood[3+i].sent.Add(time.Minute), stood[3+i].answered.Add(time.Minute)
	}
	changes := []change{{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: placeholder}, {revision: 3, pod: a}, {revision: 63, pod: placeholder, gone: true}}
	found(t, "a standstill", violations(changes, stood), nil)
	// Without ticks no state is known to have lasted.
	found(t, "no ticks", violations([]change{{revision: 1, testbed: bed("a=n/0")}, {revision: 2, pod: placeholder}, {revision: 3, pod: a}}, nil), nil)
}

// found compares the faults with substrings.
func found(t *testing.T, name string, got, want []string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = strings.Contains(got[i], want[i])
	}
	if !ok {
		t.Errorf("%s: found %q, want %q", name, got, want)
	}
}

// jobIn returns a job of the Scheduling "first", whose UID is its name.
func jobIn(name string, state v1alpha1.BatchJobState, slots ...string) v1alpha1.BatchJob {
	j := v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
	j.Status.State = state
	j.Status.ActiveScheduling = &v1alpha1.ObjectReference{Namespace: "default", Name: "first", UID: "first"}
	if len(slots) > 0 {
		j.Status.CreationRequest = &v1alpha1.CreationRequest{Testbed: v1alpha1.ObjectReference{UID: "bed"}, Slots: slots}
	}
	return j
}

func queue(jobs ...string) v1alpha1.Scheduling {
	s := v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: "default", UID: "first"}}
	s.Spec.Testbed.Name = "bed"
	s.Status.State = v1alpha1.SchedulingSubmitting
	for _, name := range jobs {
		s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: name})
	}
	return s
}

func named(job string, slots ...string) v1alpha1.Scheduling {
	s := queue()
	s.Spec.SlotBased = &v1alpha1.SlotBased{Jobs: []v1alpha1.SlotJob{{Name: job}}}
	for _, slot := range slots {
		s.Spec.SlotBased.Jobs[0].Slots = append(s.Spec.SlotBased.Jobs[0].Slots, v1alpha1.SlotID(slot))
	}
	return s
}

func byIndex(job string, slots ...int) v1alpha1.Scheduling {
	s := named(job)
	for _, slot := range slots {
		s.Spec.SlotBased.Jobs[0].Slots = append(s.Spec.SlotBased.Jobs[0].Slots, v1alpha1.SlotIndex(slot))
	}
	return s
}

// Losses in a quiescent state are detected, and Schedulings that wait for nothing.
func TestLeftovers(t *testing.T) {
	placeholders := func(slots ...string) (pods []corev1.Pod) {
		for i, slot := range slots {
			pods = append(pods, *podIn(fmt.Sprint("placeholder-", i), "", slot))
		}
		return pods
	}
	full := placeholders("n/0", "n/1", "m/0")
	running := append(placeholders("n/1", "m/0"), *podIn("a-0", "a", "n/0"))
	deleting := bed()
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	counted := bed()
	counted.Status.Counts = v1alpha1.SlotCounts{Slots: 3, Free: 1, Occupied: 1}
	confirming := queue("b")
	confirming.Status.State = v1alpha1.SchedulingConfirming
	each := confirming
	each.Spec.Confirm = v1alpha1.ConfirmEach
	exclusive := bed()
	exclusive.Status.ExclusiveFor = "other"
	second := queue("c")
	second.Name, second.UID = "second", "second"
	c := jobIn("c", v1alpha1.BatchJobInQueue)
	c.Status.ActiveScheduling.UID = "second"
	inQueue := []v1alpha1.BatchJob{jobIn("b", v1alpha1.BatchJobInQueue), c}
	a := jobIn("a", v1alpha1.BatchJobRunning, "n/0")
	for name, test := range map[string]struct {
		world world
		want  []string
	}{
		"nothing":               {},
		"free":                  {world: world{testbeds: []v1alpha1.Testbed{*bed()}, pods: full}},
		"running":               {world: world{testbeds: []v1alpha1.Testbed{*bed("a=n/0")}, jobs: []v1alpha1.BatchJob{a}, pods: running}},
		"a Testbed that stays":  {world{testbeds: []v1alpha1.Testbed{*deleting}, pods: full}, []string{"Testbed bed is not gone"}},
		"a claim without a job": {world{testbeds: []v1alpha1.Testbed{*bed("a=n/0")}, pods: full}, []string{"default/a has slots [n/0] and is not there"}},
		"a claim that was not freed": {
			world{testbeds: []v1alpha1.Testbed{*bed("a=n/0")}, jobs: []v1alpha1.BatchJob{jobIn("a", v1alpha1.BatchJobCompleted, "n/0")}, pods: full},
			[]string{"default/a has slots [n/0] and is Completed"},
		},
		"a job without its claim": {
			world{testbeds: []v1alpha1.Testbed{*bed()}, jobs: []v1alpha1.BatchJob{a}, pods: running},
			[]string{"a is Running in slot n/0, which it has not claimed"},
		},
		"no placeholder":    {world{testbeds: []v1alpha1.Testbed{*bed()}, pods: full[:2]}, []string{"0 pods are in slot m/0"}},
		"two placeholders":  {world{testbeds: []v1alpha1.Testbed{*bed()}, pods: append(placeholders("n/1"), full...)}, []string{"2 pods are in slot n/1"}},
		"one slot too many": {world{testbeds: []v1alpha1.Testbed{*bed()}, pods: append(placeholders("n/2"), full...)}, []string{"1 pods are in slot n/2, which there is not"}},
		"counts":            {world{testbeds: []v1alpha1.Testbed{*counted}, pods: full}, []string{"counts"}},
		"a queue waits": {
			world{testbeds: []v1alpha1.Testbed{*bed()}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{queue("b", "a", "b")}, pods: full},
			[]string{"b of Scheduling first waits for 2 slots, and [n/0 m/0 n/1] are free"},
		},
		"a queue without confirmation waits": {
			world{testbeds: []v1alpha1.Testbed{*bed()}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{confirming}, pods: full},
			[]string{"b of Scheduling first waits for 1 slots"},
		},
		"a queue with confirmation of each": {world: world{testbeds: []v1alpha1.Testbed{*bed()}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{each}, pods: full}},
		"a queue that does not fit": {world: world{
			testbeds: []v1alpha1.Testbed{*bed()}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{queue("b", "b", "b", "b")}, pods: full,
		}},
		"one behind a queue that does not fit": {world: world{
			testbeds: []v1alpha1.Testbed{*bed()}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{second, queue("b", "b", "b", "b")}, pods: full,
		}},
		"one behind a queue that fits": {
			world{testbeds: []v1alpha1.Testbed{*bed()}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{second, queue("b", "b")}, pods: full},
			[]string{"b of Scheduling first waits for 2 slots", "c of Scheduling second waits for 1 slots, and [n/1] are free"},
		},
		"slots that are free": {
			world{testbeds: []v1alpha1.Testbed{*bed()}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{named("b", "n/1", "m/0")}, pods: full},
			[]string{"b of Scheduling first waits for slots [n/1 m/0], which are free"},
		},
		"slots by their indices": {
			world{testbeds: []v1alpha1.Testbed{*bed()}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{byIndex("b", 2, 1)}, pods: full},
			[]string{"b of Scheduling first waits for slots [n/1 m/0], which are free"},
		},
		"slots that are not": {world: world{
			testbeds: []v1alpha1.Testbed{*bed("a=n/0")}, jobs: append([]v1alpha1.BatchJob{a}, inQueue...), schedulings: []v1alpha1.Scheduling{named("b", "n/1", "n/0")}, pods: running,
		}},
		"another's alone": {world: world{testbeds: []v1alpha1.Testbed{*exclusive}, jobs: inQueue, schedulings: []v1alpha1.Scheduling{queue("b")}, pods: full}},
	} {
		found(t, name, test.world.leftovers(), test.want)
	}
}
