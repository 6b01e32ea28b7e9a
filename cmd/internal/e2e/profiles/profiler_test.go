package profiles

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/embedded"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/reserve"
)

// grant gives a new service account rights, and returns its kubeconfig.
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
	// The authorizer follows roles a moment later.
	last := rights[len(rights)-1]
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + metav1.NamespaceDefault + ":" + account,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: last.Group, Resource: last.Resource, Verb: last.Verb, Namespace: metav1.NamespaceDefault, Name: controller.LeaseName},
	}}
	cluster.Eventually(t, account+" has its rights", func() (bool, any) {
		got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && got.Status.Allowed, err
	})
	return file
}

// process is a profiler of its own.
type process struct {
	cluster.Command
	address, debug string
}

// startProfiler starts one; it listens at the same addresses when it is started
// again.
func startProfiler(t *testing.T, kubeconfig string, args ...string) *process {
	t.Helper()
	p := &process{address: cluster.FreeAddress(t), debug: cluster.FreeAddress(t)}
	p.Role = "profiler"
	p.Args = append([]string{"--kubeconfig", kubeconfig, "--listen", p.address, "--debug-listen", p.debug, "--lease-namespace", metav1.NamespaceDefault}, args...)
	p.Start(t)
	return p
}

func (p *process) metrics() cluster.Scraper { return cluster.NewScraper("http://"+p.debug, "") }

// state is what the profiler knows.
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

// podOf makes a pod as a Deployment's controllers do, bound to a node.
func podOf(t *testing.T, client kubernetes.Interface, deployment, node string, n int) *corev1.Pod {
	t.Helper()
	controls := true
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-5d4f8c7b9-%05d", deployment, n), Labels: map[string]string{"pod-template-hash": "5d4f8c7b9"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9", UID: "1", Controller: &controls}},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/" + deployment}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// nodeAgent is the client by which an agent tells what pods of its node take.
type nodeAgent struct {
	usages *publish.Usages
	began  time.Time

	mu       sync.Mutex
	readings []agent.PodReading
	ages     int
}

// startAgent starts one, which reads its pods ten times a second until the test's
// end.
func startAgent(t *testing.T, c publish.UsagesConfig) *nodeAgent {
	t.Helper()
	c.Incarnation = uint64(time.Now().UnixNano())
	c.Backoff = publish.Backoff{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	usages, err := publish.NewUsages(c)
	if err != nil {
		t.Fatal(err)
	}
	a := &nodeAgent{usages: usages, began: time.Now()}
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

// read is the first reading of a pod, ten seconds old.
func (a *nodeAgent) read(pod *corev1.Pod, cores float64, memory uint64) {
	const age = 10 * time.Second
	a.usages.Take(time.Now(), []agent.PodReading{{
		Pod: reserve.KeyOf(string(pod.UID)), Age: age, CPU: time.Duration(cores * float64(age)), Pressure: true, Memory: memory, MemoryPeak: memory,
	}})
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

func about(memory float64) func(profile.Demand) bool {
	return func(d profile.Demand) bool {
		return d.Memory.Amount >= .9*memory && d.Memory.Amount < 1.1*memory && d.Memory.Confidence >= .5
	}
}

// From what agents measure to objects, through a profiler that is killed, whose
// checkpoints are read by its next process, and definitions that go and come again.
func TestProfilesSurvive(t *testing.T) {
	client, _ := cluster.Connect(t)
	objects := dynamicClient(t)
	define(t, objects)
	t.Cleanup(func() { cluster.RemovePods(t, client) })
	kubeconfig := grant(t, client, "survivor", controller.Rights())
	p := startProfiler(t, kubeconfig, "--refresh", "1s")
	a := startAgent(t, publish.UsagesConfig{Node: "node-a", Targets: []string{p.address}})
	const light, heavy = 100 << 20, 800 << 20
	a.read(podOf(t, client, "light", "node-a", 1), .1, light)
	a.read(podOf(t, client, "heavy", "node-a", 1), .5, heavy)
	published(t, "light", about(light))
	first := published(t, "heavy", about(heavy))
	if r := first.Status.Recommendation; r == nil || len(r.ContainerRecommendations) != 1 || r.ContainerRecommendations[0].Target.Memory.Value() < heavy {
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
			pods = append(pods, o.Object["pods"])
		}
		return slices.Contains(pods, any(int64(4))) && len(pods) == 2, pods
	})

	p.Kill(t)
	p.Start(t)
	cluster.WaitMetric(t, p.metrics(), `spazio_profiler_checkpoints_total{result="restored"}`, 2)
	// The last one's lease has to run out.
	cluster.WaitMetric(t, p.metrics(), "spazio_profiler_leader", 1)
	state, err := p.state(t)
	if err != nil || len(state.Workloads) != 2 || state.Workloads[0].Workload.Name != "heavy" || state.Workloads[0].Pods != 4 || state.Workloads[0].Demand.Memory.Confidence < .75 {
		t.Errorf("after a kill: %+v, %v", state, err)
	}
	if got := published(t, "heavy", about(heavy)); got.UID != first.UID {
		t.Error("the profile was made again")
	}

	undefine(t, objects)
	define(t, objects)
	published(t, "heavy", func(d profile.Demand) bool { return about(heavy)(d) && d.Memory.Confidence >= .75 })
	published(t, "light", about(light))

	// Somebody edits what was found.
	edited := published(t, "light", about(light))
	edited.Status.Demand.Memory.Amount = v1alpha1.Bytes(64 << 30)
	if err := typedClient(t).Put().Namespace(metav1.NamespaceDefault).Resource(v1alpha1.Profiles).Name(edited.Name).SubResource("status").Body(edited).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	published(t, "light", about(light))
	p.Interrupt(t)
}

// What it may not do a profiler names, and goes on with the rest.
func TestMissingRightsAreNamed(t *testing.T) {
	client, _ := cluster.Connect(t)
	define(t, dynamicClient(t))
	all := controller.Rights()
	for i, right := range all {
		t.Run(strings.ReplaceAll(right.String(), " ", "-"), func(t *testing.T) {
			rest := slices.Concat(all[:i], all[i+1:])
			p := startProfiler(t, grant(t, client, fmt.Sprintf("without-%d", i), rest))
			path := right.Resource
			if right.Subresource != "" {
				path += "/" + right.Subresource
			}
			cluster.WaitMetric(t, p.metrics(), fmt.Sprintf("spazio_profiler_missing_rights{group=%q,resource=%q,verb=%q}", right.Group, path, right.Verb), 1)
			cluster.Eventually(t, "the log", func() (bool, any) {
				said := p.Said()
				return strings.Contains(said, fmt.Sprintf("msg=\"a right is missing\" right=%q", right.String())), said
			})
			if n := strings.Count(p.Said(), "a right is missing"); n != 1 {
				t.Errorf("%d rights are said to be missing", n)
			}
			p.Kill(t)
		})
	}
}
