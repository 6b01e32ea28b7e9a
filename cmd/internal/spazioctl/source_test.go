package spazioctl_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

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

// The error for a user without rights in spazio-system names what else shows why the pod waits.
func TestExplainWithoutRights(t *testing.T) {
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
			t.Setenv("KUBECONFIG", transporttest.Kubeconfig(t, serveOn(t, mux), "shop"))
			code, out, errs := run(t.Context(), "explain", "cart")
			if code != command.ExitFailure || out != "" || !strings.Contains(errs, "for you") ||
				!strings.Contains(errs, "pods/portforward in namespace spazio-system") || !strings.Contains(errs, "kubectl describe pod") {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, out, errs)
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
		"nothing installed": {transporttest.Kubeconfig(t, serveOn(t, http.NewServeMux()), ""), "web", command.ExitFailure, []string{`context "c"`, "spazio check", "--spazio-namespace"}},
		"no API server":     {transporttest.Unreachable(t), "explain cart", command.ExitFailure, []string{`context "c" (http://127.0.0.1:1)`, "refused", "--context", "kubectl describe pod"}},
		"no leader":         {transporttest.Kubeconfig(t, serveOn(t, http.NewServeMux()), ""), "explain cart", command.ExitFailure, []string{"spazio check", "kubectl describe pod"}},
		"no kubeconfig":     {none, "model", command.ExitFailure, []string{"127.0.0.1:1", "refused", "KUBECONFIG=" + none}},
		"none for a node":   {none, "why worker-1", command.ExitUsage, []string{"--kubeconfig"}},
		"this machine":      {transporttest.Unreachable(t), "why", command.ExitFailure, []string{"127.0.0.1:1", "refused"}},
		"both":              {none, "top --url=http://127.0.0.1:1 --context=c", command.ExitUsage, []string{"--url", "--context"}},
		"two targets":       {none, "why worker-1 --url=http://127.0.0.1:1", command.ExitUsage, []string{"--url", "NODE"}},
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
