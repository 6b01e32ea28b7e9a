package autoscale

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/profile"
)

// submit creates pods of a workload.
func submit(t *testing.T, r *rig, workload string, pods int, change func(*corev1.Pod)) {
	t.Helper()
	t.Cleanup(func() { cluster.Remove(t, r.client) })
	for i := range pods {
		pod := cluster.Batch{Prefix: workload, Work: time.Hour}.Pod(i)
		pod.Annotations[profile.WorkloadAnnotation] = workload
		if change != nil {
			change(pod)
		}
		if _, err := r.client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAutoscalerSeesWhatIsMeasured follows pods that wait for room, and the marks of the nodes, from
// the first buffer to the last.
func TestAutoscalerSeesWhatIsMeasured(t *testing.T) {
	r := newRig(t)
	hub, _ := r.schedule(t, r.kubeconfig, "")
	nodes := cluster.NewPlaceNodes(t, r.client, 3, 0, hub.Addr().String())
	full, theirs, refused := nodes[0], nodes[1], nodes[2]
	for _, n := range nodes {
		n.SetUsage(usage(0.9))
	}
	r.annotate(t, theirs.Name(), drain, "true")
	r.annotate(t, refused.Name(), disrupt, "false")
	cluster.WaitSignals(t, hub, "fresh", 3)

	// Busy nodes are protected even without waiting pods, and none is labelled as full.
	both := map[string]string{drain: "true", disrupt: "true"}
	r.waitNode(t, full.Name(), false, both)
	r.waitNode(t, theirs.Name(), false, both)
	r.waitNode(t, refused.Name(), false, map[string]string{drain: "true", disrupt: "false"})

	submit(t, r, "plain", 4, nil)
	submit(t, r, "picky", 2, func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.invalid"}}}}
	})
	const plain, picky = "default/Workload/plain", "default/Workload/picky"
	r.waitReplicas(t, map[string]int64{plain: 4, picky: 2})
	for _, n := range []string{full.Name(), theirs.Name()} {
		r.waitNode(t, n, true, both)
	}

	// What the autoscaler reads.
	found, _ := r.list(t)
	for _, b := range found {
		template, err := r.client.CoreV1().PodTemplates(namespace).Get(t.Context(), b.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		spec := template.Template.Spec
		requests := spec.Containers[0].Resources.Requests
		if requests.Cpu().MilliValue() != 500 || requests.Memory().Value() != 1<<30 {
			t.Errorf("%s requests %v", b.GetName(), requests)
		}
		term := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
		if term.Key != plugin.FullLabel || term.Operator != corev1.NodeSelectorOpDoesNotExist {
			t.Errorf("%s: got permission for full nodes: %v", b.GetName(), term)
		}
		if is := b.GetAnnotations()["spazio-scheduler.github.io/workload"] == picky; is != (len(spec.NodeSelector) == 1) {
			t.Errorf("%s: got node selector %v", b.GetName(), spec.NodeSelector)
		}
	}
	cluster.Eventually(t, "a condition names the volume that is left out", func() (bool, any) {
		found, _ := r.list(t)
		i := slices.IndexFunc(found, func(b unstructured.Unstructured) bool {
			return b.GetAnnotations()["spazio-scheduler.github.io/workload"] == picky
		})
		conditions, _, _ := unstructured.NestedSlice(found[i].Object, "status", "conditions")
		return len(conditions) == 1 && strings.HasSuffix(fmt.Sprint(conditions[0].(map[string]any)["message"]), ": volume data"), conditions
	})

	// What people read.
	cluster.Eventually(t, "explain names the buffer", func() (bool, any) {
		e, err := hub.Explain("default/plain-00000")
		if err != nil {
			t.Fatal(err)
		}
		return strings.HasPrefix(e.Buffer, namespace+"/waiting-plain-"), e.Buffer
	})
	cluster.Eventually(t, "each pod has an event", func() (bool, any) {
		events, err := r.client.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + autoscale.WaitingForNodes})
		if err != nil {
			t.Fatal(err)
		}
		pods := map[string]bool{}
		for _, e := range events.Items {
			pods[e.InvolvedObject.Name] = true
		}
		return len(pods) == 6, pods
	})

	// With room, only foreign settings remain.
	log := cluster.Watch(t, r.client)
	full.Set(10, false)
	log.WaitBound(t, 6)
	for _, n := range nodes {
		n.SetUsage(usage(0.1))
	}
	r.waitGone(t, bothLabels...)
	r.waitNode(t, full.Name(), false, nil)
	r.waitNode(t, theirs.Name(), false, map[string]string{drain: "true"})
	r.waitNode(t, refused.Name(), false, map[string]string{disrupt: "false"})
}

// TestTemplatesAreAccepted: cluster-autoscaler creates a pod of each buffer's template in a dry run, in
// a restricted namespace, and considers no buffer ready without it.
func TestTemplatesAreAccepted(t *testing.T) {
	r := newRig(t)
	hub, _ := r.schedule(t, r.kubeconfig, "")
	node := cluster.NewPlaceNodes(t, r.client, 1, 0, hub.Addr().String())[0]
	const devices = `{"example.com/gpu":"8","hugepages-2Mi":"64Mi"}`
	patch := []byte(`{"status":{"capacity":` + devices + `,"allocatable":` + devices + `}}`)
	if _, err := r.client.CoreV1().Nodes().Patch(t.Context(), node.Name(), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	node.SetUsage(usage(0.9))
	cluster.WaitSignals(t, hub, "fresh", 1)
	takes := func(list corev1.ResourceList) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
		}
	}
	want := map[string]int64{}
	for workload, change := range map[string]func(*corev1.Pod){
		"plain":  nil,
		"device": takes(corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}),
		"pages":  takes(corev1.ResourceList{"hugepages-2Mi": resource.MustParse("4Mi"), corev1.ResourceCPU: resource.MustParse("1")}),
		"picky": func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
			p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "picky"}},
			}}
		},
	} {
		submit(t, r, workload, 1, change)
		want["default/Workload/"+workload] = 1
	}
	r.waitReplicas(t, want)
	templates, err := r.client.CoreV1().PodTemplates(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range templates.Items {
		of := &templates.Items[i]
		pod := &corev1.Pod{ObjectMeta: of.Template.ObjectMeta, Spec: of.Template.Spec}
		pod.Name = of.Name
		if _, err := r.client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Error(err)
		}
	}
	node.SetUsage(usage(0.1))
	cluster.Remove(t, r.client)
	r.waitGone(t, bothLabels...)
}

// TestWithoutCapacityBuffers: in a cluster without them, nodes are protected and none is labelled as
// full, until the definition exists.
func TestWithoutCapacityBuffers(t *testing.T) {
	r := newRig(t)
	const definition = "capacitybuffers.autoscaling.x-k8s.io"
	if err := r.dynamic.Resource(definitions).Delete(t.Context(), definition, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "CapacityBuffers are not served", func() (bool, any) {
		_, err := r.dynamic.Resource(definitions).Get(t.Context(), definition, metav1.GetOptions{})
		_, listErr := r.dynamic.Resource(buffers).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		return apierrors.IsNotFound(err) && apierrors.IsNotFound(listErr), []error{err, listErr}
	})
	failed := failures(t, "list capacitybuffers")
	hub, _ := r.schedule(t, r.kubeconfig, "")
	node := cluster.NewPlaceNodes(t, r.client, 1, 0, hub.Addr().String())[0]
	node.SetUsage(usage(0.9))
	cluster.WaitSignals(t, hub, "fresh", 1)
	submit(t, r, "waits", 2, nil)
	protected := map[string]string{drain: "true", disrupt: "true"}
	r.waitNode(t, node.Name(), false, protected)
	waitFailure(t, "list capacitybuffers", failed+20) // for longer than scaleUpDelay
	r.waitNode(t, node.Name(), false, protected)
	newRig(t)
	r.waitReplicas(t, map[string]int64{"default/Workload/waits": 2})
	r.waitNode(t, node.Name(), true, protected)
	node.SetUsage(usage(0.1))
	cluster.Remove(t, r.client)
	r.waitGone(t, bothLabels...)
}
