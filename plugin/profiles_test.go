package plugin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/plugin"
	profiles "github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// profileStore is the part of an API server that stores WorkloadProfiles.
type profileStore struct {
	mu       sync.Mutex
	missing  error
	version  int
	profiles map[string]v1alpha1.WorkloadProfile
	watches  []*watch.FakeWatcher
	asked    int
}

func newProfileStore(profiles ...v1alpha1.WorkloadProfile) *profileStore {
	s := &profileStore{profiles: make(map[string]v1alpha1.WorkloadProfile)}
	for _, p := range profiles {
		s.put(p)
	}
	return s
}

func (s *profileStore) List(metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.missing != nil {
		return nil, s.missing
	}
	list := &v1alpha1.WorkloadProfileList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(s.version)}}
	for _, p := range s.profiles {
		list.Items = append(list.Items, p)
	}
	return list, nil
}

func (s *profileStore) Watch(o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.SendInitialEvents != nil { // as an API server without support for it
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
	}
	if s.missing != nil {
		return nil, s.missing
	}
	w := watch.NewFakeWithChanSize(100, false)
	s.watches = append(s.watches, w)
	return w, nil
}

func (s *profileStore) put(p v1alpha1.WorkloadProfile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	p.ResourceVersion = fmt.Sprint(s.version)
	_, known := s.profiles[p.Name]
	s.profiles[p.Name] = p
	for _, w := range s.watches {
		if known {
			w.Modify(p.DeepCopy())
		} else {
			w.Add(p.DeepCopy())
		}
	}
}

func (s *profileStore) remove(p v1alpha1.WorkloadProfile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	p.ResourceVersion = fmt.Sprint(s.version)
	delete(s.profiles, p.Name)
	for _, w := range s.watches {
		w.Delete(p.DeepCopy())
	}
}

// lose makes the API server answer everything with an error; nil ends that.
func (s *profileStore) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing = err
	for _, w := range s.watches {
		w.Stop()
	}
	s.watches = nil
}

var (
	noDefinition = apierrors.NewNotFound(schema.GroupResource{Resource: v1alpha1.Profiles}, "")
	forbidden    = apierrors.NewForbidden(schema.GroupResource{Resource: v1alpha1.Profiles}, "", errors.New("not for you"))
)

// profileOf returns a certain profile of a Deployment's pods.
func profileOf(name string, at time.Time, cores, bytes float64) v1alpha1.WorkloadProfile {
	of := profiles.Workload{Namespace: "default", Kind: "Deployment", Name: name}
	demand := v1alpha1.FromDemand(profiles.Demand{
		CPU: profiles.Share{Amount: cores, Confidence: 1}, Memory: profiles.Share{Amount: bytes, Confidence: 1},
	})
	return v1alpha1.WorkloadProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: v1alpha1.NameOf(of)},
		Spec:       v1alpha1.WorkloadProfileSpec{Workload: v1alpha1.Reference(of)},
		Status:     v1alpha1.WorkloadProfileStatus{ObservedAt: &metav1.Time{Time: at}, Demand: &demand},
	}
}

// podOfDeployment returns the i-th pod of the named Deployment.
func podOfDeployment(i int, name string) *v1.Pod {
	pod := newPod(i)
	controller := true
	pod.Labels = map[string]string{"pod-template-hash": "abc"}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: name + "-abc", Controller: &controller}}
	return pod
}

const gib = 1 << 30

// measured returns the report of an empty node of 4 cores and 16 GiB with room for so many typical
// pods.
func measured(avail float64) agent.Report {
	return agent.Report{Avail: avail, Limiting: "cpu", Channels: []agent.ChannelReport{
		{Name: agent.CPU, Capacity: 1, Cost: 1. / 8, Room: 1, Most: 1, Unit: 1. / 8},
		{Name: agent.Memory, Capacity: 1, Cost: 1. / 16, Room: 1, Most: 1, Unit: 1. / (16 * gib)},
	}}
}

func (c *cluster) explain(pod *v1.Pod) plugin.Explanation {
	c.t.Helper()
	e, err := c.hub.Explain(pod.Namespace + "/" + pod.Name)
	if err != nil {
		c.t.Fatal(err)
	}
	return e
}

// workload waits until the explanation of a pod's workload is as wanted.
func (c *cluster) workload(pod *v1.Pod, want plugin.WorkloadState) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%s is explained as %+v", pod.Name, want), func() bool {
		e, err := c.hub.Explain(pod.Namespace + "/" + pod.Name)
		if err != nil || e.Workload == nil {
			return false
		}
		got := *e.Workload
		got.Decides = want.Decides // not compared here
		return got == want
	})
}

func known(name string, cores, bytes, confidence float64) plugin.WorkloadState {
	return plugin.WorkloadState{
		Workload: "default/Deployment/" + name, Source: "profile",
		CPU:    plugin.ShareState{Amount: cores, Confidence: confidence},
		Memory: plugin.ShareState{Amount: bytes, Confidence: confidence},
	}
}

// TestProfilesAreObserved: pods are placed as without profiles; decisions that profiles would change
// are explained and counted.
func TestProfilesAreObserved(t *testing.T) {
	clock := newClock()
	heavy, light := podOfDeployment(1, "heavy"), podOfDeployment(2, "light")
	s := newProfileStore(profileOf("heavy", clock.Now(), .5, 12*gib), profileOf("light", clock.Now(), .25, gib))
	c := newCluster(t, setup{nodes: 2, objects: []runtime.Object{heavy, light}, args: plugin.SpazioArgs{Profiles: "Observe"}, options: plugin.HubOptions{Now: clock.Now, Profiles: s}})
	client := c.dial()
	first, second := c.open(client, nodeName(0)), c.open(client, nodeName(1))
	first.settle(measured(4))
	second.settle(agent.Report{Saturated: true})
	c.workload(heavy, known("heavy", .5, 12*gib, 1))
	c.workload(light, known("light", .25, gib, 1))

	refused, admitted := c.differences()
	for _, pod := range []*v1.Pod{heavy, podOfDeployment(3, "heavy")} {
		state, feasible, _ := c.attempt(pod, c.infos)
		if len(feasible) != 1 {
			t.Fatalf("%s: %d feasible nodes, want that with room for typical pods", pod.Name, len(feasible))
		}
		if status := c.Reserve(t.Context(), state, pod, nodeName(0)); !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
	}
	if r, a := c.differences(); r != refused+1 || a != admitted {
		t.Errorf("%v decisions to refuse and %v to admit would differ, want 1 and 0", r-refused, a-admitted)
	}
	e := c.explain(light)
	if e.Nodes[0].Reason != "slow start" || e.Nodes[0].ByProfile != "no memory" || e.Nodes[1].ByProfile != "saturated" {
		t.Errorf("two pods of 12 GiB are on their way to 16: %+v", e.Nodes)
	}

	// A node without room for a typical pod has some for a light one.
	small := measured(.5)
	second.settle(small)
	first.settle(agent.Report{Saturated: true})
	if _, feasible, _ := c.attempt(light, c.infos); len(feasible) != 0 {
		t.Fatalf("nodes without room for a typical pod are feasible")
	}
	c.refused(light)
	clock.advance(reserve.DefaultMaxWait)
	first.settle(agent.Report{Saturated: true})
	second.settle(small)
	if node := c.place(light); node != nodeName(1) {
		t.Fatalf("the overdue pod went to %q", node)
	}
	if r, a := c.differences(); r != refused+1 || a != admitted+1 {
		t.Errorf("%v decisions to refuse and %v to admit would differ, want 1 and 1", r-refused, a-admitted)
	}
}

// TestProfilesUpdateDemands: a new profile changes the demand of its pods in flight at once.
func TestProfilesUpdateDemands(t *testing.T) {
	clock := newClock()
	pod, probe := podOfDeployment(1, "web"), podOfDeployment(2, "other")
	web, other := profileOf("web", clock.Now(), .5, gib), profileOf("other", clock.Now(), .25, 4*gib)
	s := newProfileStore(other)
	c := newCluster(t, setup{nodes: 1, objects: []runtime.Object{pod, probe}, options: plugin.HubOptions{Now: clock.Now, Profiles: s}})
	c.open(c.dial(), nodeName(0)).settle(measured(4))
	c.workload(probe, known("other", .25, 4*gib, 1))
	state, _, _ := c.attempt(pod, c.infos)
	if status := c.Reserve(t.Context(), state, pod, nodeName(0)); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	verdict := func(when, want string) {
		t.Helper()
		c.eventually(fmt.Sprintf("%s the other pod is %s", when, want), func() bool { return c.explain(probe).Nodes[0].ByProfile == want })
	}
	verdict("beside a typical pod", "admitted")
	web.Status = profileOf("web", clock.Now(), .5, 13*gib).Status
	s.put(web)
	verdict("beside one of 13 GiB", "no memory")
	web.Spec.Mode = v1alpha1.Off
	s.put(web)
	verdict("beside one whose profile is off", "admitted")
	web.Spec.Mode = v1alpha1.On
	s.put(web)
	verdict("beside one of 13 GiB again", "no memory")
	s.remove(web)
	verdict("beside one without a profile", "admitted")
	s.put(web)
	verdict("beside one of 13 GiB once more", "no memory")
	c.Unreserve(t.Context(), state, pod, nodeName(0))
	verdict("once it is gone", "admitted")
}

// TestPodsFromBeforeGetDemands: a starting scheduler knows the pods in flight before it knows the
// profiles.
func TestPodsFromBeforeGetDemands(t *testing.T) {
	clock := newClock()
	bound, probe := podOfDeployment(1, "web"), podOfDeployment(2, "other")
	bound.Spec.NodeName = nodeName(0)
	s := newProfileStore(profileOf("other", clock.Now(), .25, 4*gib), profileOf("web", clock.Now(), .5, 13*gib))
	s.lose(noDefinition)
	c := newCluster(t, setup{
		nodes: 1, objects: []runtime.Object{bound, probe},
		options: plugin.HubOptions{Now: clock.Now, Profiles: s, ProfilesRetry: 10 * time.Millisecond},
	})
	c.open(c.dial(), nodeName(0)).settle(measured(4))
	if e := c.explain(probe); e.Workload != nil {
		t.Fatalf("without profiles: got workload %+v", e.Workload)
	}
	s.lose(nil)
	c.eventually("the profiles are there and the bound pod has its demand", func() bool {
		return c.explain(probe).Nodes[0].ByProfile == "no memory"
	})
}

// Of the two pods in a node's report one has a profiled workload, and both are listed accordingly.
func TestKnownPodsAreCounted(t *testing.T) {
	web, other := podOfDeployment(1, "web"), podOfDeployment(2, "other")
	web.Spec.NodeName, other.Spec.NodeName = nodeName(0), nodeName(0)
	s := newProfileStore(profileOf("web", time.Now(), .5, gib))
	c := newCluster(t, setup{nodes: 2, objects: []runtime.Object{web, other}, options: plugin.HubOptions{Profiles: s}})
	report := measured(4)
	report.Pods = []reserve.PodKey{reserve.KeyOf(string(web.UID)), reserve.KeyOf(string(other.UID))}
	slices.Sort(report.Pods)
	c.open(c.dial(), nodeName(0)).settle(report)
	c.eventually("one of two is known", func() bool {
		w := httptest.NewRecorder()
		c.hub.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		var got plugin.Status
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		known := got.Nodes[0].Known
		return known != nil && *known == 1 && got.Nodes[0].Running == 2 && got.Nodes[1].Known == nil
	})
	e, err := c.hub.ExplainNode(nodeName(0))
	if err != nil || len(e.Pods) != 2 {
		t.Fatalf("%+v, %v", e.Pods, err)
	}
	for _, pod := range e.Pods {
		if want := map[types.UID]string{web.UID: "profile", other.UID: "typical"}[pod.UID]; pod.Source != want {
			t.Errorf("%s is known by %q, want %q", pod.Pod, pod.Source, want)
		}
	}
}

// TestProfilesGoAndComeBack: after the API server loses the definition, or forbids reading it, the
// plugin retries, and meanwhile no workload is known.
func TestProfilesGoAndComeBack(t *testing.T) {
	for name, gone := range map[string]error{"no definition": noDefinition, "forbidden": forbidden} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			pod := podOfDeployment(1, "web")
			s := newProfileStore(profileOf("web", clock.Now(), .5, gib))
			c := newCluster(t, setup{
				nodes: 1, objects: []runtime.Object{pod},
				options: plugin.HubOptions{Now: clock.Now, Profiles: s, ProfilesRetry: 10 * time.Millisecond},
			})
			c.workload(pod, known("web", .5, gib, 1))
			s.lose(gone)
			c.eventually("profiles are off", func() bool { return c.explain(pod).Workload == nil })
			s.lose(nil)
			c.workload(pod, known("web", .5, gib, 1))
		})
	}
}

func TestProfilesOff(t *testing.T) {
	s := newProfileStore(profileOf("web", time.Now(), .5, gib))
	pod := podOfDeployment(1, "web")
	c := newCluster(t, setup{nodes: 1, objects: []runtime.Object{pod}, args: plugin.SpazioArgs{Profiles: "Off"}, options: plugin.HubOptions{Profiles: s}})
	if e := c.explain(pod); e.Workload != nil || s.asked > 0 {
		t.Errorf("asked %d times for %+v", s.asked, e.Workload)
	}
}

// TestProfilesAge: the confidence of old observations is lower.
func TestProfilesAge(t *testing.T) {
	clock := newClock()
	pod := podOfDeployment(1, "web")
	c := newCluster(t, setup{
		nodes: 1, objects: []runtime.Object{pod}, args: plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Hour}},
		options: plugin.HubOptions{Now: clock.Now, Profiles: newProfileStore(profileOf("web", clock.Now(), .5, gib))},
	})
	c.workload(pod, known("web", .5, gib, 1))
	clock.advance(24 * time.Hour)
	c.workload(pod, known("web", .5, gib, .5))
	clock.advance(24 * time.Hour)
	c.workload(pod, known("web", .5, gib, .25))
	clock.advance(240 * time.Hour)
	c.workload(pod, plugin.WorkloadState{Workload: "default/Deployment/web", Source: "typical"})
}

// TestInvalidProfiles have no effect, and end that of the valid ones before them.
func TestInvalidProfiles(t *testing.T) {
	clock := newClock()
	pod := podOfDeployment(1, "web")
	stranger := profileOf("web", clock.Now(), 3, gib)
	stranger.Name = "by-hand"
	s := newProfileStore(profileOf("web", clock.Now(), .5, gib), stranger)
	c := newCluster(t, setup{nodes: 1, objects: []runtime.Object{pod}, options: plugin.HubOptions{Now: clock.Now, Profiles: s}})
	c.workload(pod, known("web", .5, gib, 1))
	bad := profileOf("web", clock.Now(), .5, gib)
	bad.Status.Demand.CPU.Confidence = "2"
	s.put(bad)
	c.workload(pod, plugin.WorkloadState{Workload: "default/Deployment/web", Source: "typical"})
}

// differences returns the decisions so far that profiles would reverse.
func (c *cluster) differences() (refuse, admit float64) {
	c.t.Helper()
	name := "spazio_profile_observed_differences_total"
	return c.metric(name + `{decision="refuse"}`), c.metric(name + `{decision="admit"}`)
}
