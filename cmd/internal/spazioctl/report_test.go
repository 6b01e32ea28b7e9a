package spazioctl_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/requestreport"
)

// objects returns a file as kubectl writes it: a node full of a pod that requests four times what its
// workload needs.
func objects(t *testing.T, node string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.json")
	profile := strings.Replace(webProfile, `{"containerName": "istio-proxy", `, `{"containerName": "proxy", `, 1)
	text := `{"apiVersion": "v1", "kind": "List", "items": [
{"kind": "Node", "metadata": {"name": ` + node + `}, "status": {"capacity": {"cpu": "1", "memory": "1Gi"}, "allocatable": {"cpu": "1", "memory": "1Gi"}}},
{"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-5d4f8c7b9-abcde", "labels": {"pod-template-hash": "5d4f8c7b9"},
"ownerReferences": [{"kind": "ReplicaSet", "name": "web-5d4f8c7b9", "controller": true}]}, "status": {"phase": "Running"},
"spec": {"nodeName": ` + node + `, "containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}, {"name": "proxy"}]}}, ` + profile + `]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReport(t *testing.T) {
	file := objects(t, `"worker-1"`)
	code, out, errs := run(t.Context(), "report", "--objects", file)
	for _, part := range []string{"Requests and measured use of the objects of " + file, "1 pod of 1 workload; pods that declare no requests: 0",
		"shop       Deployment/web     1        1.000  0.239        0.310", "Nodes of which nothing was measured: 1 of 1"} {
		if code != command.ExitOK || errs != "" || !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(part), " ")) {
			t.Errorf("got exit code %d, stderr %q, want %q in\n%s", code, errs, part, out)
		}
	}
	_, out, _ = run(t.Context(), "report", "--objects", file, "-o", "json")
	var report requestreport.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Total.Requested.CPU != requestreport.Is(1) || report.Total.Used.Mean.CPU.Known {
		t.Errorf("%v in %s", err, out)
	}
	_, out, _ = run(t.Context(), "report", "--objects", file, "-o", "csv")
	if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(rows) != 5 {
		t.Errorf("got %v, %d rows in %s", err, len(rows), out)
	}
	_, out, _ = run(t.Context(), "report", "--objects", file, "-o", "html")
	if !strings.HasPrefix(out, "<!DOCTYPE html>") || !strings.Contains(out, "<svg") {
		t.Errorf("not a page: %s", out)
	}
}

// A wrong flag is named with its value, in one line.
func TestReportRefuses(t *testing.T) {
	file, dir := objects(t, `"worker-1"`), t.TempDir()
	kubeconfig := transporttest.Unreachable(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := write("empty", "{}")
	podless := write("podless", `{"items": [{"kind": "Node", "metadata": {"name": "n"}}]}`)
	negative := write("negative", `{"items": [{"kind": "Pod"}, {"kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "-1"}}}]}`)
	for _, test := range []struct {
		args     []string
		code     int
		wantText []string
	}{
		{[]string{"-o", "yaml"}, command.ExitUsage, []string{"--output", `"yaml"`, "table, json, csv, html"}},
		{[]string{"--for", "-1s"}, command.ExitUsage, []string{"--for", "-1s", "from 0 to 24h"}},
		{[]string{"--for", "1m", "--objects", file}, command.ExitUsage, []string{"--for", "1m0s", "no agent is asked"}},
		{[]string{"--for", "1m", "--recording", dir}, command.ExitUsage, []string{"--for", "1m0s"}},
		{[]string{"--timeout", "0s"}, command.ExitUsage, []string{"--timeout", "0s", "positive"}},
		{[]string{"--recording", dir + "/none"}, command.ExitUsage, []string{"--recording", dir + "/none"}},
		{[]string{"--recording", dir, "--context", "none"}, command.ExitUsage, []string{"--kubeconfig", "none"}},
		{[]string{"--recording", dir, "--kubeconfig", kubeconfig}, command.ExitFailure, []string{"list nodes", "127.0.0.1:1"}},
		{[]string{"--objects", dir + "/none"}, command.ExitUsage, []string{"--objects", dir + "/none"}},
		{[]string{"--objects", empty}, command.ExitUsage, []string{"--objects", "kubectl get nodes,pods,workloadprofiles -A -o json"}},
		{[]string{"--objects", podless}, command.ExitUsage, []string{"--objects", "it has no pods", "kubectl get nodes,pods,workloadprofiles -A -o json"}},
		{[]string{"--objects", negative}, command.ExitUsage, []string{"--objects", negative, "Nodes[0].Capacity = -1"}},
		{[]string{"--objects", file, "--context", "c"}, command.ExitUsage, []string{"--objects", "--context"}},
		{[]string{"--context", "none"}, command.ExitUsage, []string{"--kubeconfig", "none"}},
		{[]string{"word"}, command.ExitUsage, []string{"word"}},
		{nil, command.ExitFailure, []string{"list nodes", "127.0.0.1:1"}},
	} {
		t.Setenv("KUBECONFIG", kubeconfig)
		code, out, errs := run(t.Context(), append([]string{"report"}, test.args...)...)
		if code != test.code || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: got exit code %d, stdout %q, stderr %q", test.args, code, out, errs)
		}
		for _, part := range test.wantText {
			if !strings.Contains(errs, part) {
				t.Errorf("%v: no %q in %q", test.args, part, errs)
			}
		}
	}
}
