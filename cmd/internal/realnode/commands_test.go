//go:build realnode && linux

package realnode

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/plugin"
)

// The commands that inspect a cluster work here through the API server and the kubelet: a node's room,
// a pod's placement or wait, the fleet's model.
func TestCommands(t *testing.T) {
	install(t)
	quiet(t)
	create(t, worker("placed", spazio, "-sleep=1h"))
	eventually(t, "the pod is placed and counted", func(context.Context) error {
		var e plugin.Explanation
		if err := decode(t, &e, "explain", "placed", "-o", "json"); err != nil {
			return err
		}
		if e.Pod != "default/placed" || !e.Ours || e.State != "counted" {
			return fmt.Errorf("%+v", e)
		}
		return nil
	})
	waiting := worker("waiting", spazio)
	waiting.Spec.NodeSelector = map[string]string{"no": "such-node"}
	create(t, waiting)
	eventually(t, "the reason of a pod's wait", func(context.Context) error {
		out, err := output(t, "explain", "waiting")
		if err == nil && !strings.Contains(out, "node(s) didn't match Pod's node affinity/selector") {
			err = fmt.Errorf("%s", out)
		}
		return err
	})
	s, err := top(t)
	if err != nil || len(s.Nodes) != 1 || s.Nodes[0].Node != nodeName || s.Nodes[0].Signal != "fresh" || s.Nodes[0].Running < 1 {
		t.Errorf("top: %+v, %v", s, err)
	}
	for command, wants := range map[string][]string{
		"top":                 {"1 node; ", "\n" + nodeName + " ", "fresh"},
		"explain placed":      {"default/placed", "profile spazio"},
		"why " + nodeName:     {nodeName, "cpu", "pods"},
		"model":               {"1 node", "cpu"},
		"check --probe":       {"signals      ok      fresh reports of 1 of 1 node", "probe        ok"},
		"check -o json":       {`"ok": true`},
		"uninstall":           {"still in use", "pods default/placed"},
		"uninstall -o json":   {`"ok": false`, "pods default/placed"},
		"uninstall --dry-run": {"still in use"},
	} {
		out, err := output(t, strings.Fields(command)...)
		t.Logf("spazio %s:\n%s", command, out)
		if refused := strings.HasPrefix(command, "uninstall"); (err != nil) != refused {
			t.Errorf("spazio %s: %v", command, err)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("spazio %s: %q is missing", command, want)
			}
		}
	}
	var report check.Report
	if err := decode(t, &report, "check", "-o", "json"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"rights", "rollouts", "nodes", "signals", "certificates", "clocks"} {
		if !slices.ContainsFunc(report.Results, func(r check.Result) bool { return r.Name == name && r.Status == check.OK }) {
			t.Errorf("check of the %s: %+v", name, report.Results)
		}
	}
}

// top returns the leader's status.
func top(t *testing.T) (s plugin.Status, err error) {
	t.Helper()
	return s, decode(t, &s, "top", "-o", "json")
}

// decode decodes the JSON output of spazio.
func decode(t *testing.T, into any, arguments ...string) error {
	t.Helper()
	out, err := output(t, arguments...)
	if err != nil {
		return fmt.Errorf("spazio %s: %w: %s", strings.Join(arguments, " "), err, out)
	}
	return json.Unmarshal([]byte(out), into)
}

// output returns the output of spazio run as the cluster's administrator, errors included.
func output(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(node.work, "spazio"), append(arguments, "--kubeconfig", kubeconfig(node.work, "admin"))...)
	c.Env = os.Environ()
	out, err := c.CombinedOutput()
	return string(out), err
}
