package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A run follows its own pods through their phases and ends with the last one.
func TestRunFollowsItsPods(t *testing.T) {
	client := fake.NewClientset()
	run := newBatchRun("mine", "mine", []batchTask{{Work: time.Second, Memory: 1 << 20}, {Work: 2 * time.Second}})
	if err := run.submit(t.Context(), client, simnode.Clock{}); err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("%d pods, %v, want 2", len(pods.Items), err)
	}
	first := pods.Items[0]
	if first.Name != "mine-1" || first.Spec.SchedulerName != "mine" || first.Annotations[simnode.AnnotationWork] != "1" || first.Annotations[simnode.AnnotationMemory] != "1048576" {
		t.Errorf("first pod: got %s of %s, %v", first.Name, first.Spec.SchedulerName, first.Annotations)
	}

	if got := first.Spec.Containers[0].Resources.Requests; len(got) != 0 {
		t.Errorf("first pod: got requests %v", got)
	}

	steps := []struct {
		pod    string
		phase  simnode.Phase
		counts podCounts
	}{
		{"mine-1", simnode.Bound, podCounts{Bound: 1}},
		{"mine-1", simnode.Running, podCounts{Running: 1}},
		{"other-1", simnode.Succeeded, podCounts{Running: 1}},
		{"mine-2", simnode.Bound, podCounts{Running: 1, Bound: 1}},
		{"mine-1", simnode.Succeeded, podCounts{Bound: 1, Done: 1}},
		{"mine-2", simnode.Failed, podCounts{Done: 2}},
	}
	for i, step := range steps {
		if closed(run.done) {
			t.Fatalf("done before step %d", i)
		}
		run.observe(simnode.Event{
			Pod:  types.NamespacedName{Namespace: namespace, Name: step.pod},
			Node: "node", Transition: simnode.Transition{At: at(float64(i)), Phase: step.phase},
		})
		step.counts.Total, step.counts.Submitted = 2, 2
		if diff := cmp.Diff(step.counts, run.counts()); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	if !closed(run.done) {
		t.Error("not done although every pod has ended")
	}
	records := run.snapshot()
	if r := records[0]; r.Node != "node" || r.Bound != at(0) || r.Running != at(1) || r.Done != at(4) || r.Failed {
		t.Errorf("first pod: got %+v", r)
	}
	if r := records[1]; !r.Running.IsZero() || r.Done != at(5) || !r.Failed {
		t.Errorf("second pod: got %+v", r)
	}
}

func TestRunOfNothingIsDone(t *testing.T) {
	run := newBatchRun("mine", "mine", nil)
	if !closed(run.done) {
		t.Error("a run without pods waits for them")
	}
}
