package profiles

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// grant gives a new service account permissions, and returns its kubeconfig.
func grant(t *testing.T, client kubernetes.Interface, account string, rights []controller.Right) string {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: controller.LeaseName}}
	if _, err := client.CoordinationV1().Leases(metav1.NamespaceDefault).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: controller.Rules(rights)}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: account}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := cluster.Plane(t).ServiceAccountConfig(t.Context(), metav1.NamespaceDefault, account)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := embedded.WriteKubeconfig(file, config); err != nil {
		t.Fatal(err)
	}
	// The authorizer follows roles with a delay.
	last := rights[len(rights)-1]
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + metav1.NamespaceDefault + ":" + account,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: last.Group, Resource: last.Resource, Subresource: last.Subresource, Verb: last.Verb, Namespace: metav1.NamespaceDefault, Name: controller.LeaseName},
	}}
	cluster.Eventually(t, account+" has its rights", func() (bool, any) {
		got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && got.Status.Allowed, err
	})
	return file
}

// process is a profiler in its own process.
type process struct {
	cluster.Command
	address, debug string
}

// startProfiler starts a profiler; a restarted one listens at the same addresses.
func startProfiler(t *testing.T, kubeconfig string, args ...string) *process {
	t.Helper()
	p := &process{address: transporttest.Address(t), debug: transporttest.Address(t)}
	p.Role = "profiler"
	p.Args = append([]string{"--kubeconfig", kubeconfig, "--listen", p.address, "--debug-listen", p.debug, "--lease-namespace", metav1.NamespaceDefault}, args...)
	p.Start(t)
	return p
}

func (p *process) metrics() endpoint.Scraper { return cluster.NewScraper("http://"+p.debug, "") }

// state returns the profiler's state.
func (p *process) state(t *testing.T) (profiler.State, error) {
	t.Helper()
	response, err := http.Get("http://" + p.debug + "/debug/profiles")
	if err != nil {
		return profiler.State{}, err
	}
	defer response.Body.Close()
	var s profiler.State
	return s, json.NewDecoder(response.Body).Decode(&s)
}

// podOf creates a pod as a Deployment's controllers do, bound to a node, with a container main and
// others beside it.
func podOf(t *testing.T, client kubernetes.Interface, deployment, node string, n int, beside ...string) *corev1.Pod {
	t.Helper()
	controls := true
	var containers []corev1.Container
	for _, name := range append([]string{"main"}, beside...) {
		containers = append(containers, corev1.Container{Name: name, Image: "spazio.invalid/" + deployment})
	}
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-5d4f8c7b9-%05d", deployment, n), Labels: map[string]string{"pod-template-hash": "5d4f8c7b9"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9", UID: "1", Controller: &controls}},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: containers},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// nodeAgent is an agent's client for the usage of its node's pods.
type nodeAgent struct {
	usages *publish.Usages
}

// startAgent starts one, which reads its pods ten times a second until the test's end.
func startAgent(t *testing.T, c publish.UsagesConfig) *nodeAgent {
	t.Helper()
	c.Incarnation = uint64(time.Now().UnixNano())
	c.Backoff = publish.Backoff{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	usages, err := publish.NewUsages(c)
	if err != nil {
		t.Fatal(err)
	}
	a := &nodeAgent{usages}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = usages.Run(ctx) })
	running.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				usages.Take(time.Now(), nil)
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return a
}

// read takes the first reading of a pod, ten seconds old.
func (a *nodeAgent) read(pod *corev1.Pod, cores float64, memory uint64) {
	a.readLimited(pod, cores, memory, 0, 0)
}

// readLimited does the same for a pod whose CPU limit held it up in some of its periods.
func (a *nodeAgent) readLimited(pod *corev1.Pod, cores float64, memory, periods, throttled uint64) {
	const age = 10 * time.Second
	a.usages.Take(time.Now(), []agent.PodReading{{
		Pod: reserve.KeyOf(string(pod.UID)), Age: age, CPU: time.Duration(cores * float64(age)), Pressure: true, Memory: memory, MemoryPeak: memory,
		Periods: periods, ThrottledPeriods: throttled,
	}})
}

// readContainers does the same for a pod and its containers, by their IDs.
func (a *nodeAgent) readContainers(pod *corev1.Pod, memory map[string]uint64) {
	var readings []agent.PodReading
	for id, bytes := range memory {
		r := agent.PodReading{Pod: reserve.KeyOf(string(pod.UID)), Age: 10 * time.Second, CPU: time.Second, Pressure: true, Memory: bytes, MemoryPeak: bytes}
		if id != "" {
			r.Container = uint64(reserve.KeyOf(id))
		}
		readings = append(readings, r)
	}
	a.usages.Take(time.Now(), readings)
}

// published waits for a profile that satisfies a condition.
func published(t *testing.T, deployment string, ok func(profile.Demand) bool) *v1alpha1.WorkloadProfile {
	t.Helper()
	client, name := typedClient(t), v1alpha1.NameOf(profile.Workload{Kind: "Deployment", Name: deployment})
	p := &v1alpha1.WorkloadProfile{}
	cluster.Eventually(t, "the profile of "+deployment, func() (bool, any) {
		*p = v1alpha1.WorkloadProfile{}
		err := client.Get().Namespace(metav1.NamespaceDefault).Resource(v1alpha1.Profiles).Name(name).Do(t.Context()).Into(p)
		if err != nil || p.Status.Demand == nil {
			return false, err
		}
		d, err := p.Status.Demand.Value()
		return err == nil && ok(d), fmt.Sprint(d, err)
	})
	return p
}

// edit changes a profile that satisfies a condition, or a part of it, while a profiler may be writing
// it.
func edit(t *testing.T, deployment string, ok func(profile.Demand) bool, part string, change func(*v1alpha1.WorkloadProfile)) {
	t.Helper()
	for {
		p := published(t, deployment, ok)
		change(p)
		err := typedClient(t).Put().Namespace(metav1.NamespaceDefault).Resource(v1alpha1.Profiles).Name(p.Name).SubResource(part).Body(p).Do(t.Context()).Error()
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
}

func about(memory float64) func(profile.Demand) bool {
	return func(d profile.Demand) bool {
		return d.Memory.Amount >= .9*memory && d.Memory.Amount < 1.1*memory && d.Memory.Confidence >= .5
	}
}

// Measurements become objects through a profiler that is killed, whose checkpoints the next process
// reads, and definitions that are removed and restored.
func TestProfilesSurvive(t *testing.T) {
	client, objects := connect(t)
	kubeconfig := grant(t, client, "survivor", controller.Rights())
	p := startProfiler(t, kubeconfig, "--refresh", "1s")
	a := startAgent(t, publish.UsagesConfig{Node: "node-a", Targets: []string{p.address}})
	const light, heavy = 100 << 20, 800 << 20
	a.read(podOf(t, client, "light", "node-a", 1), .1, light)
	a.read(podOf(t, client, "heavy", "node-a", 1), .5, heavy)
	published(t, "light", about(light))
	first := published(t, "heavy", about(heavy))
	if r := first.Status.Recommendation; r == nil || len(r.ContainerRecommendations) != 1 || r.ContainerRecommendations[0].ContainerName != "main" || r.ContainerRecommendations[0].Target.Memory.Value() < heavy {
		t.Errorf("recommendation %+v", r)
	}
	for n := 2; n <= 4; n++ {
		a.read(podOf(t, client, "heavy", "node-a", n), .5, heavy)
	}
	published(t, "heavy", func(d profile.Demand) bool { return about(heavy)(d) && d.Memory.Confidence >= .75 })
	cluster.Eventually(t, "checkpoints", func() (bool, any) {
		list, err := objects.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Checkpoints)).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		var pods []any
		for _, o := range list.Items {
			workloads, _, _ := unstructured.NestedSlice(o.Object, "workloads")
			for _, w := range workloads {
				pods = append(pods, w.(map[string]any)["pods"])
			}
		}
		return slices.Contains(pods, any(int64(4))) && len(pods) == 2, pods
	})

	p.Kill(t)
	p.Start(t)
	cluster.WaitMetric(t, p.metrics(), `spazio_profiler_checkpoints_total{result="restored"}`, 2)
	// The former one's lease has to expire.
	cluster.WaitMetric(t, p.metrics(), "spazio_profiler_leader", 1)
	state, err := p.state(t)
	if err != nil || len(state.Workloads) != 2 || state.Workloads[0].Workload.Name != "heavy" || state.Workloads[0].Pods != 4 || state.Workloads[0].Demand.Memory.Confidence < .75 {
		t.Errorf("after a kill: got %+v, %v", state, err)
	}
	if got := published(t, "heavy", about(heavy)); got.UID != first.UID {
		t.Error("the profile was recreated")
	}

	undefine(t, objects)
	define(t, objects)
	published(t, "heavy", func(d profile.Demand) bool { return about(heavy)(d) && d.Memory.Confidence >= .75 })
	published(t, "light", about(light))

	// Another writer edits the status.
	edit(t, "light", about(light), "status", func(p *v1alpha1.WorkloadProfile) { p.Status.Demand.Memory.Amount = v1alpha1.Bytes(64 << 30) })
	published(t, "light", about(light))
	p.Interrupt(t)
}

// A profiler logs each missing permission, and continues with the rest.
func TestMissingRightsAreNamed(t *testing.T) {
	client, _ := connect(t)
	all := controller.Rights(features...)
	for i, right := range all {
		t.Run(strings.ReplaceAll(right.String(), " ", "-"), func(t *testing.T) {
			rest := slices.Concat(all[:i], all[i+1:])
			p := startProfiler(t, grant(t, client, fmt.Sprintf("without-%d", i), rest), recommends...)
			path := right.Resource
			if right.Subresource != "" {
				path += "/" + right.Subresource
			}
			cluster.WaitMetric(t, p.metrics(), fmt.Sprintf("spazio_profiler_missing_rights{group=%q,resource=%q,verb=%q}", right.Group, path, right.Verb), 1)
			cluster.Eventually(t, "the log", func() (bool, any) {
				output := p.Said()
				return strings.Contains(output, fmt.Sprintf(`"msg":"a right is missing","right":%q`, right.String())), output
			})
			if n := strings.Count(p.Said(), "a right is missing"); n != 1 {
				t.Errorf("got %d missing permissions in the log", n)
			}
			p.Interrupt(t)
		})
	}
}

// A standby receives the same as the leader, and continues where it stopped.
func TestAStandbyTakesOver(t *testing.T) {
	client, _ := connect(t)
	kubeconfig := grant(t, client, "replica", controller.Rights())
	leader := startProfiler(t, kubeconfig)
	cluster.WaitMetric(t, leader.metrics(), "spazio_profiler_leader", 1)
	standby := startProfiler(t, kubeconfig)
	cluster.WaitMetric(t, standby.metrics(), "spazio_profiler_pods", 0)
	a := startAgent(t, publish.UsagesConfig{Node: "node-a", Targets: []string{leader.address, standby.address}})
	for n := range 3 {
		a.read(podOf(t, client, fmt.Sprint("known-", n), "node-a", 1), .1, 200<<20)
	}
	for n := range 3 {
		published(t, fmt.Sprint("known-", n), about(200<<20))
	}
	cluster.WaitMetric(t, standby.metrics(), `spazio_profiler_windows_total{result="accepted"}`, 3)
	leader.Kill(t)
	a.read(podOf(t, client, "late", "node-a", 1), .1, 300<<20)
	published(t, "late", about(300<<20))
	// The late one and its status, nothing older.
	cluster.WaitMetric(t, standby.metrics(), `spazio_profiler_writes_total{kind="profile",result="ok"}`, 2)
	standby.Interrupt(t)
}

// An agent's token allows usage of its own node's pods only.
func TestTokensAreOfNodes(t *testing.T) {
	client, _ := connect(t)
	for _, node := range []string{"node-mine", "node-other"} {
		cluster.Register(t, client, node)
		t.Cleanup(func() { _ = client.CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{}) })
	}
	for _, account := range []string{"usage-agent", "foreign"} {
		if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	p := startProfiler(t, grant(t, client, "reviewer", controller.Rights()),
		"--tls-dir", filepath.Dir(identity.CertFile), "--agent-service-account", metav1.NamespaceDefault+"/usage-agent")
	mine, other := podOf(t, client, "mine", "node-mine", 1), podOf(t, client, "other", "node-other", 1)
	as := func(node, account, audience string) *nodeAgent {
		return startAgent(t, publish.UsagesConfig{
			Node: node, Targets: []string{p.address}, Transport: transport.Config{CAFile: identity.CAFile}, TokenFile: tokenOf(t, client, account, audience, "node-mine"),
		})
	}
	honest := as("node-mine", "usage-agent", "spazio-profiler")
	honest.read(mine, .1, 100<<20)
	published(t, "mine", about(100<<20))
	// A pod of another node, from this node's agent.
	honest.read(other, 9, 64<<30)
	cluster.WaitMetric(t, p.metrics(), `spazio_profiler_windows_total{result="foreign"}`, 1)
	for _, attempt := range []struct{ node, account, audience, metric string }{
		{"node-other", "usage-agent", "spazio-profiler", `spazio_profiler_batches_total{result="foreign"}`},
		{"node-mine", "foreign", "spazio-profiler", `spazio_identities_total{result="refused"}`},
		{"node-mine", "usage-agent", "spazio-scheduler", `spazio_identities_total{result="refused"}`},
	} {
		before, err := p.metrics().Value(t.Context(), attempt.metric)
		if err != nil {
			t.Fatal(err)
		}
		as(attempt.node, attempt.account, attempt.audience).read(other, 9, 64<<30)
		cluster.Eventually(t, fmt.Sprint(attempt, " is refused and counted"), func() (bool, any) {
			now, err := p.metrics().Value(t.Context(), attempt.metric)
			return err == nil && now > before, fmt.Sprint(now, err)
		})
	}
	state, err := p.state(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range state.Workloads {
		if w.Workload.Name == "other" && w.Pods > 0 {
			t.Errorf("false usage was accepted: %+v", w)
		}
	}
	p.Interrupt(t)
	if output := p.Said(); !strings.Contains(output, "a call was refused") {
		t.Errorf("the refused caller is missing in the log: %s", output)
	}
}

// tokenOf returns the file of a token as the kubelet gives it to an agent's pod.
func tokenOf(t *testing.T, client kubernetes.Interface, account, audience, node string) string {
	t.Helper()
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: account + "-"},
		Spec:       corev1.PodSpec{NodeName: node, ServiceAccountName: account, Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{audience}, BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	got, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(t.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(got.Status.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A pod's containers are identified by the IDs in its status.
func TestContainersAreTheStatuss(t *testing.T) {
	client, _ := connect(t)
	p := startProfiler(t, grant(t, client, "containers", controller.Rights()))
	a := startAgent(t, publish.UsagesConfig{Node: "node-a", Targets: []string{p.address}})
	pod := podOf(t, client, "pair", "node-a", 1, "proxy")
	const main, proxy = "aaaaaaaaaaaaaaaa01", "bbbbbbbbbbbbbbbb02"
	a.readContainers(pod, map[string]uint64{"": 500 << 20, main: 400 << 20, proxy: 50 << 20})
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "main", ContainerID: "containerd://" + main}, {Name: "proxy", ContainerID: "containerd://" + proxy},
	}}
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.WaitMetric(t, p.metrics(), `spazio_profiler_windows_total{result="accepted"}`, 3)
	// The next window of the pod publishes the containers' recommended requests.
	a.read(podOf(t, client, "pair", "node-a", 2, "proxy"), .1, 500<<20)
	cluster.Eventually(t, "recommendations", func() (bool, any) {
		r := published(t, "pair", about(500<<20)).Status.Recommendation
		var names []string
		if r != nil {
			for _, c := range r.ContainerRecommendations {
				names = append(names, fmt.Sprint(c.ContainerName, " ", c.Target.Memory.Value() >= 400<<20))
			}
		}
		return slices.Equal(names, []string{"main true", "proxy false"}), names
	})
	p.Interrupt(t)
}

// The metrics follow Prometheus' rules for names.
func TestMetricsPassTheLinter(t *testing.T) {
	client, _ := connect(t)
	p := startProfiler(t, grant(t, client, "linted", controller.Rights()))
	cluster.WaitMetric(t, p.metrics(), "spazio_profiler_leader", 1)
	response, err := http.Get("http://" + p.debug + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	problems, err := promlint.New(response.Body).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	p.Interrupt(t)
}

// This measures the time from the first window of an unknown workload to its status in the API.
func TestFirstProfilesComeSoon(t *testing.T) {
	const workloads = 40
	client, _ := connect(t)
	p := startProfiler(t, grant(t, client, "timed", controller.Rights()))
	cluster.WaitMetric(t, p.metrics(), "spazio_profiler_leader", 1)
	a := startAgent(t, publish.UsagesConfig{Node: "node-a", Targets: []string{p.address}})
	watch, err := typedClient(t).Get().Namespace(metav1.NamespaceDefault).Resource(v1alpha1.Profiles).VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	var mu sync.Mutex
	began := map[string]time.Time{}
	var reading sync.WaitGroup
	reading.Go(func() {
		ticker := time.NewTicker(250 * time.Millisecond) // each makes two of the ten writes a second
		defer ticker.Stop()
		for n := range workloads {
			pod := podOf(t, client, fmt.Sprint("timed-", n), "node-a", 1)
			<-ticker.C
			mu.Lock()
			began[fmt.Sprint("timed-", n)] = time.Now()
			mu.Unlock()
			a.read(pod, .1, 100<<20)
		}
	})
	var took []time.Duration
	for event := range watch.ResultChan() {
		o, ok := event.Object.(*v1alpha1.WorkloadProfile)
		if !ok { // the watch's final error
			t.Errorf("%+v", event.Object)
			continue
		}
		mu.Lock()
		from, timed := began[o.Spec.Workload.Name]
		if timed && o.Status.Demand != nil {
			took = append(took, time.Since(from))
			delete(began, o.Spec.Workload.Name)
		}
		mu.Unlock()
		if len(took) == workloads {
			break
		}
	}
	reading.Wait()
	if len(took) < workloads {
		t.Fatalf("got %d of %d before the watch ended", len(took), workloads)
	}
	slices.Sort(took)
	t.Logf("first window to status: p50 %v, p99 %v, most %v of %d", took[workloads/2], took[workloads*99/100], took[workloads-1], workloads)
	p.Interrupt(t)
}
