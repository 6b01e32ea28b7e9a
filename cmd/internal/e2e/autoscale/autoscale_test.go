package autoscale

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
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

	// Busy nodes are protected although nothing waits, and none is labelled as full.
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
		if term.Key != autoscale.FullLabel || term.Operator != corev1.NodeSelectorOpDoesNotExist {
			t.Errorf("%s may go to full nodes: %v", b.GetName(), term)
		}
		if is := b.GetAnnotations()["spazio-scheduler.github.io/workload"] == picky; is != (len(spec.NodeSelector) == 1) {
			t.Errorf("%s selects nodes by %v", b.GetName(), spec.NodeSelector)
		}
	}
	cluster.Eventually(t, "a condition names the volume that is left out", func() (bool, any) {
		found, _ := r.list(t)
		i := slices.IndexFunc(found, func(b unstructured.Unstructured) bool {
			return b.GetAnnotations()["spazio-scheduler.github.io/workload"] == picky
		})
		conditions, _, _ := unstructured.NestedSlice(found[i].Object, "status", "conditions")
		return len(conditions) == 1 && strings.HasSuffix(fmt.Sprint(conditions[0].(map[string]any)["message"]), ": data"), conditions
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

	// Room, and nothing is left but what is somebody else's.
	log := cluster.Watch(t, r.client)
	full.Set(10, false)
	log.WaitBound(t, 6)
	r.waitGone(t)
	for _, n := range nodes {
		n.SetUsage(usage(0.1))
	}
	r.waitNode(t, full.Name(), false, nil)
	r.waitNode(t, theirs.Name(), false, map[string]string{drain: "true"})
	r.waitNode(t, refused.Name(), false, map[string]string{disrupt: "false"})
}
