package plugin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	profiles "github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// entry is a pod that is in the scheduler's queue since a time.
type entry struct {
	queueEntry
	pod   *v1.Pod
	since time.Time
}

func (e entry) GetPodInfo() fwk.PodInfo { return podInfo{pod: e.pod} }
func (e entry) GetTimestamp() time.Time { return e.since }
func (e entry) GetPriority() int32      { return *e.pod.Spec.Priority }

type podInfo struct {
	fwk.PodInfo
	pod *v1.Pod
}

func (i podInfo) GetPod() *v1.Pod { return i.pod }

// group is a group of pods in the scheduler's queue.
type group struct {
	queueEntry
	pods  []*v1.Pod
	since time.Time
}

func (g group) GetUnscheduledPods() []*v1.Pod { return g.pods }
func (g group) GetTimestamp() time.Time       { return g.since }
func (g group) GetPriority() int32            { return 0 }

// of makes a pod one of a workload that was created at a time.
func of(workload string, created time.Time) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Annotations = map[string]string{profiles.WorkloadAnnotation: workload}
		p.CreationTimestamp = metav1.NewTime(created)
		if p.Spec.Priority == nil {
			p.Spec.Priority = new(int32)
		}
	}
}

// sorted is a cluster whose queue is sorted by ShortestFirst, with a clock.
type sorted struct {
	*cluster
	fwk.QueueSortPlugin
	clock *clock
	next  int
}

func newSorted(t *testing.T, nodes int, args plugin.SpazioArgs) *sorted {
	t.Helper()
	setup, clock := still(nodes)
	setup.args.Profiles = args.Profiles
	c := newCluster(t, setup)
	made, err := c.hub.NewShortestFirst(t.Context(), nil, c.edge)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.hub.NewShortestFirst(t.Context(), nil, c.edge)
	if err != nil || again != made {
		t.Fatalf("another profile: got %v, want %v, %v", again, made, err)
	}
	return &sorted{cluster: c, QueueSortPlugin: made.(fwk.QueueSortPlugin), clock: clock, next: 1000}
}

// live makes pods of a workload live about so long each. The scheduler's informer leaves out ended
// pods, so the API either deletes them or shows their phase.
func (s *sorted) live(workload string, pods int, life time.Duration, deleted bool) {
	s.t.Helper()
	for range pods {
		s.next++
		pod := newPod(s.next, of(workload, s.clock.Now()), onNode("elsewhere"))
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.clock.Now())}}
		s.arrive(pod)
		s.clock.advance(life + time.Duration(s.next-1000)*time.Millisecond) // so that the mean shows each end
		before := s.expected(workload)
		if deleted {
			s.delete(pod)
		} else {
			pod.Status.Phase = v1.PodSucceeded
			s.update(pod)
		}
		s.eventually("the end is known", func() bool { return s.expected(workload) != before })
		if !deleted {
			s.delete(pod) // which is no second end
			s.eventually("the pod is gone", func() bool { _, err := s.pods.Pods(pod.Namespace).Get(pod.Name); return err != nil })
		}
	}
}

func (s *sorted) expected(workload string) time.Duration {
	return s.hub.ExpectedLife(profiles.Workload{Namespace: "default", Kind: "Workload", Name: workload})
}

func TestShortestFirst(t *testing.T) {
	s := newSorted(t, 0, plugin.SpazioArgs{})
	// They are expected to live for 3.6 and 97 s, other pods for 25: 12, 384 and 96 s later.
	s.live("short", 3, 2*time.Second, true)
	s.live("short", 3, 2*time.Second, false)
	s.live("long", 2, 94*time.Second, true)
	now := s.clock.Now()
	after := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	pod := func(i int, workload string, created int, edits ...func(*v1.Pod)) entry {
		return entry{pod: newPod(i, append(edits, of(workload, after(created)))...), since: after(created)}
	}
	short, long, other := pod(1, "short", 100), pod(2, "long", 0), pod(3, "other", 50)
	for _, test := range []struct {
		name          string
		first, second queueEntry
	}{
		{"a shorter one before a longer one that was created earlier", short, long},
		{"an unknown one between them", other, long},
		{"a longer one that was created long before", pod(4, "long", -400), pod(5, "short", 0)},
		{"a higher priority before all", pod(6, "long", 0, withPriority(1)), short},
		{"of one workload the one created first", pod(7, "long", 3), pod(8, "long", 4)},
		{"of those created at once the one queued first", entry{pod: newPod(9, of("long", now)), since: after(1)}, entry{pod: newPod(10, of("long", now)), since: after(2)}},
		{"a group as its first pod", group{pods: []*v1.Pod{newPod(11, of("short", now)), newPod(12, of("long", now))}, since: now}, pod(13, "long", 0)},
		{"a group without pods by its queueing time", group{since: after(1)}, group{since: after(2)}},
	} {
		if _, isGroup := test.first.(group); isGroup && !queuesGroups {
			continue
		}
		if !s.Less(test.first, test.second) || s.Less(test.second, test.first) {
			t.Errorf("%s: got %t, reversed %t", test.name, s.Less(test.first, test.second), s.Less(test.second, test.first))
		}
	}
}

// TestQueueKeysStay: new knowledge about a workload does not move its pod in a heap; a pod that is
// queued again gets a new key.
func TestQueueKeysStay(t *testing.T) {
	s := newSorted(t, 0, plugin.SpazioArgs{})
	now := s.clock.Now()
	first, second := entry{pod: newPod(1, of("a", now)), since: now}, entry{pod: newPod(2, of("b", now.Add(time.Second))), since: now.Add(time.Second)}
	s.arrive(first.pod, second.pod)
	if !s.Less(first, second) {
		t.Fatal("without knowledge the first pod is not first")
	}
	s.live("a", 3, 100*time.Second, true)
	s.live("b", 3, time.Second, true)
	if !s.Less(first, second) {
		t.Error("the order changed within the queue")
	}
	back := first
	back.since = s.clock.Now()
	if s.Less(back, second) || !s.Less(second, back) {
		t.Error("the pod that was queued again is still first")
	}
}

// TestQueueKeysAreBounded: the keys of gone pods are at most as many as those of waiting pods.
func TestQueueKeysAreBounded(t *testing.T) {
	const waiting = 100
	s := newSorted(t, 0, plugin.SpazioArgs{})
	now := s.clock.Now()
	var pods []*v1.Pod
	for i := range waiting {
		pods = append(pods, newPod(i, of("a", now)))
	}
	s.arrive(pods...)
	first, most := entry{pod: pods[0], since: now}, 0
	for i := range 10_000 {
		s.Less(entry{pod: newPod(i, of("a", now)), since: now}, first)
		most = max(most, s.hub.QueueKeys())
	}
	if most > 2048 {
		t.Errorf("got up to %d keys for %d pods", most, waiting)
	}
	s.live("a", 3, time.Minute, true)
	s.live("b", 3, time.Second, true)
	b := entry{pod: newPod(20_000, of("b", now.Add(time.Second))), since: now}
	for i := range waiting { // keys that were made before anything was known
		if !s.Less(entry{pod: pods[i], since: now}, b) {
			t.Fatalf("the key of waiting pod %d is lost", i)
		}
	}
}

// TestShortestAreWokenFirst, with or without profiles: room goes to the pods that the queue has first.
func TestShortestAreWokenFirst(t *testing.T) {
	for _, profiles := range []string{"Off", "Observe", "On"} {
		t.Run(profiles, func(t *testing.T) {
			s := newSorted(t, 1, plugin.SpazioArgs{Profiles: profiles})
			s.live("short", 3, time.Second, true)
			s.live("long", 3, 100*time.Second, true)
			stream := s.open(s.dial(), nodeName(0))
			stream.settle(agent.Report{Avail: 0})
			now := s.clock.Now()
			s.refuse(
				newPod(0, of("long", now)), newPod(1, of("long", now), withPriority(1)), newPod(2, of("short", now.Add(2*time.Second))),
				newPod(3, of("short", now.Add(time.Second))), newPod(4, of("long", now.Add(-time.Hour))),
			)
			// By priority, then created an hour before, then the short ones.
			var taken []reserve.PodKey
			for _, i := range []int{1, 4, 3, 2, 0} {
				s.woken()
				stream.settle(agent.Report{Avail: 1, Pods: taken})
				s.eventually("a pod is woken", func() bool { return len(s.peek()) > 0 })
				name := newPod(i).Name
				if diff := cmp.Diff(map[string]bool{name: true}, s.peek()); diff != "" {
					t.Fatalf("more room after %d pods woke (-want +got):\n%s", len(taken), diff)
				}
				pod, err := s.pods.Pods("default").Get(name)
				if err != nil {
					t.Fatal(err)
				}
				if _, status := s.schedule(pod, s.infos); !status.IsSuccess() {
					t.Fatal(status.AsError())
				}
				taken = append(taken, keyOf(i))
				stream.settle(agent.Report{Avail: 0, Pods: taken})
			}
		})
	}
}

func TestShortestFirstTakesNoArguments(t *testing.T) {
	if _, err := plugin.NewHub(plugin.HubOptions{}).NewShortestFirst(t.Context(), &runtime.Unknown{}, nil); err == nil {
		t.Error("New accepted arguments")
	}
}
