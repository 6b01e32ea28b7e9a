package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	"github.com/spazio-scheduler/spazio/reserve"
)

// replica is a running Controller with its Store.
type replica struct {
	*controller.Controller
	server   *apiServer
	store    *profiler.Store
	registry *prometheus.Registry
	sequence uint64
	stop     func()
}

func start(t *testing.T, s *apiServer, store profiler.Config, c controller.Config) *replica {
	t.Helper()
	r := &replica{server: s, registry: prometheus.NewRegistry()}
	var err error
	if r.store, err = profiler.New(store); err != nil {
		t.Fatal(err)
	}
	c.Store, c.REST, c.LeaseNamespace, c.Registerer = r.store, s.config(), "system", r.registry
	if r.Controller, err = controller.New(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stopped := false
	r.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	}
	t.Cleanup(r.stop)
	eventually(t, "the replica leads and knows the pods", func() bool { return r.gauge("spazio_profiler_leader", "") == 1 && r.Ready() == nil })
	return r
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// podOf returns the nth pod of a Deployment, as its controllers make it.
func podOf(deployment string, n int) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("%s-5d4f8c7b9-%05d", deployment, n), UID: types.UID(fmt.Sprintf("%s-%d", deployment, n)),
			Labels:          map[string]string{"pod-template-hash": "5d4f8c7b9"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9", UID: "1", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/" + deployment}}},
	}
}

// measure creates the nth pod of a Deployment, and reports its usage.
func (r *replica) measure(t *testing.T, deployment string, n int, cores, memory float64) {
	t.Helper()
	pod := podOf(deployment, n)
	r.server.pod(pod)
	r.window(string(pod.UID), cores, memory)
}

func (r *replica) window(uid string, cores, memory float64) { r.throttled(uid, cores, memory, 0) }

// throttled is window of a pod whose limit held it up in a share of its periods.
func (r *replica) throttled(uid string, cores, memory, share float64) {
	periods := uint32(600 * min(1, math.Ceil(share)))
	r.sequence++
	r.store.Windows(time.Now(), agent.UsageBatch{Node: "node", Incarnation: 1, Sequence: r.sequence, Windows: []agent.Window{{
		Pod:   reserve.KeyOf(uid),
		Usage: profile.Usage{Age: time.Hour, Span: time.Minute, CPU: 60 * cores, Pressure: true, Memory: memory, MemoryPeak: memory, Periods: periods, ThrottledPeriods: uint32(600 * share)},
	}}})
}

// pathOf returns the path of a Deployment's profile.
func pathOf(deployment string) string {
	return group + "/namespaces/default/workloadprofiles/" + v1alpha1.NameOf(workload(deployment))
}

func workload(deployment string) profile.Workload {
	return profile.Workload{Namespace: "default", Kind: "Deployment", Name: deployment}
}

// published waits for an expected profile of a Deployment.
func (r *replica) published(t *testing.T, deployment string, ok func(*v1alpha1.WorkloadProfile) bool) *v1alpha1.WorkloadProfile {
	t.Helper()
	var p *v1alpha1.WorkloadProfile
	eventually(t, "the profile of "+deployment+" is published", func() bool {
		p = r.server.profile(pathOf(deployment))
		return p != nil && p.Status.Demand != nil && ok(p)
	})
	return p
}

// again measures a pod until its workload's profile is published, because on a slow machine it may
// be forgotten before.
func (r *replica) again(t *testing.T, deployment string, memory float64) *v1alpha1.WorkloadProfile {
	t.Helper()
	r.measure(t, deployment, 1, .5, memory)
	var p *v1alpha1.WorkloadProfile
	eventually(t, "the profile of "+deployment+" is published", func() bool {
		r.window(string(podOf(deployment, 1).UID), .5, memory)
		p = r.server.profile(pathOf(deployment))
		return p != nil && p.Status.Demand != nil && about(memory)(p)
	})
	return p
}

// about accepts an amount of memory, which is published rounded up.
func about(memory float64) func(*v1alpha1.WorkloadProfile) bool {
	return func(p *v1alpha1.WorkloadProfile) bool {
		d, err := p.Status.Demand.Value()
		return err == nil && d.Memory.Amount >= memory && d.Memory.Amount < 1.2*memory
	}
}

func conditions(p *v1alpha1.WorkloadProfile) map[string]bool {
	held := map[string]bool{}
	for _, c := range p.Status.Conditions {
		held[c.Type] = c.Status == metav1.ConditionTrue
	}
	return held
}

func TestAMeasuredWorkloadIsPublished(t *testing.T) {
	r := start(t, newAPIServer(t), profiler.Config{}, controller.Config{})
	r.measure(t, "web", 1, .5, 1e9)
	p := r.published(t, "web", about(1e9))
	if p.Spec != (v1alpha1.WorkloadProfileSpec{Workload: v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}}) {
		t.Errorf("spec %+v", p.Spec)
	}
	held := conditions(p)
	if !held[v1alpha1.Ready] || held[v1alpha1.Stale] || held[v1alpha1.Contradicted] || len(held) != 3 {
		t.Errorf("conditions %v", held)
	}
	if p.Status.Pods != 1 || p.Status.ObservedAt == nil || p.Status.Recommendation == nil || p.Status.Revision != "5d4f8c7b9" {
		t.Errorf("status %+v", p.Status)
	}
}

// A profile's spec is followed, and stays as it is.
func TestTheSpecIsTheOwners(t *testing.T) {
	s := newAPIServer(t)
	asked := &v1alpha1.WorkloadProfile{TypeMeta: metav1.TypeMeta{Kind: "WorkloadProfile", APIVersion: v1alpha1.GroupVersion.String()}}
	asked.Namespace, asked.Name, asked.Labels = "default", v1alpha1.NameOf(workload("web")), map[string]string{"team": "shop"}
	most := resource.MustParse("512Mi")
	asked.Spec = v1alpha1.WorkloadProfileSpec{
		Workload: v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}, Mode: v1alpha1.On, Preset: "vpa", MaxAllowed: &v1alpha1.Bounds{Memory: &most},
	}
	s.make(pathOf("web"), asked)
	r := start(t, s, profiler.Config{Forget: time.Second}, controller.Config{})
	p := r.again(t, "web", 4e9)
	if p.Spec.Mode != v1alpha1.On || p.Spec.Preset != "vpa" || p.Spec.MaxAllowed == nil || p.Spec.MaxAllowed.Memory.Cmp(most) != 0 || p.Labels["team"] != "shop" {
		t.Errorf("the owner's part is now %+v, labels %v", p.Spec, p.Labels)
	}
	got := p.Status.Recommendation.ContainerRecommendations[0]
	if got.Target.Memory.Cmp(most) != 0 || got.UncappedTarget.Memory.Cmp(most) <= 0 {
		t.Errorf("recommended %v, without the bounds %v", got.Target.Memory, got.UncappedTarget.Memory)
	}
	// A forgotten profile with a spec is not deleted, because it is the owner's.
	eventually(t, "the workload is forgotten", func() bool {
		r.store.Changed(time.Now(), 0)
		return r.store.Stats().Forgotten > 0
	})
	r.again(t, "other", 1e9)
	if s.written("DELETE", "") != 0 || s.profile(pathOf("web")) == nil {
		t.Errorf("writes %v", s.writes)
	}
}

// After a conflict a profile is read and written again.
func TestConflicts(t *testing.T) {
	s := newAPIServer(t)
	r := start(t, s, profiler.Config{}, controller.Config{})
	r.measure(t, "web", 1, .5, 1e9)
	r.published(t, "web", about(1e9))
	s.mu.Lock()
	s.conflict = 1
	s.mu.Unlock()
	s.edit(t, pathOf("web"), func(o object) { o["metadata"].(map[string]any)["labels"] = object{"edited": "yes"} })
	r.window(string(podOf("web", 1).UID), .5, 4e9)
	p := r.published(t, "web", about(4e9))
	if p.Labels["edited"] != "yes" {
		t.Errorf("labels %v", p.Labels)
	}
	eventually(t, "the conflict counts", func() bool {
		families, err := r.registry.Gather()
		if err != nil {
			return false
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "spazio_profiler_writes_total" && strings.Contains(m.String(), `"conflict"`) {
					return m.GetCounter().GetValue() >= 1
				}
			}
		}
		return false
	})
}

// Writes that fail repeatedly are retried ever later.
func TestFailuresInARow(t *testing.T) {
	s := newAPIServer(t)
	r := start(t, s, profiler.Config{}, controller.Config{})
	names := []string{"a", "b", "c"}
	for _, name := range names {
		r.measure(t, name, 1, .5, 1e9)
		r.published(t, name, about(1e9))
	}
	s.mu.Lock()
	s.conflict = 4 // an update and its second try, twice
	s.mu.Unlock()
	for _, name := range names {
		r.window(string(podOf(name, 1).UID), .5, 4e9)
	}
	eventually(t, "one is written after two that failed", func() bool {
		for _, name := range names {
			if about(4e9)(s.profile(pathOf(name))) {
				return true
			}
		}
		return false
	})
}

// A deleted profile is written again, also if it is deleted before the writer gets its answer.
func TestADeletedProfileComesAgain(t *testing.T) {
	s := newAPIServer(t)
	var r *replica
	published := func() bool {
		all := r.store.State(time.Now()).Workloads
		return len(all) == 1 && !all[0].PublishedAt.IsZero()
	}
	var once sync.Once
	started := make(chan struct{})
	s.after = func(method, path string) {
		if method == "PUT" && strings.Contains(path, "/workloadprofiles/") {
			once.Do(func() {
				<-started
				eventually(t, "the write is seen", published)
				s.remove(pathOf("web"))
				eventually(t, "the deletion is seen", func() bool { return !published() })
			})
		}
	}
	r = start(t, s, profiler.Config{}, controller.Config{})
	close(started)
	r.measure(t, "web", 1, .5, 1e9)
	eventually(t, "the profile is made again", func() bool { return s.written("POST", "/workloadprofiles") == 2 })
	r.published(t, "web", about(1e9))
	s.remove(pathOf("web"))
	eventually(t, "and again", func() bool { return s.written("POST", "/workloadprofiles") == 3 })
	r.published(t, "web", about(1e9))
}

// A waiting write has the state of its turn, not the earlier one.
func TestTheNewestWins(t *testing.T) {
	s := newAPIServer(t)
	held, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	s.before = func(method, path string) {
		if method == "PUT" && strings.Contains(path, "blocker") && first.CompareAndSwap(false, true) {
			close(held)
			<-release
		}
	}
	r := start(t, s, profiler.Config{}, controller.Config{})
	r.measure(t, "blocker", 1, .5, 1e9)
	<-held
	r.measure(t, "web", 1, .1, 1e8)
	const newest = 8
	for n := 2; n <= newest; n++ {
		r.measure(t, "web", n, .1, 1e8)
	}
	eventually(t, "all windows are in the store", func() bool { return r.store.Stats().Windows[profiler.Accepted] == newest+1 })
	close(release)
	p := r.published(t, "web", about(1e8))
	if n := s.written("PUT", v1alpha1.NameOf(workload("web"))); p.Status.Pods != newest || n != 1 {
		t.Errorf("a profile of %d pods after %d writes", p.Status.Pods, n)
	}
}

// However many writes wait, at most WriteRate requests a second are made, and at most four seconds'
// worth at once.
func TestWritesAreBounded(t *testing.T) {
	const rate, workloads = 20, 60
	s := newAPIServer(t)
	all := make(chan struct{})
	s.before = func(string, string) { <-all }
	began := time.Now()
	r := start(t, s, profiler.Config{Refresh: time.Second}, controller.Config{WriteRate: rate})
	for n := range workloads {
		r.measure(t, fmt.Sprint("web-", n), 1, .5, 1e9)
	}
	eventually(t, "all are measured", func() bool { return r.store.Stats().Windows[profiler.Accepted] == workloads })
	close(all)
	eventually(t, "all are published", func() bool {
		writes, elapsed := float64(s.written("", "")), time.Since(began).Seconds()
		// A missing profile takes two requests: the budget is checked before.
		if most := 4*rate + rate*elapsed + 2; writes > most {
			t.Fatalf("%v writes in %.2f s, at most %.0f", writes, elapsed, most)
		}
		for n := range workloads {
			if p := s.profile(pathOf(fmt.Sprint("web-", n))); p == nil || p.Status.Demand == nil {
				return false
			}
		}
		return true
	})
	// While profiles waited, a quarter of the turns were checkpoints'.
	s.mu.Lock()
	defer s.mu.Unlock()
	saved, made := 0, 0
	for _, w := range s.writes {
		switch {
		case !strings.HasPrefix(w, "POST"):
		case strings.Contains(w, "checkpoints"):
			saved++
		default:
			made++
		}
		if made == workloads {
			break
		}
		if saved > made/3+1 {
			t.Fatalf("%d checkpoints beside %d new profiles", saved, made)
		}
	}
	if saved == 0 {
		t.Error("no checkpoint before the last new profile")
	}
}

// A missing right is named.
func TestAMissingRightIsShown(t *testing.T) {
	s := newAPIServer(t)
	s.denied = "patch"
	r := start(t, s, profiler.Config{}, controller.Config{})
	eventually(t, "the right is said to be missing", func() bool {
		families, err := r.registry.Gather()
		if err != nil {
			return false
		}
		missing, granted := 0, 0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() != "spazio_profiler_missing_rights" {
					continue
				}
				if m.GetGauge().GetValue() == 0 {
					granted++
				} else if strings.Contains(m.String(), "workloadprofilecheckpoints") {
					missing++
				}
			}
		}
		return missing == 1 && missing+granted == len(controller.Rights())
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.leases) < 2 || s.leases[0] != "system/spazio-profiler" {
		t.Errorf("asked about the leases %q", s.leases)
	}
}

// A role has one rule for each resource, with all used verbs; that of the lease names it.
func TestRules(t *testing.T) {
	verbs := map[string][]string{}
	for _, rule := range controller.Rules(controller.Rights(controller.ForExport)) {
		if len(rule.Resources) != 1 || len(rule.APIGroups) != 1 {
			t.Fatalf("%+v", rule)
		}
		name := rule.APIGroups[0] + " " + rule.Resources[0]
		if verbs[name] != nil {
			t.Errorf("two rules of %s", name)
		}
		verbs[name] = rule.Verbs
		if lease := rule.Resources[0] == "leases"; lease != (len(rule.ResourceNames) == 1 && rule.ResourceNames[0] == controller.LeaseName) {
			t.Errorf("%s: names %v", name, rule.ResourceNames)
		}
	}
	for name, want := range map[string][]string{
		" pods": {"list", "watch"}, "coordination.k8s.io leases": {"get", "update"},
		"profile.spazio-scheduler.github.io workloadprofiles/status": {"update"},
		"webapp.liqo.io.profiling connectionprofiles":                {"list", "watch", "create", "patch", "delete"},
	} {
		if !slices.Equal(verbs[name], want) {
			t.Errorf("%s: %v, want %v", name, verbs[name], want)
		}
	}
}

// A store's and its server's counts are exported.
func TestCollector(t *testing.T) {
	store, err := profiler.New(profiler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"web", "cart"} {
		for n := range 2 {
			store.Pod(time.Now(), profiler.Pod{UID: fmt.Sprint(name, n), Node: "node", Workload: workload(name)})
		}
	}
	for i, ago := range []time.Duration{0, 4 * time.Minute, 6 * time.Minute} {
		store.Windows(time.Now().Add(-ago), agent.UsageBatch{Node: fmt.Sprint("node-", i), Incarnation: 1, Sequence: 1})
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(profiler.Collector(profiler.NewServer(store, profiler.ServerConfig{})))
	want := `
# HELP spazio_profiler_nodes Nodes whose agents sent windows within five minutes.
# TYPE spazio_profiler_nodes gauge
spazio_profiler_nodes 2
# HELP spazio_profiler_pods Pods that are known.
# TYPE spazio_profiler_pods gauge
spazio_profiler_pods 4
# HELP spazio_profiler_unpublished_workloads Workloads that wait to be published.
# TYPE spazio_profiler_unpublished_workloads gauge
spazio_profiler_unpublished_workloads 0
# HELP spazio_profiler_workloads Workloads that are known.
# TYPE spazio_profiler_workloads gauge
spazio_profiler_workloads 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "spazio_profiler_nodes", "spazio_profiler_pods",
		"spazio_profiler_unpublished_workloads", "spazio_profiler_workloads"); err != nil {
		t.Error(err)
	}
}

// A window of a restarted container counts for the container.
func TestContainersOfBefore(t *testing.T) {
	s := newAPIServer(t)
	r := start(t, s, profiler.Config{}, controller.Config{})
	pod := podOf("web", 1)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "main", ContainerID: "containerd://now", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "containerd://before"}}},
		{Name: "side", ContainerID: "containerd://side"},
	}
	s.pod(pod)
	for _, id := range []string{"now", "before", "side"} {
		r.sequence++
		r.store.Windows(time.Now(), agent.UsageBatch{Node: "node", Incarnation: 1, Sequence: r.sequence, Windows: []agent.Window{{
			Pod: reserve.KeyOf(string(pod.UID)), Container: uint64(reserve.KeyOf(id)),
			Usage: profile.Usage{Age: time.Hour, Span: time.Minute, CPU: 30, Memory: 1e9},
		}}})
	}
	eventually(t, "all windows count", func() bool { return r.store.Stats().Windows[profiler.Accepted] == 3 })
}

// A node knows a static pod by the UID in an annotation of its mirror.
func TestStaticPods(t *testing.T) {
	s := newAPIServer(t)
	r := start(t, s, profiler.Config{}, controller.Config{})
	const onNode = "0123456789abcdef0123456789abcdef"
	pod := podOf("proxy", 1)
	pod.Name, pod.Labels, pod.Annotations = "proxy-node", nil, map[string]string{corev1.MirrorPodAnnotationKey: onNode}
	pod.OwnerReferences[0] = metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "node", UID: "1", Controller: new(true)}
	s.pod(pod)
	r.window(onNode, .5, 1e9)
	path := group + "/namespaces/default/workloadprofiles/" + v1alpha1.NameOf(profile.Workload{Namespace: "default", Kind: "StaticPod", Name: "proxy"})
	eventually(t, "the static pod's profile is published", func() bool {
		p := s.profile(path)
		return p != nil && p.Status.Demand != nil
	})
}

// Three pods with other usage than known set a condition and emit an event.
func TestContradictions(t *testing.T) {
	s := newAPIServer(t)
	r := start(t, s, profiler.Config{}, controller.Config{})
	for n := range 5 {
		r.measure(t, "web", n, .5, 1e8)
	}
	r.published(t, "web", about(1e8))
	for n := 5; n < 8; n++ {
		r.measure(t, "web", n, .5, 4e9)
	}
	p := r.published(t, "web", about(4e9))
	if !conditions(p)[v1alpha1.Contradicted] {
		t.Errorf("conditions %v", conditions(p))
	}
	eventually(t, "there is an event", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range s.events {
			if e["reason"] == v1alpha1.Contradicted && e["regarding"].(map[string]any)["name"] == p.Name {
				return true
			}
		}
		return false
	})
}

// A workload that is not seen for long is deleted, with its profile.
func TestForgottenWorkloadsAreDeleted(t *testing.T) {
	s := newAPIServer(t)
	r := start(t, s, profiler.Config{Forget: 2 * time.Second, Refresh: time.Second}, controller.Config{})
	r.again(t, "web", 1e9)
	// A window that came after the workload was forgotten makes it known again.
	eventually(t, "it is deleted, with what is known of it", func() bool {
		return s.profile(pathOf("web")) == nil && r.store.Stats().Workloads == 0
	})
}

// A profile that another process wrote, and that was not measured for a day, becomes stale; its age
// stays.
func TestIdleWorkloadsAreSaidToBeStale(t *testing.T) {
	s := newAPIServer(t)
	r := start(t, s, profiler.Config{Refresh: 200 * time.Millisecond}, controller.Config{})
	r.measure(t, "web", 1, .5, 1e9)
	r.published(t, "web", about(1e9))
	eventually(t, "it is in a checkpoint", func() bool { return s.written("POST", "checkpoints") > 0 })
	r.stop()
	longAgo := time.Now().Add(-25 * time.Hour).Truncate(time.Second)
	s.edit(t, pathOf("web"), func(o object) {
		o["status"].(map[string]any)["observedAt"] = longAgo.UTC().Format(time.RFC3339)
	})
	next := start(t, s, profiler.Config{Refresh: 200 * time.Millisecond}, controller.Config{})
	p := next.published(t, "web", func(p *v1alpha1.WorkloadProfile) bool { return conditions(p)[v1alpha1.Stale] })
	if !p.Status.ObservedAt.Time.Equal(longAgo) || !about(1e9)(p) {
		t.Errorf("observed at %v, want %v; demand %+v", p.Status.ObservedAt, longAgo, p.Status.Demand)
	}
	if at := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.Stale).LastTransitionTime; !at.Time.Equal(longAgo.Add(24 * time.Hour)) {
		t.Errorf("stale since %v", at)
	}
	next.measure(t, "web", 2, .5, 1e9)
	next.published(t, "web", func(p *v1alpha1.WorkloadProfile) bool { return !conditions(p)[v1alpha1.Stale] })
}

// A process that begins after another was killed reads its checkpoints, except malformed ones.
func TestCheckpointsAreRestored(t *testing.T) {
	s := newAPIServer(t)
	config := profiler.Config{Refresh: 200 * time.Millisecond}
	r := start(t, s, config, controller.Config{})
	const workloads = 20
	for n := range workloads {
		r.measure(t, fmt.Sprint("web-", n), 1, .5, 1e8*float64(n+1))
	}
	saved := func() (n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, path := range s.of(group+"/namespaces/system/", "workloadprofilecheckpoints") {
			all, _ := s.objects[path]["workloads"].([]any)
			n += len(all)
		}
		return n
	}
	eventually(t, "all are in checkpoints", func() bool { return saved() == workloads })
	r.stop()

	spoilt := ""
	s.mu.Lock()
	spoilt = s.of(group, "workloadprofilecheckpoints")[0]
	s.mu.Unlock()
	lost := 0
	s.edit(t, spoilt, func(o object) {
		all, _ := o["workloads"].([]any)
		lost = len(all)
		for _, w := range all {
			w.(map[string]any)["data"] = "bm90aGluZw=="
		}
	})
	next := start(t, s, config, controller.Config{})
	state := next.store.State(time.Now())
	known := 0
	for _, w := range state.Workloads {
		if w.Pods == 1 && w.Demand.Memory.Confidence > 0 {
			known++
		}
	}
	if known != workloads-lost || lost == 0 {
		t.Errorf("%d workloads are known of %d, %d of them spoilt", known, workloads, lost)
	}
	want := fmt.Sprintf(`
		# HELP spazio_profiler_checkpoints_total Workloads' checkpoints found at the start, by what came of them.
		# TYPE spazio_profiler_checkpoints_total counter
		spazio_profiler_checkpoints_total{result="refused"} %d
		spazio_profiler_checkpoints_total{result="restored"} %d
	`, lost, workloads-lost)
	if err := testutil.GatherAndCompare(next.registry, strings.NewReader(want), "spazio_profiler_checkpoints_total"); err != nil {
		t.Error(err)
	}
}

// A profile with another name than its workload's is skipped.
func TestStrangeProfilesArePassedOver(t *testing.T) {
	s := newAPIServer(t)
	strange := &v1alpha1.WorkloadProfile{TypeMeta: metav1.TypeMeta{Kind: "WorkloadProfile", APIVersion: v1alpha1.GroupVersion.String()}}
	strange.Namespace, strange.Name, strange.Spec.Workload = "default", "mine", v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}
	s.make(group+"/namespaces/default/workloadprofiles/mine", strange)
	r := start(t, s, profiler.Config{}, controller.Config{})
	r.measure(t, "web", 1, .5, 1e9)
	r.published(t, "web", about(1e9))
	if got := s.profile(group + "/namespaces/default/workloadprofiles/mine"); got.Status.Demand != nil {
		t.Errorf("status %+v", got.Status)
	}
}

func TestConfigIsChecked(t *testing.T) {
	store, err := profiler.New(profiler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	good := controller.Config{Store: store, REST: newAPIServer(t).config()}
	for name, spoil := range map[string]func(*controller.Config){
		"Store": func(c *controller.Config) { c.Store = nil }, "REST": func(c *controller.Config) { c.REST = nil },
		"WriteRate": func(c *controller.Config) { c.WriteRate = -1 },
	} {
		c := good
		spoil(&c)
		bad := (*field.Error)(nil)
		if _, err := controller.New(c); !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, profiler.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := controller.New(good); err != nil {
		t.Error(err)
	}
}
