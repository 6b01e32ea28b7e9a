package profiles

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// waitSource waits until the scheduler has a pod's workload from this source; empty means that profiles
// are off.
func waitSource(t *testing.T, hub *plugin.Hub, pod *corev1.Pod, source string, ok func(plugin.WorkloadState) bool) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%s is known by its %q", pod.Name, source), func() (bool, any) {
		e, err := hub.Explain(pod.Namespace + "/" + pod.Name)
		if err != nil {
			return false, err
		}
		if e.Workload == nil {
			return source == "", "off"
		}
		return e.Workload.Source == source && (ok == nil || ok(*e.Workload)), fmt.Sprintf("%+v", *e.Workload)
	})
}

// unique returns a name that no earlier run in the process has used.
func unique(name string) string { return fmt.Sprint(name, "-", time.Now().UnixNano()) }

// schedulerAccount gives a scheduler's service account the manifests' permissions, with the given verbs
// on profiles, and returns its kubeconfig.
func schedulerAccount(t *testing.T, client kubernetes.Interface, account string, verbs ...string) string {
	t.Helper()
	bind := func(role string) {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account + "-" + strings.ReplaceAll(role, ":", "-")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: account}},
		}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(verbs) > 0 {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{v1alpha1.Profiles}, Verbs: verbs},
		}}
		if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		bind(account)
	}
	bind("system:kube-scheduler")
	bind("system:volume-scheduler")
	config, err := cluster.Plane(t).ServiceAccountConfig(t.Context(), metav1.NamespaceDefault, account)
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/kubeconfig"
	if err := embedded.WriteKubeconfig(file, config); err != nil {
		t.Fatal(err)
	}
	return file
}

func deciding() plugin.SpazioArgs { return plugin.SpazioArgs{Profiles: "On"} }

func often() plugin.HubOptions { return plugin.HubOptions{ProfilesRetry: 200 * time.Millisecond} }

// startDeciding starts such a scheduler, a profiler and three nodes for both.
func startDeciding(t *testing.T, client kubernetes.Interface, name string) (*plugin.Hub, *process, *fleet) {
	t.Helper()
	hub, _ := cluster.StartScheduler(t, schedulerAccount(t, client, unique(name), "list", "watch"), deciding(), often())
	p := startProfiler(t, grant(t, client, unique("of-"+name), controller.Rights()), "--refresh", "1s")
	f := startFleet(t, client, 3, hub.Addr().String(), p.address)
	cluster.WaitSignals(t, hub, "fresh", 3)
	return hub, p, f
}

// metric returns the value of a counter of this process, by its name and label.
func metric(t *testing.T, name, label string) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if label == "" || len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// The metrics of a scheduler that ranks by energy, besides kube-scheduler's own, follow Prometheus'
// rules.
func TestSchedulersMetricsPassTheLinter(t *testing.T) {
	client, _ := cluster.Connect(t)
	cluster.StartScheduler(t, schedulerAccount(t, client, unique("linted"), "list", "watch"), plugin.SpazioArgs{EnergyWeight: .5}, often())
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for i, f := range families {
		if !strings.HasPrefix(f.GetName(), "spazio_") {
			continue
		}
		ours++
		if problems, err := promlint.NewWithMetricFamilies(families[i : i+1]).Lint(); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
	}
	if ours < 20 {
		t.Errorf("got %d metrics of ours", ours)
	}
}

// Pods of a heavy and a light workload are placed correctly from the second pod on, and remain so
// whatever happens to their profiles.
func TestProfilesDecideWhereTheyLand(t *testing.T) {
	client, objects := connect(t)
	hub, p, f := startDeciding(t, client, "deciding")

	// The first ones have no profile.
	f.submit(f.heavy, 1, 1)
	f.submit(f.light, 1, 1)
	f.waitBound(f.heavy, 1)
	f.waitBound(f.light, 1)
	heavy, light := f.pod(f.heavy, 1), f.pod(f.light, 1)
	waitSource(t, hub, heavy, "profile", nil)
	waitSource(t, hub, light, "profile", nil)

	// There is memory for six heavy pods, and for the light ones beside them.
	f.submit(f.heavy, 2, 6)
	f.submit(f.light, 2, 15)
	f.waitBound(f.light, 16)
	f.waitBound(f.heavy, 6)
	f.checkMemory()
	f.waitRefused(f.heavy)

	// A node that reports false mispredictions, of its own pods and others', counts as one node.
	f.mu.Lock()
	for i := 1; i <= 7; i++ {
		f.mispredictions["sized-0"] = append(f.mispredictions["sized-0"], uint64(reserve.KeyOf(string(f.pod(f.heavy, i).UID))))
	}
	f.mu.Unlock()
	cluster.Eventually(t, "its mispredictions are counted", func() (bool, any) {
		n := metric(t, "spazio_profile_mispredictions_total", "")
		return n >= 1, n
	})
	waitSource(t, hub, heavy, "profile", nil)
	if n := metric(t, "spazio_profile_dropped_total", ""); n != 0 {
		t.Errorf("got %v profiles dropped because of one node", n)
	}

	// Nothing is measured any more: the known profiles remain.
	waitSource(t, hub, heavy, "profile", func(w plugin.WorkloadState) bool { return w.Memory.Confidence >= .85 })
	p.Kill(t)
	f.end(f.heavy)
	f.waitBound(f.heavy, 6)
	if _, waiting := f.bound(f.heavy); waiting != 0 {
		t.Errorf("got %d waiting pods after one ended", waiting)
	}
	f.checkMemory()

	// Without a definition all are typical pods; none is lost.
	undefine(t, objects)
	waitSource(t, hub, light, "", nil)
	f.submit(f.light, 17, 2)
	f.waitBound(f.light, 18)
	define(t, objects)
	p.Start(t)
	waitSource(t, hub, light, "profile", nil)

	// A workload's owner may keep its profile from deciding.
	edit(t, f.light, about(lightMemory), "", func(p *v1alpha1.WorkloadProfile) { p.Spec.Mode = v1alpha1.Off })
	waitSource(t, hub, light, "off", nil)
	f.submit(f.light, 19, 2)
	f.waitBound(f.light, 20)
	f.checkMemory()
	p.Interrupt(t)
}

// Without permission for profiles the scheduler logs that, and places pods as typical ones.
func TestSchedulersWithoutRights(t *testing.T) {
	client, _ := connect(t)
	for _, verbs := range [][]string{{"watch"}, {"list"}, nil} {
		name := strings.Join(append([]string{"with"}, verbs...), "-")
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { cluster.Remove(t, client) })
			before := metric(t, "spazio_profile_interruptions_total", "absent")
			hub, _ := cluster.StartScheduler(t, schedulerAccount(t, client, unique(name), verbs...), deciding(), often())
			f := startFleet(t, client, 1, hub.Addr().String(), "127.0.0.1:1")
			cluster.WaitSignals(t, hub, "fresh", 1)
			f.submit(f.light, 1, 3)
			f.waitBound(f.light, 3)
			cluster.Eventually(t, "it is counted", func() (bool, any) {
				n := metric(t, "spazio_profile_interruptions_total", "absent")
				return n > before, n
			})
			waitSource(t, hub, f.pod(f.light, 1), "", nil)
		})
	}
}

// A profiler may be killed in the middle of a batch and restarted: no pod is lost, none waits beside
// room, and what was measured meanwhile is sent later.
func TestProfilerKilledMidBatch(t *testing.T) {
	const heavy, atOnce = 14, 6
	client, _ := connect(t)
	hub, p, f := startDeciding(t, client, "batch")
	f.submit(f.heavy, 1, 1)
	f.waitBound(f.heavy, 1)
	waitSource(t, hub, f.pod(f.heavy, 1), "profile", nil)

	f.submit(f.heavy, 2, heavy-1)
	for ended := range heavy - atOnce {
		f.waitBound(f.heavy, atOnce)
		switch ended {
		case 2:
			p.Kill(t)
		case 3: // these are unknown and unmeasured
			f.submit(f.light, 1, 3)
			f.waitBound(f.light, 3)
		case 6:
			p.Start(t)
		}
		f.end(f.heavy)
	}
	f.waitBound(f.heavy, atOnce)
	if _, waiting := f.bound(f.heavy); waiting != 0 {
		t.Errorf("got %d pods waiting beside room", waiting)
	}
	f.checkMemory()
	published(t, f.light, about(lightMemory))
	waitSource(t, hub, f.pod(f.light, 1), "profile", nil)
	p.Interrupt(t)
}

// A rollout doubles a workload's usage. Its first pods count with the older ones' usage; their own is
// accepted from the third on, and reported.
func TestARolloutDoublesMemory(t *testing.T) {
	const replicas = 6
	client, _ := connect(t)
	hub, p, f := startDeciding(t, client, "rollout")
	f.submit(f.growing, 1, 1)
	f.waitBound(f.growing, 1)
	waitSource(t, hub, f.pod(f.growing, 1), "profile", nil)
	f.submit(f.growing, 2, replicas-1)
	f.waitBound(f.growing, replicas)
	published(t, f.growing, func(d profile.Demand) bool { return about(heavyMemory/2)(d) && d.Memory.Confidence >= .85 })

	// One ends when the last has started, as in a Deployment; the older ones are first by name.
	for i := 1; i <= replicas; i++ {
		f.end(f.growing)
		f.submitOf(newer, f.growing, i, 1)
		f.waitBound(f.growing, replicas)
		f.waitReported(hub)
	}
	got := published(t, f.growing, func(d profile.Demand) bool { return about(heavyMemory)(d) && d.Memory.Confidence >= .75 })
	if got.Status.Revision != newer || !meta.IsStatusConditionTrue(got.Status.Conditions, v1alpha1.Contradicted) {
		t.Errorf("the rollout is not reported: %+v", got.Status)
	}
	cluster.Eventually(t, "the scheduler has the new profile", func() (bool, any) {
		e, err := hub.Explain(metav1.NamespaceDefault + "/" + f.pods(f.growing)[0].Name)
		return err == nil && e.Workload != nil && e.Workload.Memory.Amount >= .9*heavyMemory, e.Workload
	})

	// There is memory for six of them: the seventh waits until one ends.
	f.submitOf(newer, f.growing, replicas+1, 2)
	f.waitRefused(f.growing)
	f.end(f.growing)
	f.waitBound(f.growing, replicas)
	f.end(f.growing)
	f.waitBound(f.growing, replicas)
	f.checkMemory()
	p.Interrupt(t)
}
