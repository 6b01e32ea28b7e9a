package controller_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
)

// gauge returns a metric's value by a label, 0 without.
func (r *replica) gauge(name, label string) (value float64) {
	families, err := r.registry.Gather()
	if err != nil {
		return -1
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() == label) {
				value += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return value
}

func vpaPath(name string) string {
	return vpaGroup + "/namespaces/default/verticalpodautoscalers/" + name
}

// autoscaler returns an object for a Deployment of its name, with a recommender.
func (s *apiServer) autoscaler(name string, recommenders any) {
	s.make(vpaPath(name), object{
		"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": object{"namespace": "default", "name": name, "generation": 3},
		"spec": object{"targetRef": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "recommenders": recommenders},
	})
}

// amounts are millicores and bytes.
type amounts struct{ cpu, memory int64 }

func amountsOf(list corev1.ResourceList) amounts {
	return amounts{list.Cpu().MilliValue(), list.Memory().Value()}
}

// targetOf returns the first container's target in an object's status, zero without.
func (s *apiServer) targetOf(name string) amounts {
	var o struct {
		Status struct {
			Recommendation struct {
				ContainerRecommendations []struct{ Target corev1.ResourceList }
			}
		}
	}
	text, _ := json.Marshal(s.get(vpaPath(name)))
	if json.Unmarshal(text, &o) != nil || len(o.Status.Recommendation.ContainerRecommendations) == 0 {
		return amounts{}
	}
	return amountsOf(o.Status.Recommendation.ContainerRecommendations[0].Target)
}

// Objects that name Spazio get a recommendation, and a new one when usage grows; those that name
// another recommender, or an unreadable target, get none.
func TestAutoscalersAreRecommended(t *testing.T) {
	s := newAPIServer(t)
	us, others := []any{object{"name": "spazio"}}, []any{object{"name": "other"}}
	s.autoscaler("web", us)
	s.autoscaler("cart", others)
	s.autoscaler("strange", 7)
	r := start(t, s, profiler.Config{}, controller.Config{VPAName: "spazio"})
	r.measure(t, "web", 1, .5, 1e9)
	r.measure(t, "cart", 1, .5, 1e9)
	eventually(t, "there is a recommendation", func() bool { return s.targetOf("web").memory >= 1e9 })
	if got := s.targetOf("web"); got.cpu < 500 || got.cpu > 1000 || got.memory > 2e9 {
		t.Errorf("recommended %v", got)
	}
	r.window(string(podOf("web", 1).UID), .5, 4e9)
	eventually(t, "more is recommended", func() bool { return s.targetOf("web").memory >= 4e9 })
	if n := s.written("PATCH", vpaPath("cart")) + s.written("PATCH", vpaPath("strange")); n != 0 {
		t.Errorf("%d writes to objects that did not ask for us", n)
	}
	// An object that names Spazio later is served; a deleted one is forgotten.
	s.remove(vpaPath("web"))
	s.edit(t, vpaPath("cart"), func(o object) { o["spec"].(map[string]any)["recommenders"] = us })
	eventually(t, "the other is served", func() bool { return s.targetOf("cart").cpu > 0 })
	if failed := r.gauge("spazio_profiler_writes_total", "failed"); failed != 0 {
		t.Errorf("%v writes failed", failed)
	}
}

// resizable returns the nth pod of a Deployment, which has run for an hour, requests four cores and
// 4 GiB, and may be resized.
func resizable(deployment string, n int) *corev1.Pod {
	pod := podOf(deployment, n)
	pod.Labels[controller.ResizeLabel] = "true"
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi")}
	started := metav1.NewTime(time.Now().Add(-time.Hour))
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, StartTime: &started}
	return pod
}

// run creates a pod and reports its usage.
func (r *replica) run(pod *corev1.Pod, cores, memory float64) {
	r.server.pod(pod)
	r.window(string(pod.UID), cores, memory)
}

// requestsOf returns those of a pod.
func (s *apiServer) requestsOf(t *testing.T, pod *corev1.Pod) amounts {
	t.Helper()
	text, err := json.Marshal(s.get("/api/v1/namespaces/default/pods/" + pod.Name))
	var now corev1.Pod
	if err != nil || json.Unmarshal(text, &now) != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return amountsOf(now.Spec.Containers[0].Resources.Requests)
}

// scaler sets the number of a Deployment's pods by their CPU utilisation.
func scaler(deployment string) object {
	return object{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": object{"namespace": "default", "name": deployment},
		"spec": object{
			"scaleTargetRef": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment}, "maxReplicas": 3,
			"metrics": []any{object{"type": "Resource", "resource": object{"name": "cpu", "target": object{"type": "Utilization", "averageUtilization": 80}}}},
		},
	}
}

const scalerPath = hpaGroup + "/namespaces/default/horizontalpodautoscalers/scaled"

// The requests of running pods with the label are changed, except for the resource by which an
// autoscaler sets their number; profiles have a condition.
func TestPodsAreResized(t *testing.T) {
	s := newAPIServer(t)
	s.make(scalerPath, scaler("scaled"))
	r := start(t, s, profiler.Config{}, controller.Config{Resize: true})
	web, scaled, without := resizable("web", 1), resizable("scaled", 1), resizable("without", 1)
	delete(without.Labels, controller.ResizeLabel)
	for _, pod := range []*corev1.Pod{web, scaled, without} {
		r.run(pod, .5, 1<<30)
	}
	eventually(t, "pods are resized", func() bool {
		return s.requestsOf(t, web).memory < 4<<30 && s.requestsOf(t, scaled).memory < 4<<30
	})
	if got := s.requestsOf(t, web); got.cpu < 500 || got.cpu > 1000 || got.memory < 1<<30 {
		t.Errorf("requested %v", got)
	}
	if got := s.requestsOf(t, scaled); got.cpu != 4000 {
		t.Errorf("scaled by CPU, and requests %v", got)
	}
	if got := s.requestsOf(t, without); got.cpu != 4000 || s.written("PATCH", "/"+without.Name+"/resize") != 0 {
		t.Errorf("without the label, and requests %v", got)
	}
	eventually(t, "what becomes of pods is counted", func() bool {
		return r.gauge("spazio_profiler_resizable_pods", "fits") == 1 && r.gauge("spazio_profiler_resizable_pods", "scaled") == 1
	})
	condition := func(deployment string, status metav1.ConditionStatus) {
		t.Helper()
		r.published(t, deployment, func(p *v1alpha1.WorkloadProfile) bool {
			c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.HorizontallyScaled)
			return c != nil && c.Status == status
		})
	}
	condition("scaled", metav1.ConditionTrue)
	condition("web", metav1.ConditionFalse)
	// Without its autoscaler the other resource follows.
	s.remove(scalerPath)
	eventually(t, "CPU is resized too", func() bool { return s.requestsOf(t, scaled).cpu < 1000 })
	condition("scaled", metav1.ConditionFalse)
	if n := testutil.CollectAndCount(r.registry, "spazio_profiler_resizable_pods"); n != 9 {
		t.Errorf("%d verdicts are shown", n)
	}
}

// A pod that changed meanwhile is reviewed again.
func TestAResizeOfAnOldVersion(t *testing.T) {
	s := newAPIServer(t)
	web := resizable("web", 1)
	path := "/api/v1/namespaces/default/pods/" + web.Name
	behind := true
	s.before = func(_, at string) {
		if at == path+"/resize" && behind {
			behind = false
			s.edit(t, path, func(o object) { o["metadata"].(map[string]any)["annotations"] = object{"changed": "true"} })
		}
	}
	r := start(t, s, profiler.Config{}, controller.Config{Resize: true})
	r.run(web, .5, 1<<30)
	eventually(t, "the pod is resized", func() bool { return s.requestsOf(t, web).cpu < 1000 })
	if n := s.written("PATCH", "/"+web.Name+"/resize"); n < 2 {
		t.Errorf("%d requests", n)
	}
	if got := r.gauge("spazio_profiler_watch_failures_total", ""); got != 0 {
		t.Errorf("%v failures", got)
	}
}
