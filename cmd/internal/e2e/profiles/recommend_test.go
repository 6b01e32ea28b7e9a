package profiles

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1/liqo"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
)

var features = []controller.Feature{controller.ForVPA, controller.ForResize, controller.ForExport}

var vpaResource = schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers"}

// recommends are the flags that enable the features.
var recommends = []string{"--vpa-name", "spazio", "--resize", "--export-liqo"}

// observing returns the flags that query the calls between services each second.
func observing(t *testing.T, caller string) []string {
	return []string{"--prometheus", callingService(t, caller, "elsewhere"), "--continuous", "observe", "--continuous-every", "1s"}
}

// vpaTools is the module that pins the Vertical Pod Autoscaler's.
const vpaTools = "../../../../tools/compat/vpa"

// resizeNode is the node of the resized pods.
const resizeNode = "node-resize"

// goTool runs the go command in that module.
func goTool(t *testing.T, in []byte, args ...string) []byte {
	t.Helper()
	command := exec.Command("go", args...)
	command.Dir, command.Env = vpaTools, append(os.Environ(), "GOWORK=off")
	command.Stdin = bytes.NewReader(in)
	var output bytes.Buffer
	command.Stderr = &output
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v %s", command, err, &output)
	}
	return out
}

// defineOthers adds the definitions of objects that a recommender writes to the API server: those of
// the Vertical Pod Autoscaler's module, and of package liqo.
func defineOthers(t *testing.T, client dynamic.Interface) {
	t.Helper()
	var module struct{ Dir string }
	if err := json.Unmarshal(goTool(t, nil, "mod", "download", "-json", "k8s.io/autoscaler/vertical-pod-autoscaler"), &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "deploy", "vpa-v1-crd-gen.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	texts := liqo.CRDs()
	for _, text := range append(texts, bytes.Split(text, []byte("\n---\n"))...) {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			t.Fatal(err)
		}
		_, err := client.Resource(definitions).Create(t.Context(), crd, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("the API server refuses %s: %v", crd.GetName(), err)
		}
	}
	// The API server resizes pods on nodes that it knows.
	kube, _ := cluster.Connect(t)
	cluster.Register(t, kube, resizeNode)
	t.Cleanup(func() {
		_ = kube.CoreV1().Nodes().Delete(context.Background(), resizeNode, metav1.DeleteOptions{})
	})
	for _, resource := range []string{liqo.MemoryProfiles, liqo.CPUProfiles, liqo.ConnectionProfiles} {
		cluster.Eventually(t, resource+" are served", func() (bool, any) {
			_, err := client.Resource(liqo.GroupVersion.WithResource(resource)).List(t.Context(), metav1.ListOptions{})
			return err == nil, err
		})
	}
	cluster.Eventually(t, "autoscalers are served", func() (bool, any) {
		_, err := client.Resource(vpaResource).List(t.Context(), metav1.ListOptions{})
		return err == nil, err
	})
}

// resizablePod returns the nth pod of a Deployment, which has run for an hour, requests a core and a
// GiB, and may be resized.
func resizablePod(t *testing.T, client kubernetes.Interface, deployment string, n int, conditions ...corev1.PodCondition) *corev1.Pod {
	t.Helper()
	controls := true
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-5d4f8c7b9-%05d", deployment, n), Labels: map[string]string{"pod-template-hash": "5d4f8c7b9", controller.ResizeLabel: "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9", UID: "1", Controller: &controls}},
		},
		Spec: corev1.PodSpec{NodeName: resizeNode, Containers: []corev1.Container{{
			Name: "main", Image: "spazio.invalid/" + deployment,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	started := metav1.NewTime(time.Now().Add(-time.Hour))
	pod.Status.Phase, pod.Status.StartTime, pod.Status.Conditions = corev1.PodRunning, &started, conditions
	if pod, err = client.CoreV1().Pods(metav1.NamespaceDefault).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return pod
}

// autoscaler creates an object that selects us as recommender for a Deployment, whose containers may
// have at most 4 GiB.
func autoscaler(t *testing.T, client dynamic.Interface, deployment string) {
	t.Helper()
	o := parse(t, fmt.Sprintf(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: %s, namespace: default}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  updatePolicy: {updateMode: "Off"}
  resourcePolicy: {containerPolicies: [{containerName: "*", maxAllowed: {memory: 4Gi}}]}
  recommenders: [{name: spazio}]
`, deployment))
	if _, err := client.Resource(vpaResource).Namespace(metav1.NamespaceDefault).Create(t.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Resource(vpaResource).Namespace(metav1.NamespaceDefault).Delete(context.Background(), deployment, metav1.DeleteOptions{})
	})
}

// recommended reports whether an autoscaler's object has a recommendation.
func recommended(t *testing.T, client dynamic.Interface, name string) (bool, any) {
	o, err := client.Resource(vpaResource).Namespace(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "recommendation", "containerRecommendations")
	return len(all) > 0, o.Object["status"]
}

// requests returns the requests of the pod's container.
func requests(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) (now *corev1.Pod, cores, memory float64) {
	t.Helper()
	now, err := client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := now.Spec.Containers[0].Resources.Requests
	return now, r.Cpu().AsApproximateFloat64(), r.Memory().AsApproximateFloat64()
}

const gibi = 1 << 30

func resized(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) func() (bool, any) {
	return func() (bool, any) {
		_, cores, memory := requests(t, client, pod)
		return cores < .5 && memory < gibi/2, fmt.Sprint(cores, memory)
	}
}

// exported reports whether a workload has an object of the thesis's.
func exported(t *testing.T, client dynamic.Interface, resource, deployment string) (*unstructured.Unstructured, error) {
	name := v1alpha1.NameOf(profile.Workload{Kind: "Deployment", Name: deployment})
	return client.Resource(liqo.GroupVersion.WithResource(resource)).Namespace(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
}

// connected returns the object of a Deployment's traffic to an unmeasured destination.
func connected(t *testing.T, client dynamic.Interface, deployment string) (*unstructured.Unstructured, error) {
	name := liqo.NewConnectionProfile(profile.Workload{Namespace: metav1.NamespaceDefault, Kind: "Deployment", Name: deployment},
		profile.Workload{Namespace: metav1.NamespaceDefault, Name: "elsewhere"}, time.Now(), 1).Name
	return client.Resource(liqo.GroupVersion.WithResource(liqo.ConnectionProfiles)).Namespace(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
}

// leftover creates an object of a former connection, which belongs to the profile of a Deployment.
func leftover(t *testing.T, client dynamic.Interface, deployment string) {
	t.Helper()
	owner := v1alpha1.NameOf(profile.Workload{Kind: "Deployment", Name: deployment})
	o := parse(t, fmt.Sprintf(`
apiVersion: webapp.liqo.io.profiling/v1
kind: ConnectionProfile
metadata:
  name: %s-gone
  namespace: default
  ownerReferences: [{apiVersion: %s, kind: WorkloadProfile, name: %s, uid: "1"}]
spec: {bandwidth_requirement: "1.00", source_job: a, source_namespace: default, destination_job: b, destination_namespace: default, update_time: "2026-11-22 09:00:00"}
`, deployment, v1alpha1.GroupVersion, owner))
	if _, err := client.Resource(liqo.GroupVersion.WithResource(liqo.ConnectionProfiles)).Namespace(metav1.NamespaceDefault).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// gone reports whether that object was deleted.
func gone(t *testing.T, client dynamic.Interface, deployment string) (bool, any) {
	_, err := client.Resource(liqo.GroupVersion.WithResource(liqo.ConnectionProfiles)).Namespace(metav1.NamespaceDefault).Get(t.Context(), deployment+"-gone", metav1.GetOptions{})
	return apierrors.IsNotFound(err), err
}

// The agents' measurements become the status of an autoscaler's object, which its own types decode
// strictly, objects of the thesis's, and the requests of a running pod, which is otherwise unchanged.
func TestRecommend(t *testing.T) {
	client, objects := connect(t)
	defineOthers(t, objects)
	p := startProfiler(t, grant(t, client, "recommender", controller.Rights(features...)), slices.Concat(recommends, observing(t, "recommend-web"))...)
	a := startAgent(t, publish.UsagesConfig{Node: resizeNode, Targets: []string{p.address}})
	autoscaler(t, objects, "recommend-web")
	pod := resizablePod(t, client, "recommend-web", 1)
	a.read(pod, .1, 200<<20)

	cluster.Eventually(t, "a recommendation", func() (bool, any) { return recommended(t, objects, "recommend-web") })
	o, err := objects.Resource(vpaResource).Namespace(metav1.NamespaceDefault).Get(t.Context(), "recommend-web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var status, whole map[string]any
	if err := json.Unmarshal(goTool(t, text, "run", "."), &status); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(status), fmt.Sprint(whole["status"]); got != want {
		t.Errorf("got %s by the autoscaler's types, want %s", got, want)
	}
	first := status["recommendation"].(map[string]any)["containerRecommendations"].([]any)[0].(map[string]any)
	target := first["target"].(map[string]any)
	cores, memory := resource.MustParse(target["cpu"].(string)), resource.MustParse(target["memory"].(string))
	if first["containerName"] != "main" || cores.MilliValue() < 100 || cores.MilliValue() > 200 || memory.Value() < 200<<20 || memory.Value() > 400<<20 {
		t.Errorf("target %v", first)
	}
	for _, bound := range []string{"lowerBound", "upperBound", "uncappedTarget"} {
		if len(first[bound].(map[string]any)) != 2 {
			t.Errorf("%s %v", bound, first[bound])
		}
	}

	cluster.Eventually(t, "the pod is resized", resized(t, client, pod))
	now, nowCores, nowMemory := requests(t, client, pod)
	if now.UID != pod.UID || now.Status.QOSClass != corev1.PodQOSBurstable || nowCores < .1 || nowMemory < 200<<20 {
		t.Errorf("got pod %s of class %s with requests %v and %v", now.UID, now.Status.QOSClass, nowCores, nowMemory)
	}
	// It is not resized again at once, although it uses much more.
	a.read(pod, .8, 800<<20)
	cluster.WaitMetric(t, p.metrics(), `spazio_profiler_resizable_pods{verdict="early"}`, 1)

	of := published(t, "recommend-web", func(profile.Demand) bool { return true })
	if c := meta.FindStatusCondition(of.Status.Conditions, v1alpha1.HorizontallyScaled); c == nil || c.Status != metav1.ConditionFalse {
		t.Errorf("conditions %+v", of.Status.Conditions)
	}
	for resource, spec := range map[string]string{liqo.MemoryProfiles: "memoryProfiling", liqo.CPUProfiles: "cpuProfiling"} {
		cluster.Eventually(t, resource, func() (bool, any) {
			_, err := exported(t, objects, resource, "recommend-web")
			return err == nil, err
		})
		o, err := exported(t, objects, resource, "recommend-web")
		if err != nil {
			t.Fatal(err)
		}
		value, _, _ := unstructured.NestedMap(o.Object, "spec", spec)
		if owners := o.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != of.UID || len(value) != 2 {
			t.Errorf("%s: owners %+v, %v", resource, owners, value)
		}
	}
	cluster.Eventually(t, "what it sends is exported", func() (bool, any) {
		o, err := connected(t, objects, "recommend-web")
		if err != nil {
			return false, err
		}
		rate, _, _ := unstructured.NestedString(o.Object, "spec", "bandwidth_requirement")
		owners := o.GetOwnerReferences()
		return rate == "50.00" && len(owners) == 1 && owners[0].UID == of.UID, o.Object
	})
	p.Interrupt(t)
}

// Objects as in the listings pass the validation of definitions of that shape.
func TestRecommendListingsPassValidation(t *testing.T) {
	objects := dynamicClient(t)
	defineOthers(t, objects)
	for resource, text := range map[string]string{
		liqo.MemoryProfiles: `{apiVersion: webapp.liqo.io.profiling/v1, kind: MemoryProfile, metadata: {name: listing, namespace: default},
  spec: {memoryProfiling: {updateTime: "2020-09-22 12:07:38", value: 112654345}}}`,
		liqo.CPUProfiles: `{apiVersion: webapp.liqo.io.profiling/v1, kind: CPUProfile, metadata: {name: listing, namespace: default},
  spec: {cpuProfiling: {updateTime: "2020-09-22 12:07:38", value: "0,867"}}}`,
		liqo.ConnectionProfiles: `{apiVersion: webapp.liqo.io.profiling/v1, kind: ConnectionProfile, metadata: {name: listing, namespace: default},
  spec: {bandwidth_requirement: "89219.00", destination_job: reviews-v2, destination_namespace: default, source_job: productpage-v1, source_namespace: default,
         update_time: "2020-09-22 15:43:18"}}`,
	} {
		client := objects.Resource(liqo.GroupVersion.WithResource(resource)).Namespace(metav1.NamespaceDefault)
		if _, err := client.Create(t.Context(), parse(t, text), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Errorf("%s: %v", resource, err)
		}
		_ = client.Delete(t.Context(), "listing", metav1.DeleteOptions{})
	}
}

// A node's answer to the last resize counts, and so does an autoscaler of the number of pods.
func TestRecommendWaitsForOthers(t *testing.T) {
	client, objects := connect(t)
	defineOthers(t, objects)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "scaled"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "scaled"}, MaxReplicas: 3,
	}}
	scalers := client.AutoscalingV2().HorizontalPodAutoscalers(metav1.NamespaceDefault)
	if _, err := scalers.Create(t.Context(), hpa, metav1.CreateOptions{}); err != nil { // by CPU by default
		t.Fatal(err)
	}
	p := startProfiler(t, grant(t, client, "patient", controller.Rights(features...)), recommends...)
	a := startAgent(t, publish.UsagesConfig{Node: resizeNode, Targets: []string{p.address}})
	pending := func(reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason}
	}
	never := resizablePod(t, client, "infeasible", 1, pending(corev1.PodReasonInfeasible))
	later := resizablePod(t, client, "deferred", 1, pending(corev1.PodReasonDeferred))
	scaled := resizablePod(t, client, "scaled", 1)
	for _, pod := range []*corev1.Pod{never, later, scaled} {
		a.read(pod, .1, 200<<20)
	}
	cluster.Eventually(t, "memory is resized where CPU sets the number of pods", func() (bool, any) {
		_, cores, memory := requests(t, client, scaled)
		return memory < gibi/2, fmt.Sprint(cores, memory)
	})
	for _, verdict := range []string{"infeasible", "waiting"} {
		cluster.WaitMetric(t, p.metrics(), fmt.Sprintf("spazio_profiler_resizable_pods{verdict=%q}", verdict), 1)
	}
	for _, pod := range []*corev1.Pod{never, later} {
		if _, cores, memory := requests(t, client, pod); cores != 1 || memory != gibi {
			t.Errorf("%s requests %v and %v", pod.Name, cores, memory)
		}
	}
	if _, cores, _ := requests(t, client, scaled); cores != 1 {
		t.Errorf("scaled by CPU: got requests %v", cores)
	}
	condition := func(status metav1.ConditionStatus, reason string) {
		t.Helper()
		cluster.Eventually(t, "the condition", func() (bool, any) {
			c := meta.FindStatusCondition(published(t, "scaled", func(profile.Demand) bool { return true }).Status.Conditions, v1alpha1.HorizontallyScaled)
			return c != nil && c.Status == status && c.Reason == reason, c
		})
	}
	condition(metav1.ConditionTrue, "CPU")
	// The deferred one continues when it is done; without its autoscaler so does the other's profile.
	now, _, _ := requests(t, client, later)
	now.Status.Conditions = nil
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).UpdateStatus(t.Context(), now, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := scalers.Delete(t.Context(), "scaled", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the deferred pod is resized", resized(t, client, later))
	condition(metav1.ConditionFalse, "None")
	p.Interrupt(t)
}

// A profiler without one of the permissions logs it, counts the failures, does everything else, and
// does the rest once it has the permission.
func TestRecommendWithoutAPermission(t *testing.T) {
	client, objects := connect(t)
	defineOthers(t, objects)
	base := len(controller.Rights())
	all := controller.Rights(features...)
	for i, right := range all[base:] {
		name := fmt.Sprintf("lacks-%d", i)
		t.Run(strings.ReplaceAll(right.Verb+" "+right.Resource+right.Subresource, " ", "-"), func(t *testing.T) {
			t.Cleanup(func() { cluster.Remove(t, client) })
			leftover(t, objects, name)
			p := startProfiler(t, grant(t, client, name, slices.Concat(all[:base+i], all[base+i+1:])), slices.Concat(recommends, observing(t, name))...)
			path := strings.TrimSuffix(right.Resource+"/"+right.Subresource, "/")
			cluster.WaitMetric(t, p.metrics(), fmt.Sprintf("spazio_profiler_missing_rights{group=%q,resource=%q,verb=%q}", right.Group, path, right.Verb), 1)
			a := startAgent(t, publish.UsagesConfig{Node: resizeNode, Targets: []string{p.address}})
			autoscaler(t, objects, name)
			pod := resizablePod(t, client, name, 1)
			a.read(pod, .1, 200<<20)
			done := map[string]func() (bool, any){
				vpaResource.Group: func() (bool, any) { return recommended(t, objects, name) },
				"autoscaling":     resized(t, client, pod),
			}
			for _, resource := range []string{liqo.MemoryProfiles, liqo.CPUProfiles} {
				done[resource] = func() (bool, any) { _, err := exported(t, objects, resource, name); return err == nil, err }
			}
			done[liqo.ConnectionProfiles] = func() (bool, any) { _, err := connected(t, objects, name); return err == nil, err }
			lacking := right.Group
			switch right.Group {
			case "": // pods/resize
				lacking = "autoscaling"
			case liqo.GroupVersion.Group:
				lacking = right.Resource
			}
			if right.Verb == "delete" {
				lacking = "leftovers"
				done[lacking] = func() (bool, any) { return gone(t, objects, name) }
			}
			counter := fmt.Sprintf("spazio_profiler_watch_failures_total{resource=%q}", right.Resource)
			if right.Verb == "patch" || right.Verb == "create" || right.Verb == "delete" {
				kind := map[string]string{vpaResource.Group: "vpa", "autoscaling": "resize"}[lacking]
				if kind == "" {
					kind = "liqo"
				}
				counter = fmt.Sprintf(`spazio_profiler_writes_total{kind=%q,result="forbidden"}`, kind)
			}
			for _, what := range slices.Sorted(maps.Keys(done)) {
				if what != lacking {
					cluster.Eventually(t, what+" is done", done[what])
				}
			}
			// A list may come by a watch, and then nothing fails.
			cluster.Eventually(t, "what fails is counted", func() (bool, any) {
				n, err := p.metrics().Value(t.Context(), counter)
				ok, _ := done[lacking]()
				return err == nil && n > 0 || right.Verb == "list" && ok, fmt.Sprint(counter, n, err)
			})
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-late"}, Rules: controller.Rules([]controller.Right{right})}
			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: name}},
			}
			if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, lacking+" is done with the right", done[lacking])
			p.Interrupt(t)
		})
	}
}
