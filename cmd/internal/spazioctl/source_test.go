package spazioctl_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
)

// The commands in the README query the cluster of kubectl's current context.
func TestUsesTheClusterOfKubectl(t *testing.T) {
	mux := http.NewServeMux()
	podforwardtest.Forward(t, mux, "spazio-system", "scheduler-b", 9694, strings.TrimPrefix(serveOn(t, debug(t, "")), "http://"))
	podforwardtest.Forward(t, mux, "spazio-system", "aggregator-b", 9693, strings.TrimPrefix(aggregator(t, local("a", "cpu,memory", 0, 2)), "http://"))
	led(t, mux, "spazio-system", func() string { return "scheduler-b" })
	serve(t, mux, "GET /api/v1/namespaces/spazio-system/pods", http.StatusOK, &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "aggregator-b"}}}})
	t.Setenv("KUBECONFIG", transporttest.Kubeconfig(t, serveOn(t, mux), "shop"))
	for command, want := range map[string]string{"top": "worker-10", "explain cart": "pod shop/cart", "model": "schema cpu,memory"} {
		code, out, errs := run(t.Context(), strings.Fields(command)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: got exit code %d, stderr %q, want %q in\n%s", command, code, errs, want, out)
		}
	}
}

// serve makes an API server answer with an object.
func serve(t *testing.T, mux *http.ServeMux, pattern string, code int, object any) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	})
}

// forbidden is the API server's answer to a user without permission.
func forbidden(message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: message}
}

const lease = "GET /apis/coordination.k8s.io/v1/namespaces/spazio-system/leases/spazio-scheduler"

// A user who may read the pod and its events, and nothing in spazio-system, gets the reason why it
// waits and what remains unknown.
func TestExplainsByThePodAlone(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "u-1"}}
	pod.Spec.SchedulerName, pod.Status.Phase = "spazio", corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", LastTransitionTime: since,
		Message: "0/3 nodes are available: 3 node(s) without room for another pod, shortest in cpu."}}
	events := &corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: []corev1.Event{{
		Type: "Warning", Reason: "FailedScheduling", Message: "no room\x1b[2J", ReportingController: "spazio", EventTime: metav1.NewMicroTime(since.Time),
		Series: &corev1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(since.Add(time.Minute))}}}}
	for name, spoil := range map[string]func(*http.ServeMux){
		"may not see who leads": func(mux *http.ServeMux) { serve(t, mux, lease, http.StatusForbidden, forbidden("no leases for you")) },
		"may not forward a port": func(mux *http.ServeMux) {
			led(t, mux, "spazio-system", func() string { return "scheduler-b" })
			serve(t, mux, "POST /api/v1/namespaces/spazio-system/pods/scheduler-b/portforward", http.StatusForbidden, forbidden("no ports for you"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			spoil(mux)
			serve(t, mux, "GET /api/v1/namespaces/shop/pods/cart", http.StatusOK, pod)
			serve(t, mux, "GET /api/v1/namespaces/shop/events", http.StatusOK, events)
			t.Setenv("KUBECONFIG", transporttest.Kubeconfig(t, serveOn(t, mux), "shop"))
			code, out, errs := run(t.Context(), "explain", "cart", "--wide")
			for _, part := range []string{
				"pod shop/cart (u-1) of profile spazio is Pending\n", "3 node(s) without room for another pod, shortest in cpu",
				"2026-05-04T03:03:01Z      7  FailedScheduling  spazio  no room\ufffd[2J", "unknown: the room and the score of each node", "pods/portforward in namespace spazio-system",
			} {
				if code != command.ExitOK || !strings.Contains(out, part) {
					t.Errorf("got exit code %d, stderr %q, want %q in\n%s", code, errs, part, out)
				}
			}
			var story struct {
				Pod        string
				Conditions []struct{ Message string }
				Events     []struct{ Times int }
			}
			_, out, _ = run(t.Context(), "explain", "cart", "-o", "json")
			if err := json.Unmarshal([]byte(out), &story); err != nil || story.Pod != "shop/cart" || len(story.Conditions) != 1 || len(story.Events) != 1 || story.Events[0].Times != 7 {
				t.Errorf("%v in %s", err, out)
			}
			code, out, errs = run(t.Context(), "explain", "cart", "-n", "other")
			if code != command.ExitFailure || out != "" || !strings.Contains(errs, "nor can the pod itself be read") {
				t.Errorf("missing pod: got exit code %d, stdout %q, stderr %q", code, out, errs)
			}
		})
	}
}

// An error names the request, the context, and what to do.
func TestErrorsNameTheCluster(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	mux := http.NewServeMux()
	serve(t, mux, lease, http.StatusForbidden, forbidden("no leases for you"))
	for name, test := range map[string]struct {
		kubeconfig, command string
		code                int
		wantText            []string
	}{
		"no permission":     {transporttest.Kubeconfig(t, serveOn(t, mux), ""), "top", command.ExitFailure, []string{`context "c" (http://`, "no leases for you", "create pods/portforward in namespace spazio-system"}},
		"nothing installed": {transporttest.Kubeconfig(t, serveOn(t, http.NewServeMux()), ""), "web", command.ExitFailure, []string{`context "c"`, "spazio check", "--scheduler-namespace"}},
		"no API server":     {transporttest.Unreachable(t), "explain cart", command.ExitFailure, []string{`context "c" (http://127.0.0.1:1)`, "refused", "--context"}},
		"no kubeconfig":     {none, "model", command.ExitFailure, []string{"127.0.0.1:1", "refused", "KUBECONFIG=" + none}},
		"none for a node":   {none, "why worker-1", command.ExitUsage, []string{"--kubeconfig"}},
		"this machine":      {transporttest.Unreachable(t), "why", command.ExitFailure, []string{"127.0.0.1:1", "refused"}},
		"both":              {none, "top --scheduler=http://127.0.0.1:1 --context=c", command.ExitUsage, []string{"--scheduler", "--context"}},
		"two targets":       {none, "why worker-1 --agent=http://127.0.0.1:1", command.ExitUsage, []string{"--agent", "NODE"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.kubeconfig)
			spazioctl.CloseDebugPorts(t)
			code, out, errs := run(t.Context(), strings.Fields(test.command)...)
			if code != test.code || out != "" || strings.Count(errs, "\n") != 1 {
				t.Errorf("got exit code %d, stdout %q, stderr %q; want %d and one line", code, out, errs, test.code)
			}
			for _, part := range test.wantText {
				if !strings.Contains(errs, part) {
					t.Errorf("no %q in %q", part, errs)
				}
			}
		})
	}
}
