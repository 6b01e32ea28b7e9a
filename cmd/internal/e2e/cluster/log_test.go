package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

func podOn(name, node string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase},
	}
}

// recordingTest is a test that records its errors, and runs its cleanups on request.
type recordingTest struct {
	testing.TB
	errs     []string
	cleanups []func()
}

func (j *recordingTest) Errorf(format string, args ...any) {
	j.errs = append(j.errs, fmt.Sprintf(format, args...))
}

func (j *recordingTest) Cleanup(f func()) { j.cleanups = append(j.cleanups, f) }

func at(seconds float64) time.Time {
	return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func TestLog(t *testing.T) {
	client := fake.NewClientset(podOn("old-1", "a", corev1.PodSucceeded), podOn("old-2", "", corev1.PodPending))
	begun, test := watches(client), &recordingTest{TB: t}
	l := cluster.Watch(test, client)
	if bound, succeeded := l.Counts(); bound != 1 || succeeded != 1 {
		t.Errorf("got %d bound and %d succeeded older pods, want 1 and 1", bound, succeeded)
	}
	<-begun
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	for _, p := range []*corev1.Pod{podOn("new-1", "a", corev1.PodRunning), podOn("new-2", "b", corev1.PodFailed), podOn("new-3", "b", corev1.PodRunning)} {
		if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*corev1.Pod{podOn("new-1", "a", corev1.PodSucceeded), podOn("new-3", "c", corev1.PodRunning)} {
		if _, err := pods.Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	l.WaitBound(t, 4)
	l.WaitSucceeded(t, 2)
	time.Sleep(50 * time.Millisecond) // for the update of new-3
	for _, f := range test.cleanups {
		f()
	}
	if bound, succeeded := l.Counts(); bound != 4 || succeeded != 2 {
		t.Errorf("%d bound, %d succeeded, want 4 and 2", bound, succeeded)
	}
	if diff := cmp.Diff([]string{"bound twice: new-3, to b and c"}, test.errs); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	places := map[types.UID]string{}
	for uid, b := range l.Bindings() {
		places[uid] = b.Pod + " on " + b.Node
	}
	want := map[types.UID]string{"uid-old-1": "old-1 on a", "uid-new-1": "new-1 on a", "uid-new-2": "new-2 on b", "uid-new-3": "new-3 on b"}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

func TestBindings(t *testing.T) {
	b := cluster.Bindings{
		"1": {Pod: "old-1", Node: "a", At: at(0)}, "2": {Pod: "new-1", Node: "a", At: at(7)},
		"3": {Pod: "new-2", Node: "b", At: at(9)}, "4": {Pod: "new-3", Node: "b", At: at(20)}, "5": {Pod: "newer-1", Node: "b", At: at(8)},
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 2}, b.PerNode("new-")); diff != "" {
		t.Errorf("per node (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		from, to float64
		want     time.Duration
	}{
		{0, 30, 11 * time.Second}, {0, 20, 7 * time.Second}, {7, 20, time.Second}, {20, 30, 0}, {30, 0, 0},
	} {
		if got := b.LongestPause(at(test.from), at(test.to)); got != test.want {
			t.Errorf("from %g to %g: %v, want %v", test.from, test.to, got, test.want)
		}
	}
}
