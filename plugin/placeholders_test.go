package plugin_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/plugin"
	profiles "github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// testbeds are the part of an API server that stores Testbeds.
type testbeds struct {
	mu      sync.Mutex
	missing error
	version int
	beds    map[types.UID]*unstructured.Unstructured
	watches []*watch.FakeWatcher
}

func (s *testbeds) List(metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missing != nil {
		return nil, s.missing
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"kind": "TestbedList", "apiVersion": bedVersion}}
	list.SetResourceVersion(fmt.Sprint(s.version))
	for _, bed := range s.beds {
		list.Items = append(list.Items, *bed.DeepCopy())
	}
	return list, nil
}

func (s *testbeds) Watch(o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.SendInitialEvents != nil { // as an API server without support for it
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
	}
	if s.missing != nil {
		return nil, s.missing
	}
	w := watch.NewFakeWithChanSize(1000, false)
	s.watches = append(s.watches, w)
	return w, nil
}

const bedVersion = "testbed.spazio-scheduler.github.io/v1alpha1"

// name makes a Testbed's status list pods as its placeholders. Each slot has the given units by its
// size, or one if units is nil.
func (s *testbeds) name(bed types.UID, units any, pods ...types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text []string
	for _, uid := range pods {
		text = append(text, string(uid))
	}
	spec := map[string]any{"slotsPerNode": int64(4)}
	if units != nil {
		spec = map[string]any{"slotsPerNode": "auto", "auto": map[string]any{"unitsPerSlot": units}}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Testbed", "apiVersion": bedVersion, "spec": spec,
		"status": map[string]any{"placeholders": strings.Join(text, " ")},
	}}
	s.version++
	u.SetNamespace("lab")
	u.SetName(string(bed))
	u.SetUID(bed)
	u.SetResourceVersion(fmt.Sprint(s.version))
	_, known := s.beds[bed]
	if s.beds == nil {
		s.beds = make(map[types.UID]*unstructured.Unstructured)
	}
	s.beds[bed] = u
	for _, w := range s.watches {
		if known {
			w.Modify(u.DeepCopy())
		} else {
			w.Add(u.DeepCopy())
		}
	}
}

func (s *testbeds) remove(bed types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.beds[bed]
	delete(s.beds, bed)
	s.version++
	u.SetResourceVersion(fmt.Sprint(s.version))
	for _, w := range s.watches {
		w.Delete(u.DeepCopy())
	}
}

// lose makes the API server answer everything with an error.
func (s *testbeds) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing = err
	for _, w := range s.watches {
		w.Stop()
	}
	s.watches = nil
}

func uidsOf(from, to int) (uids []types.UID) {
	for i := from; i < to; i++ {
		uids = append(uids, podUID(i))
	}
	return uids
}

// optsOut sets what the pods of a Testbed's controller have in addition.
func optsOut(p *v1.Pod) { p.Annotations = map[string]string{optOutKey: "true"} }

// allMarks are the labels, annotations and owner references that our programs, or Kubernetes for one of
// our decisions, read from a pod, those that exempt a pod from scheduling included. A static pod's
// mirror is excluded: kubelet runs no such pod.
func allMarks(bed string) func(*v1.Pod) {
	const group = "testbed.spazio-scheduler.github.io/"
	const own = "spazio-scheduler.github.io/"
	yes := true
	return func(p *v1.Pod) {
		p.Labels = map[string]string{
			group + "role": "placeholder", group + "testbed-uid": bed, group + "batchjob-uid": "j", group + "attempt": "1",
			"pod-template-hash": "x", "controller-revision-hash": "x",
		}
		p.Annotations = map[string]string{
			group + "slot": nodeName(0) + "/0", group + "units": "1e6", group + "size": "cpu=1,units=1e6", group + "author": "me",
			own + "opt-out": "true", own + "workload": "DaemonSet/d", own + "overdue": "True",
		}
		p.Finalizers = []string{group + "jobs", group + "application", group + "placeholders"}
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: bedVersion, Kind: "Testbed", Name: bed, UID: types.UID(bed), Controller: &yes},
			{APIVersion: bedVersion, Kind: "BatchJob", Name: "j", UID: "j"},
			{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"},
		}
	}
}

// TestMarksOfAPodDoNotAffectRoom: pods with all of our marks count as pods without any, with the
// test-bed component and without it.
func TestMarksOfAPodDoNotAffectRoom(t *testing.T) {
	const pods, bed = 50, "bed"
	course := func(t *testing.T, options plugin.HubOptions, edits ...func(*v1.Pod)) (rooms []plugin.NodeState) {
		c := newCluster(t, setup{nodes: 1, options: options})
		s := c.open(c.dial(), nodeName(0))
		s.settle(agent.Report{Avail: 200})
		note := func() {
			t.Helper()
			state := c.state(nodeName(0))
			state.Age = 0
			rooms = append(rooms, state)
		}
		var made []*v1.Pod
		for i := range pods {
			made = append(made, newPod(i, edits...))
		}
		c.arrive(made...)
		note()
		for _, pod := range made {
			pod.Spec.NodeName = nodeName(0)
			c.update(pod)
		}
		c.eventually("all pods are taken in", func() bool {
			l, n := c.hub.Ledger(), c.state(nodeName(0))
			return l.Bound+l.Held == pods && n.InFlight+n.Held >= pods
		})
		note()
		for range 2 { // a report and its repetition
			var listed []reserve.PodKey
			for i := range pods {
				listed = append(listed, keyOf(i))
			}
			s.settle(agent.Report{Avail: 200, Pods: listed})
			note()
		}
		for _, pod := range made {
			c.delete(pod)
		}
		c.eventually("all pods are gone", func() bool { l := c.hub.Ledger(); return l.Bound+l.Confirmed+l.Held == 0 })
		s.settle(agent.Report{Avail: 200})
		note()
		return rooms
	}
	plain := course(t, plugin.HubOptions{})
	if free := plain[1].Free; free != 200-pods {
		t.Fatalf("got %v free beside %d pods that no report lists", free, pods)
	}
	theirs := &testbeds{}
	theirs.name(bed, "1e6", uidsOf(1000, 1010)...)
	for name, options := range map[string]plugin.HubOptions{"no test-bed component": {}, "test-bed component": {Testbeds: theirs}} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(plain, course(t, options, allMarks(bed))); diff != "" {
				t.Errorf("pods with marks (-without +with):\n%s", diff)
			}
		})
	}
	// Every key that our sources contain, as a label and as an annotation, with each value that has a
	// meaning anywhere.
	for _, value := range []string{"placeholder", "slot", "true", "1e6", bed, "DaemonSet/d"} {
		t.Run("all keys are "+value, func(t *testing.T) {
			marks := make(map[string]string)
			for _, key := range keysOfOurs(t) {
				marks[key] = value
			}
			edit := func(p *v1.Pod) { p.Labels, p.Annotations = marks, marks }
			if diff := cmp.Diff(plain, course(t, plugin.HubOptions{Testbeds: theirs}, edit)); diff != "" {
				t.Errorf("pods with marks (-without +with):\n%s", diff)
			}
		})
	}
	for _, owner := range newPod(0, allMarks(bed)).OwnerReferences {
		t.Run("owned by a "+owner.Kind, func(t *testing.T) {
			yes := true
			owner.Controller = &yes
			edit := func(p *v1.Pod) { p.OwnerReferences = []metav1.OwnerReference{owner} }
			if diff := cmp.Diff(plain, course(t, plugin.HubOptions{Testbeds: theirs}, edit)); diff != "" {
				t.Errorf("pods with an owner (-without +with):\n%s", diff)
			}
		})
	}
}

// keysOfOurs returns the keys of labels and annotations in our sources.
func keysOfOurs(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat("../go.work"); err != nil {
		t.Skip("the sources of the other modules are missing")
	}
	whole := regexp.MustCompile(`"((?:[a-z-]+\.)?spazio-scheduler\.github\.io/[a-z0-9-]+)"`)
	part := regexp.MustCompile(`(?:Prefix|Group) \+ "/?([a-z0-9-]+)"`)
	keys := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range whole.FindAllSubmatch(source, -1) {
			keys[string(m[1])] = true
		}
		for _, m := range part.FindAllSubmatch(source, -1) {
			keys["testbed.spazio-scheduler.github.io/"+string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, required := range []string{optOutKey, profiles.WorkloadAnnotation, string(plugin.OverdueCondition)} {
		if !keys[required] {
			t.Fatalf("%s is not among the keys found: %v", required, keys)
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// TestPlaceholdersHoldRoom from the moment a status names them, or from their bind if that is later,
// until their deletion. Before that, each is an ordinary pod.
func TestPlaceholdersHoldRoom(t *testing.T) {
	beds := &testbeds{}
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Testbeds: beds}})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 10})
	holds := func(held, inFlight, free float64) {
		t.Helper()
		c.eventually(fmt.Sprint(held, " held, ", inFlight, " in flight"), func() bool {
			got := c.state(nodeName(0))
			return got.Held == held && got.InFlight == inFlight
		})
		if got := c.state(nodeName(0)).Free; got != free {
			t.Errorf("got %v free with %v held and %v in flight, want %v", got, held, inFlight, free)
		}
	}
	beds.name("bed", nil, podUID(0))
	c.eventually("the first is named", func() bool { return c.hub.Placeholder(podUID(0)) })
	for i := range 4 { // more than slow start admits at once
		pod := newPod(i, optsOut)
		if node, st := c.schedule(pod, c.infos); node != nodeName(0) {
			t.Fatalf("placeholder %d: %v", i, st)
		}
		c.PostBind(t.Context(), &cycleState{}, pod, nodeName(0))
		pod.Spec.NodeName = nodeName(0)
		c.create(pod)
		holds(1, float64(i), 9-float64(i))
	}
	beds.name("bed", nil, uidsOf(0, 4)...)
	holds(4, 0, 6)
	if got := c.hub.Ledger(); got.Held != 4 || got.Assumed+got.Bound+got.Confirmed != 0 {
		t.Errorf("got ledger %+v", got)
	}
	// The size is the Testbed's; an invalid size counts as one pod.
	for _, size := range []struct {
		units any
		held  float64
	}{{"2375m", 9.5}, {int64(2), 8}, {1.5, 6}, {"many", 4}, {"0", 4}, {"-1", 4}, {"2e6", 4}, {"1", 4}} {
		beds.name("bed", size.units, uidsOf(0, 4)...)
		holds(size.held, 0, 10-size.held)
	}
	beds.name("bed", "2375m", uidsOf(0, 4)...)
	holds(9.5, 0, .5)
	if _, st := c.schedule(newPod(11), c.infos); st.IsSuccess() {
		t.Error("a pod got room that placeholders hold")
	}
	if e, err := c.hub.Explain(string(podUID(3))); err != nil || e.State != "holding room" || e.Node != nodeName(0) ||
		e.Nodes[0].Held != 9.5 || e.Nodes[0].Reason != "no room" {
		t.Errorf("got explanation %+v, %v", e, err)
	}
	last := newPod(3, optsOut, onNode(nodeName(0)))
	last.Status.Phase = v1.PodFailed
	c.update(last)
	holds(3*2.375, 0, 10-3*2.375)
	for i := range 3 {
		c.delete(newPod(i))
		held := float64(2-i) * 2.375
		holds(held, 0, 10-held)
	}
}

// TestPodThatIsNoLongerNamed becomes an ordinary pod, and the reverse: another set is named, the
// Testbed is deleted, or Testbeds are no longer readable.
func TestPodThatIsNoLongerNamed(t *testing.T) {
	beds := &testbeds{}
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Testbeds: beds}})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 10})
	c.create(newPod(1, onNode(nodeName(0))))
	for _, end := range []func(){
		func() { beds.name("bed", "3", podUID(2)) },
		func() { beds.name("bed", "3") },
		func() { beds.remove("bed") },
		func() {
			beds.lose(apierrors.NewForbidden(schema.GroupResource{Resource: "testbeds"}, "", errors.New("not for you")))
		},
	} {
		beds.name("bed", "3", podUID(1))
		c.eventually("it holds room", func() bool { s := c.state(nodeName(0)); return s.Held == 3 && s.InFlight == 0 })
		end()
		c.eventually("it is in flight", func() bool { s := c.state(nodeName(0)); return s.Held == 0 && s.InFlight == 1 })
	}
}

// TestHeldRoomSurvivesARestart: the API's objects suffice, even if a node's own event is late.
func TestHeldRoomSurvivesARestart(t *testing.T) {
	var objects []runtime.Object
	for i := range 6 {
		objects = append(objects, newPod(i, onNode(nodeName(i%2))))
	}
	beds := &testbeds{}
	beds.name("bed", "1.5", uidsOf(0, 6)...)
	for range 2 {
		c := newCluster(t, setup{nodes: 2, objects: slices.Clone(objects), options: plugin.HubOptions{Testbeds: beds}})
		for i := range 2 {
			c.eventually("its room is held", func() bool { got := c.state(nodeName(i)); return got.Held == 4.5 && got.InFlight == 0 })
		}
	}
}

// TestHeldRoomWakesPods when it is released.
func TestHeldRoomWakesPods(t *testing.T) {
	beds := &testbeds{}
	beds.name("bed", "4", podUID(1))
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Testbeds: beds}})
	c.create(newPod(1, onNode(nodeName(0))))
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 4})
	c.eventually("the room is held", func() bool { return c.state(nodeName(0)).Held == 4 })
	waiting := newPod(2)
	c.arrive(waiting)
	if _, st := c.schedule(waiting, c.infos); st.IsSuccess() {
		t.Fatal("a pod got room that a placeholder holds")
	}
	c.woken()
	c.delete(newPod(1))
	c.eventually("it is woken", func() bool { return c.peek()[waiting.Name] })
}

// nextPlaceholders returns the placeholders of the next notice, and fails the test if it lists none.
func (s *stream) nextPlaceholders() []reserve.PodKey {
	s.c.t.Helper()
	notice, err := s.Recv()
	if err != nil {
		s.c.t.Fatal(err)
	}
	placeholders, err := api.ToPlaceholders(notice.GetGhostPods())
	if err != nil {
		s.c.t.Fatalf("notice %v: %v", notice, err)
	}
	return placeholders
}

// awaitPlaceholders reads notices of placeholders until one is as wanted: one notice may cover several
// changes.
func (s *stream) awaitPlaceholders(want ...reserve.PodKey) {
	s.c.t.Helper()
	for {
		got := s.nextPlaceholders()
		if !slices.IsSorted(got) {
			s.c.t.Errorf("got unsorted placeholders %v", got)
		}
		if slices.Equal(got, want) {
			return
		}
	}
}

// TestAgentIsSentPlaceholders: an agent gets all of them when its stream begins and at each change,
// never those of other nodes, and no notice if there never were any.
func TestAgentIsSentPlaceholders(t *testing.T) {
	beds := &testbeds{}
	beds.name("bed", nil, podUID(1), podUID(2), podUID(4))
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Testbeds: beds}, objects: []runtime.Object{
		newPod(1, onNode(nodeName(0))), newPod(2, onNode(nodeName(0))), newPod(3, onNode(nodeName(0))),
	}})
	c.eventually("the room is held", func() bool { return c.state(nodeName(0)).Held == 2 })
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 3})
	s.awaitPlaceholders(keyOf(1), keyOf(2))
	other := c.open(client, nodeName(1))
	other.settle(agent.Report{Avail: 3})
	// A swap: the placeholder is deleted, and a pod replaces it. The agent is notified of that pod,
	// too.
	c.delete(newPod(1))
	s.awaitPlaceholders(keyOf(2))
	late := newPod(4, onNode(nodeName(0)))
	c.create(late)
	s.awaitPlaceholders(keyOf(2), keyOf(4))
	c.PostBind(t.Context(), &cycleState{}, late, nodeName(0)) // after the API's event
	c.update(late)                                            // without a further notice
	c.create(newPod(5, onNode(nodeName(0))))
	if notice, err := s.Recv(); err != nil || reserve.PodKey(notice.GetPodBound().GetPod()) != keyOf(5) {
		t.Errorf("got notice %v, %v, want the bind of pod 5 and no placeholder", notice, err)
	}
	c.delete(newPod(2))
	c.delete(late)
	s.awaitPlaceholders()
	// The agent of a node that had placeholders is notified when none is left.
	again := c.open(client, nodeName(0))
	again.next = s.next
	again.settle(agent.Report{Avail: 4})
	again.awaitPlaceholders()
	// The other agent's first notice is of its first pod.
	c.create(newPod(6, onNode(nodeName(1))))
	if notice, err := other.Recv(); err != nil || reserve.PodKey(notice.GetPodBound().GetPod()) != keyOf(6) {
		t.Errorf("other agent: got %v, %v", notice, err)
	}
}

// TestHubAloneSendsNothing: without a scheduler, an agent's stream ends without a notice of its pods or
// placeholders, whenever they came.
func TestHubAloneSendsNothing(t *testing.T) {
	beds := &testbeds{}
	beds.name("bed", nil, podUID(1), podUID(3))
	c := newCluster(t, setup{nodes: 1, noScheduler: true, options: plugin.HubOptions{Testbeds: beds}, objects: []runtime.Object{
		newPod(1, onNode(nodeName(0))), newPod(2, onNode(nodeName(0))),
	}})
	c.eventually("the room is held", func() bool { return c.state(nodeName(0)).Held == 1 })
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 3})
	c.create(newPod(3, onNode(nodeName(0))), newPod(4, onNode(nodeName(0))))
	c.eventually("more room is held", func() bool { return c.state(nodeName(0)).Held == 2 })
	c.stop()
	if notice, err := s.Recv(); err == nil {
		t.Errorf("got %v", notice)
	}
}

// TestPlaceholdersOfASlowReader: however often they change, the newest set replaces unsent ones, and
// the stream continues.
func TestPlaceholdersOfASlowReader(t *testing.T) {
	const most = 300
	beds := &testbeds{}
	beds.name("bed", nil, uidsOf(0, most)...)
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Testbeds: beds}})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 3})
	var want []reserve.PodKey
	for i := range most {
		c.create(newPod(i, onNode(nodeName(0))))
		want = append(want, keyOf(i))
	}
	c.eventually("all hold room", func() bool { return c.state(nodeName(0)).Held == most })
	slices.Sort(want)
	s.awaitPlaceholders(want...)
	s.settle(agent.Report{Avail: 4})
}

// TestPlaceholdersOfADeletedNode: its room is held until its placeholders are deleted, and then nothing
// remains.
func TestPlaceholdersOfADeletedNode(t *testing.T) {
	clock := newClock()
	beds := &testbeds{}
	beds.name("bed", "2", podUID(1), podUID(2))
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now, Testbeds: beds}})
	clock.advance(time.Second)
	c.create(newPod(1, onNode(nodeName(0))), newPod(2, onNode("elsewhere")))
	c.eventually("the room is held", func() bool { return c.hub.Ledger().Held == 2 })
	if err := c.client.CoreV1().Nodes().Delete(t.Context(), nodeName(0), deleteOptions); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is gone", func() bool { return len(c.hub.Snapshot()) == 0 })
	c.delete(newPod(1))
	c.delete(newPod(2))
	c.eventually("nothing is held", func() bool { return cmp.Equal(c.hub.Ledger(), reserve.Census{}) })
	c.eventually("nothing is known of their nodes", func() bool { return c.hub.PlaceholderNodes() == 0 })
}
