package profiles

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/embedded"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	gib = 1 << 30
	// A node has memory for two heavy pods and many light ones; a typical pod is taken
	// to need an eighth of it.
	nodeMemory, heavyMemory, lightMemory = 128 * gib, 48 * gib, 2 * gib
	typicalShare                         = 1. / 8
)

// fleet are nodes whose pods take memory by their Deployment's name; it reports on
// them, and reads their pods for a profiler.
type fleet struct {
	// heavy and light are Deployments that no other test has.
	heavy, light string
	t            *testing.T
	client       kubernetes.Interface
	names        []string
	usage        []*nodeAgent
	sends        []*publish.Signals

	mu        sync.Mutex
	sequence  uint64
	read      map[string]bool     // pods by UID
	most      map[string]int64    // the most memory that pods of a node took
	surprises map[string][]uint64 // what a node tells of pods, by the node
}

// startFleet runs until the test's end.
func startFleet(t *testing.T, client kubernetes.Interface, nodes int, scheduler, profiler string) *fleet {
	t.Helper()
	id := strconv.FormatInt(time.Now().UnixNano(), 36)
	f := &fleet{heavy: "heavy" + id, light: "light" + id, t: t, client: client, read: map[string]bool{}, most: map[string]int64{}, surprises: map[string][]uint64{}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i := range nodes {
		name := fmt.Sprint("sized-", i)
		cluster.Register(t, client, name)
		t.Cleanup(func() { _ = client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
		signals, err := publish.NewSignals(publish.SignalsConfig{Targets: []string{scheduler}, Backoff: publish.Backoff{Max: 200 * time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = signals.Run(ctx) })
		f.names, f.sends = append(f.names, name), append(f.sends, signals)
		f.usage = append(f.usage, startAgent(t, publish.UsagesConfig{Node: name, Targets: []string{profiler}}))
	}
	running.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				f.report(ctx)
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return f
}

func deploymentOf(pod *corev1.Pod) string {
	name, _, _ := strings.Cut(pod.Name, "-")
	return name
}

func memoryOf(pod *corev1.Pod) int64 {
	if strings.HasPrefix(pod.Name, "heavy") {
		return heavyMemory
	}
	return lightMemory
}

// report tells of all nodes as they are.
func (f *fleet) report(ctx context.Context) {
	pods, err := f.client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sequence++
	for i, name := range f.names {
		used, r := int64(0), agent.Report{Node: name, Incarnation: 1, Sequence: f.sequence, SampledAt: time.Now(), Schema: "sized", Limiting: agent.Memory}
		for p := range pods.Items {
			pod := &pods.Items[p]
			if pod.Spec.NodeName != name {
				continue
			}
			used += memoryOf(pod)
			r.Absorbed = append(r.Absorbed, reserve.KeyOf(string(pod.UID)))
			if !f.read[string(pod.UID)] {
				f.read[string(pod.UID)] = true
				f.usage[i].read(pod, .1, uint64(memoryOf(pod)))
			}
		}
		slices.Sort(r.Absorbed)
		f.most[name] = max(f.most[name], used)
		room := 1 - float64(used)/nodeMemory
		r.Avail = room / typicalShare
		r.Channels = []agent.ChannelReport{
			{Name: agent.CPU, Capacity: 1, Cost: 1. / 64, Room: 1, Most: 1, Unit: 1. / 64},
			{Name: agent.Memory, Usage: 1 - room, Capacity: 1, Cost: typicalShare, Room: room, Most: 1, Unit: 1. / nodeMemory},
		}
		for _, key := range f.surprises[name] {
			r.Surprises = append(r.Surprises, agent.Surprise{Pod: reserve.PodKey(key), MemoryRatio: 100})
		}
		f.sends[i].Send(r, r.SampledAt)
	}
}

// checkMemory fails the test for a node that had less memory than its pods took.
func (f *fleet) checkMemory() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, most := range f.most {
		if most > nodeMemory {
			f.t.Errorf("pods on %s took %d GiB", name, most/gib)
		}
	}
}

// submit makes n pods of a Deployment for the scheduler to place.
func (f *fleet) submit(deployment string, from, n int) {
	f.t.Helper()
	controls := true
	for i := from; i < from+n; i++ {
		_, err := f.client.CoreV1().Pods(metav1.NamespaceDefault).Create(f.t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-5d4f8c7b9-%05d", deployment, i), Labels: map[string]string{"pod-template-hash": "5d4f8c7b9"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9", UID: "1", Controller: &controls}},
			},
			Spec: corev1.PodSpec{
				SchedulerName: schedulerd.SpazioProfile,
				Containers:    []corev1.Container{{Name: "main", Image: "spazio.invalid/" + deployment}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// bound counts the pods of a Deployment that have a node, and those that have none.
func (f *fleet) bound(deployment string) (bound, waiting int) {
	pods, err := f.client.CoreV1().Pods(metav1.NamespaceDefault).List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range pods.Items {
		switch pod := &pods.Items[i]; {
		case deploymentOf(pod) != deployment:
		case pod.Spec.NodeName == "":
			waiting++
		default:
			bound++
		}
	}
	return bound, waiting
}

func (f *fleet) waitBound(deployment string, n int) {
	f.t.Helper()
	cluster.Eventually(f.t, fmt.Sprintf("%d pods of %s are bound", n, deployment), func() (bool, any) {
		bound, waiting := f.bound(deployment)
		return bound == n, fmt.Sprint(bound, " bound, ", waiting, " waiting")
	})
}

func (f *fleet) pod(deployment string, i int) *corev1.Pod {
	f.t.Helper()
	pod, err := f.client.CoreV1().Pods(metav1.NamespaceDefault).Get(f.t.Context(), fmt.Sprintf("%s-5d4f8c7b9-%05d", deployment, i), metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return pod
}

// waitSource waits until the scheduler knows of a pod's workload from there; empty is
// where profiles are off.
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

// unique is a name that no earlier run in the process has used.
func unique(name string) string { return fmt.Sprint(name, "-", time.Now().UnixNano()) }

// schedulerAccount gives a scheduler's service account the rights of the manifests,
// with the given verbs on profiles, and returns its kubeconfig.
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

// A heavy and a light workload land right from the second pod on, and go on doing so
// whatever becomes of their profiles.
func TestProfilesDecideWhereTheyLand(t *testing.T) {
	client, _ := cluster.Connect(t)
	objects := dynamicClient(t)
	define(t, objects)
	t.Cleanup(func() { cluster.RemovePods(t, client) })
	hub, _ := cluster.StartScheduler(t, schedulerAccount(t, client, unique("deciding"), "list", "watch"), deciding(), often())
	p := startProfiler(t, grant(t, client, unique("of-scheduled"), controller.Rights()), "--refresh", "1s")
	f := startFleet(t, client, 3, hub.Addr().String(), p.address)
	cluster.WaitFresh(t, hub, 3)

	// Nobody knows the first ones.
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
	cluster.Eventually(t, "the seventh is told what it waits for", func() (bool, any) {
		for i := 2; i <= 7; i++ {
			for _, c := range f.pod(f.heavy, i).Status.Conditions {
				if c.Type == corev1.PodScheduled && strings.Contains(c.Message, "without enough memory for what the pod is expected to take") {
					return true, nil
				}
			}
		}
		return false, nil
	})

	// A node that lies about its own pods, and about those of others, is one node.
	f.mu.Lock()
	for i := 1; i <= 7; i++ {
		f.surprises["sized-0"] = append(f.surprises["sized-0"], uint64(reserve.KeyOf(string(f.pod(f.heavy, i).UID))))
	}
	f.mu.Unlock()
	cluster.Eventually(t, "its surprises are counted", func() (bool, any) {
		n := metric(t, "spazio_profile_surprises_total", "")
		return n >= 1, n
	})
	waitSource(t, hub, heavy, "profile", nil)
	if n := metric(t, "spazio_profile_dropped_total", ""); n != 0 {
		t.Errorf("%v profiles were dropped for what one node says", n)
	}

	// Nobody measures any more: what was known is still known.
	p.Kill(t)
	for i := 1; i <= 6; i++ {
		if pod := f.pod(f.heavy, i); pod.Spec.NodeName != "" {
			if err := client.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	cluster.Eventually(t, "the seventh goes where one has gone", func() (bool, any) {
		bound, waiting := f.bound(f.heavy)
		return bound == 6 && waiting == 0, fmt.Sprint(bound, waiting)
	})
	f.checkMemory()

	// Without a definition all are typical pods; nobody is lost.
	undefine(t, objects)
	waitSource(t, hub, light, "", nil)
	f.submit(f.light, 17, 2)
	f.waitBound(f.light, 18)
	define(t, objects)
	p.Start(t)
	waitSource(t, hub, light, "profile", nil)

	// Who owns a workload may keep its profile from deciding.
	edited := published(t, f.light, about(lightMemory))
	edited.Spec.Mode = v1alpha1.Off
	if err := typedClient(t).Put().Namespace(metav1.NamespaceDefault).Resource(v1alpha1.Profiles).Name(edited.Name).Body(edited).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	waitSource(t, hub, light, "off", nil)
	f.submit(f.light, 19, 2)
	f.waitBound(f.light, 20)
	f.checkMemory()
	p.Interrupt(t)
}

// Without a right to profiles the scheduler says so, and places pods as typical ones.
func TestSchedulersWithoutRights(t *testing.T) {
	client, _ := cluster.Connect(t)
	define(t, dynamicClient(t))
	for _, verbs := range [][]string{{"watch"}, {"list"}, nil} {
		name := strings.Join(append([]string{"with"}, verbs...), "-")
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { cluster.RemovePods(t, client) })
			before := metric(t, "spazio_profile_interruptions_total", "absent")
			hub, _ := cluster.StartScheduler(t, schedulerAccount(t, client, unique(name), verbs...), deciding(), often())
			f := startFleet(t, client, 1, hub.Addr().String(), "127.0.0.1:1")
			cluster.WaitFresh(t, hub, 1)
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
