package certs_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/certs"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// kubeconfig returns one for a server that answers every request the same.
func kubeconfig(t *testing.T, code int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return transporttest.Kubeconfig(t, server.URL, "")
}

func TestPlanCommand(t *testing.T) {
	forbidden := kubeconfig(t, http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`)
	empty := kubeconfig(t, http.StatusOK, `{"metadata":{"namespace":"n","name":"any"}}`)
	for _, tt := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--kubeconfig=" + t.TempDir() + "/none"}, command.ExitUsage, "", "API server"},
		{[]string{"--kubeconfig=" + empty, "--server=no_name"}, command.ExitUsage, "", "no_name"},
		{[]string{"--kubeconfig=" + empty, "--cluster-domain="}, command.ExitUsage, "", "DNS name"},
		{[]string{"--kubeconfig=" + forbidden}, command.ExitFailure, "", "the authority: no"},
		{[]string{"--kubeconfig=" + empty, "--dry-run"}, command.ExitOK, "leaf         spazio-aggregator", ""},
		{[]string{"--kubeconfig=" + empty, "--dry-run", "--agent-namespace="}, command.ExitOK, "leaf         spazio-aggregator", ""},
		{[]string{"more"}, command.ExitUsage, "", "more"},
	} {
		t.Run(fmt.Sprint(tt.args), func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := certs.Main(t.Context(), tt.args, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, &stderr)
			}
			if !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("said %q and %q", &stdout, &stderr)
			}
		})
	}
}
