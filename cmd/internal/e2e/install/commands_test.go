package install

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// output is a command's output and exit code.
type output struct {
	code         int
	stdout, errs string
}

func spazio(ctx context.Context, args ...string) output {
	var stdout, stderr bytes.Buffer
	code := spazioctl.Main(ctx, args, &stdout, &stderr)
	return output{code, stdout.String(), stderr.String()}
}

// userWithout returns the kubeconfig of a user with all permissions of an administrator of Spazio, except one.
func userWithout(t *testing.T, client kubernetes.Interface, name, lacks string) string {
	t.Helper()
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}
	if lacks != "portforward" {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"}})
	}
	grant(t, client, name, rules[:1])
	if len(rules) > 1 {
		role, err := client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		role.Rules = rules
		if _, err := client.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// For every fault spazio check exits with 1, names it in its row, and prints a command to see more; the
// other rows are as before.
func TestCheckCommand(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	if err := c.Install(withTimeout(t), objects(t, deploy.Config{}), deploy.Options{}); err != nil {
		t.Fatal(err)
	}
	node(t, client, "near", 0)
	pods(t, client, "near")
	defer unpods(t, client)
	fresh := []plugin.NodeState{{Node: "near", Signal: "fresh"}}
	shown := &programs{nodes: fresh, notAfter: time.Now().Add(80 * 24 * time.Hour), release: "v1.37.2"}
	admin := newFront(t, cluster.Plane(t).RESTConfig(), shown)
	less, err := cluster.Plane(t).UserConfig(userWithout(t, client, "looker", "portforward"))
	if err != nil {
		t.Fatal(err)
	}
	limited := newFront(t, less, shown)

	run := func(t *testing.T, f *front, code int) (r check.Report) {
		t.Helper()
		got := spazio(t.Context(), "check", "--output=json", "--kubeconfig="+f.kubeconfig)
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != code || r.OK != (code == command.ExitOK) {
			t.Fatalf("exit code %d, want %d: %v %s %s", got.code, code, err, got.stdout, got.errs)
		}
		return r
	}
	well := func(t *testing.T) {
		t.Helper()
		for _, r := range run(t, admin, command.ExitOK).Results {
			if want := check.OK; r.Status != want && r.Name != "version" || len(r.Advice) > 0 {
				t.Errorf("%+v", r)
			}
		}
	}
	well(t)
	const agentLogs = "logs --namespace spazio-agent --selector app.kubernetes.io/name=spazio-agent --prefix --tail 20"
	for _, tt := range []struct {
		name         string
		broken, mend func()
		of           *front
		fails        map[string]string // the text of each row
		advice       map[string]string // a command of each row, after kubectl and its flags
	}{
		{
			"a right is missing", func() {}, func() {}, limited,
			map[string]string{"rights": "create pods/portforward in spazio-agent"},
			map[string]string{"rights": "auth can-i --list --namespace spazio-agent"},
		},
		{
			"an agent is silent",
			func() { shown.set(func(p *programs) { p.nodes = []plugin.NodeState{{Node: "near", Signal: "stale"}} }) },
			func() { shown.set(func(p *programs) { p.nodes = fresh }) }, admin,
			map[string]string{"signals": "near: stale"}, map[string]string{"signals": agentLogs},
		},
		{
			"an agent has never reported",
			func() { shown.set(func(p *programs) { p.nodes = nil }) },
			func() { shown.set(func(p *programs) { p.nodes = fresh }) }, admin,
			map[string]string{"signals": "near: the scheduler does not know it"},
			map[string]string{"signals": "get pods --namespace spazio-agent --output wide --field-selector spec.nodeName=near"},
		},
		{
			"a certificate has expired",
			func() { shown.set(func(p *programs) { p.notAfter = time.Now().Add(-time.Hour) }) },
			func() { shown.set(func(p *programs) { p.notAfter = time.Now().Add(80 * 24 * time.Hour) }) }, admin,
			map[string]string{"certificates": "scheduler's own ends on " + time.Now().Add(-time.Hour).UTC().Format(time.DateOnly)},
			map[string]string{"certificates": "logs --namespace spazio-system --selector app.kubernetes.io/name=spazio-certs --prefix --tail 20"},
		},
		{
			"the API server is older than the scheduler", func() { admin.calls("v1.35.9") }, func() { admin.calls("") }, admin,
			map[string]string{"version": "a scheduler of 1.37 is newer than the API server, which is v1.35.9: one of 1.35 serves it"}, map[string]string{"version": "version"},
		},
		{
			"the API server is two versions newer than the scheduler",
			func() { admin.calls("v1.37.1"); shown.set(func(p *programs) { p.release = "v1.35.4" }) },
			func() { admin.calls(""); shown.set(func(p *programs) { p.release = "v1.37.2" }) }, admin,
			map[string]string{"version": "a scheduler of 1.35 is more than a minor version older than the API server, which is v1.37.1: one of 1.37 serves it"}, map[string]string{"version": "version"},
		},
		{
			"there is no scheduler for the API server", func() { admin.calls("v1.34.9") }, func() { admin.calls("") }, admin,
			map[string]string{"version": "for API servers of 1.35 to 1.38, and this one is v1.34.9"}, map[string]string{"version": "version"},
		},
		{
			"a scheduler is not ready", func() { unready(t, client, "spazio-scheduler", 1) }, func() { unready(t, client, "spazio-scheduler", 2) }, admin,
			map[string]string{"rollouts": "deployments.apps spazio-system/spazio-scheduler: 1 of 2 available"},
			map[string]string{"rollouts": "describe deployments.apps spazio-scheduler --namespace spazio-system"},
		},
		{
			"no scheduler leads", func() { lead(t, client, "") }, func() { lead(t, client, "spazio-scheduler-a_uid") }, admin,
			map[string]string{"signals": "the lease has no holder", "certificates": "the lease has no holder"},
			map[string]string{"signals": "get pods,leases --namespace spazio-system"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.broken()
			defer well(t)
			defer tt.mend()
			for _, r := range run(t, tt.of, command.ExitFailure).Results {
				wantText, fails := tt.fails[r.Name]
				if fails != (r.Status == check.Failed) || !strings.Contains(r.Text+strings.Join(r.Details, " "), wantText) {
					t.Errorf("%+v, want %q", r, wantText)
				}
				if fails != (len(r.Advice) > 0) {
					t.Errorf("%s advises %q", r.Name, r.Advice)
				}
				if want, ok := tt.advice[r.Name]; ok && !slices.Contains(r.Advice, "kubectl --kubeconfig "+tt.of.kubeconfig+" "+want) {
					t.Errorf("%s advises %q, not %q", r.Name, r.Advice, want)
				}
			}
			// The text output is the same.
			got := spazio(t.Context(), "check", "--kubeconfig="+tt.of.kubeconfig)
			for _, wantText := range tt.fails {
				if got.code != command.ExitFailure || !strings.Contains(strings.Join(strings.Fields(got.stdout), " "), wantText) || !strings.Contains(got.stdout, "try: kubectl ") || got.errs != "spazio: a check has failed\n" {
					t.Errorf("exit code %d: %s%s, want %q", got.code, got.stdout, got.errs, wantText)
				}
			}
		})
	}
}

// The check compares the versions that both report, and a missing version is unknown.
func TestCheckedVersions(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	if err := c.Install(withTimeout(t), objects(t, deploy.Config{}), deploy.Options{NoWait: true}); err != nil {
		t.Fatal(err)
	}
	pods(t, client, "near")
	defer unpods(t, client)
	shown := &programs{}
	front := newFront(t, cluster.Plane(t).RESTConfig(), shown)
	for _, tt := range []struct {
		server, scheduler string
		status            check.Status
		wantText          string
	}{
		{"v1.35.9", "v1.35.4", check.OK, "the API server is v1.35.9, the scheduler of 1.35"},
		{"v1.36.0", "v1.35.4", check.OK, "the API server is v1.36.0, the scheduler of 1.35"},
		{"v1.37.0", "v1.36.3", check.OK, "the API server is v1.37.0, the scheduler of 1.36"},
		{"v0.0.0-master", "v1.36.3", check.Unknown, "the API server calls itself v0.0.0-master; the scheduler is of 1.36"},
		{"v1.36.0", "v0.0.0-master", check.Unknown, "the API server is v1.36.0, the scheduler of an unknown version: it does not say"},
		{"v1.34.0", "v0.0.0-master", check.Failed, "this one is v1.34.0"},
		{"v1.36.0", "v1.37.2", check.Failed, "a scheduler of 1.37 is newer than the API server, which is v1.36.0"},
	} {
		front.calls(tt.server)
		shown.set(func(p *programs) { p.release = tt.scheduler })
		got := spazio(t.Context(), "check", "--output=json", "--kubeconfig="+front.kubeconfig)
		var r check.Report
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
			t.Fatalf("%v: %s%s", err, got.stdout, got.errs)
		}
		if version := result(t, r, "version"); version.Status != tt.status || !strings.Contains(version.Text, tt.wantText) {
			t.Errorf("%s and %s: %+v, want %s, %q", tt.server, tt.scheduler, version, tt.status, tt.wantText)
		}
	}
}

// An installation uses the scheduler of the cluster's version, or of the version in a flag if the
// cluster allows it; otherwise nothing is changed.
func TestSchedulerOfTheCluster(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	front := newFront(t, cluster.Plane(t).RESTConfig(), &programs{})
	of := func(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }
	file := filepath.Join(t.TempDir(), "digests.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"spazio-scheduler":"` + of("a") + `"}`)
	before := inventory(t)
	for _, tt := range []struct {
		server   string
		args     []string
		code     int
		wantText string
	}{
		{"v1.34.9", nil, command.ExitFailure, "version: unsupported version of Kubernetes: schedulers are of 1.35, 1.36, 1.37, for API servers of 1.35 to 1.38, and this one is v1.34.9"},
		{"v1.39.0", nil, command.ExitFailure, "this one is v1.39.0"},
		{"v1.35.4", []string{"--kubernetes=1.36"}, command.ExitFailure, "a scheduler of 1.36 is newer than the API server, which is v1.35.4: one of 1.35 serves it"},
		{"v1.37.0", []string{"--kubernetes=1.35"}, command.ExitFailure, "one of 1.37 serves it"},
		{"v1.36.0", []string{"--kubernetes=1.34"}, command.ExitUsage, "must be one of 1.35, 1.36, 1.37"},
		{"v1.35.4", []string{"--digests=" + file}, command.ExitUsage, "the file has no spazio-scheduler-k8s1.35: make it with tools/images -kubernetes 1.35"},
	} {
		front.calls(tt.server)
		got := spazio(withTimeout(t), append([]string{"install", "--registry=r.example", "--kubeconfig=" + front.kubeconfig}, tt.args...)...)
		if got.code != tt.code || !strings.Contains(got.stdout+got.errs, tt.wantText) {
			t.Errorf("%s %q: exit code %d, want %d: %s%s", tt.server, tt.args, got.code, tt.code, got.stdout, got.errs)
		}
	}
	if more := difference(before, inventory(t)); len(more) > 0 {
		t.Errorf("got changes %v", more)
	}
	write(`{"spazio-scheduler":"` + of("a") + `","spazio-scheduler-k8s1.35":"` + of("b") + `"}`)
	for _, tt := range []struct {
		server string
		args   []string
		image  string
	}{
		{"v1.35.4", nil, ":v2-k8s1.35"}, // unchanged, a cluster is upgraded first, and Spazio after it
		{"v1.36.0", []string{"--kubernetes=1.35"}, ":v2-k8s1.35"},
		{"v1.36.0", nil, ":v2-k8s1.36"},
		{"v1.37.0", nil, ":v2"},
		{"v1.38.0", nil, ":v2"},
		{"v1.35.4", []string{"--digests=" + file}, "@" + of("b")},
		{"v1.37.0", []string{"--digests=" + file}, "@" + of("a")},
	} {
		front.calls(tt.server)
		got := spazio(withTimeout(t), append([]string{"install", "--registry=r.example", "--tag=v2", "--no-wait", "--kubeconfig=" + front.kubeconfig}, tt.args...)...)
		if got.code != command.ExitOK {
			t.Fatalf("%s %q: exit code %d: %s%s", tt.server, tt.args, got.code, got.stdout, got.errs)
		}
		for program, want := range map[string]string{"spazio-scheduler": tt.image, "spazio-aggregator": ":v2"} {
			d, err := client.AppsV1().Deployments(deploy.SystemNamespace).Get(t.Context(), program, metav1.GetOptions{})
			if err != nil || d.Spec.Template.Spec.Containers[0].Image != "r.example/"+program+want {
				t.Errorf("%s %q: %s is %s, want %s, %v", tt.server, tt.args, program, d.Spec.Template.Spec.Containers[0].Image, want, err)
			}
		}
	}
}

// If nothing is installed it prints how to install.
func TestCheckOfNothing(t *testing.T) {
	_, kubeconfig := cluster.Connect(t)
	got := spazio(t.Context(), "check", "-o=json", "--kubeconfig="+kubeconfig)
	var r check.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != command.ExitFailure {
		t.Fatalf("exit code %d, %v: %s%s", got.code, err, got.stdout, got.errs)
	}
	rollouts := result(t, r, "rollouts")
	if rollouts.Text != "nothing is installed" || len(rollouts.Advice) != 1 {
		t.Fatalf("%+v", rollouts)
	}
	words := strings.Fields(rollouts.Advice[0])
	if got := spazio(t.Context(), words[1:]...); words[0] != "spazio" || got.code != command.ExitOK || !strings.Contains(got.stdout, "--registry") {
		t.Errorf("%s: exit code %d: %s%s", rollouts.Advice[0], got.code, got.stdout, got.errs)
	}
}

// Errors of a user, and obstacles, are reported in one line with what to do; nothing is changed then.
func TestRefusedCommands(t *testing.T) {
	c, _ := control(t)
	defer remove(t, c)
	_, kubeconfig := cluster.Connect(t)
	before := inventory(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	withoutRoles, err := cluster.Plane(t).UserConfig("foreign")
	if err != nil {
		t.Fatal(err)
	}
	nobody := filepath.Join(dir, "nobody")
	if err := embedded.WriteKubeconfig(nobody, withoutRoles); err != nil {
		t.Fatal(err)
	}
	gone := write("gone", "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n")
	registry := "--registry=r.example"
	for _, tt := range []struct {
		name     string
		args     []string
		code     int
		wantText []string
	}{
		{"a kubeconfig that is none", []string{"install", registry, "--kubeconfig=" + write("none", "{")}, command.ExitUsage, []string{"--kubeconfig"}},
		{"a kubeconfig that is not there", []string{"install", registry, "--kubeconfig=" + dir + "/nowhere"}, command.ExitUsage, []string{"--kubeconfig", "nowhere"}},
		{"an empty kubeconfig", []string{"check", "--kubeconfig=" + write("empty", "")}, command.ExitUsage, []string{"set KUBECONFIG as for kubectl"}},
		{"a context that is not there", []string{"uninstall", "--kubeconfig=" + kubeconfig, "--context=elsewhere"}, command.ExitUsage, []string{`"elsewhere"`}},
		{"an API server that is not there", []string{"install", registry, "--kubeconfig=" + gone}, command.ExitFailure, []string{"127.0.0.1:1", "connection refused"}},
		{"no registry", []string{"install", "--kubeconfig=" + kubeconfig}, command.ExitFailure, []string{"images: --registry is needed: where the images are, or registry.invalid/spazio if the nodes have them already", "nothing was changed"}},
		{"no rights", []string{"install", registry, "--kubeconfig=" + nobody}, command.ExitFailure, []string{"rights: create ", " more: --output json lists all\n", "nothing was changed"}},
		{"no rights to look", []string{"uninstall", "--kubeconfig=" + nobody}, command.ExitFailure, []string{`cannot list resource`}},
		{"a component that is not there", []string{"install", registry, "--component=profiler", "--kubeconfig=" + kubeconfig}, command.ExitUsage, []string{"profiler: ", "profiles-observe"}},
		{"manifests without a dry run", []string{"install", registry, "--output=yaml", "--kubeconfig=" + kubeconfig}, command.ExitUsage, []string{"add --dry-run"}},
		{"a registry with a scheme", []string{"install", "--registry=https://r.example", "--kubeconfig=" + kubeconfig}, command.ExitUsage, []string{"without a scheme"}},
		{"digests that are not there", []string{"install", registry, "--digests=" + dir + "/none.json", "--kubeconfig=" + kubeconfig}, command.ExitUsage, []string{"--digests", "none.json"}},
		{"digests that are none", []string{"install", registry, "--digests=" + write("digests", `{"spazio-agent":"latest"}`), "--kubeconfig=" + kubeconfig}, command.ExitUsage, []string{"sha256:"}},
		{"an output that is none", []string{"install", registry, "--output=xml", "--kubeconfig=" + kubeconfig}, command.ExitUsage, []string{`"xml" is neither text nor json`}},
		{"no time", []string{"check", "--timeout=0s", "--kubeconfig=" + kubeconfig}, command.ExitUsage, []string{"--timeout: must be positive"}},
		{"an argument", []string{"install", "everything"}, command.ExitUsage, []string{`unknown command "everything"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", dir+"/nowhere")
			got := spazio(t.Context(), tt.args...)
			if got.code != tt.code || strings.Count(got.errs, "\n") != 1 {
				t.Errorf("exit code %d, want %d: %s", got.code, tt.code, got.errs)
			}
			for _, want := range tt.wantText {
				if !strings.Contains(got.stdout+got.errs, want) {
					t.Errorf("no %q in %s%s", want, got.stdout, got.errs)
				}
			}
		})
	}
	t.Run("no rights as JSON", func(t *testing.T) {
		got := spazio(t.Context(), "install", registry, "--kubeconfig="+nobody, "-o=json")
		var o struct {
			OK       bool
			Problems []deploy.Problem
			Steps    []deploy.Step
			Error    string
		}
		if err := json.Unmarshal([]byte(got.stdout), &o); err != nil || got.code != command.ExitFailure || o.OK || len(o.Problems) < 10 || o.Steps == nil || o.Error == "" {
			t.Errorf("exit code %d, %v: %+v", got.code, err, o)
		}
	})
	if more := difference(before, inventory(t)); len(more) > 0 {
		t.Errorf("got changes %v", more)
	}
}

// stopWriter is a writer that stops a command at a given line.
type stopWriter struct {
	bytes.Buffer
	at   int
	stop func()
}

func (s *stopWriter) Write(text []byte) (int, error) {
	if s.at--; s.at == 0 {
		s.stop()
	}
	return s.Buffer.Write(text)
}

// An interrupted installation fails with a message, and the same command continues it, even twice;
// changes by another user are reported before anything is changed.
func TestCommandsAgain(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	_, kubeconfig := cluster.Connect(t)
	before := inventory(t)
	install := []string{"install", "--registry=r.example", "--kubeconfig=" + kubeconfig}
	uninstall := []string{"uninstall", "--kubeconfig=" + kubeconfig}
	interrupt := func(args ...string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out, errs := &stopWriter{at: 9, stop: cancel}, &bytes.Buffer{}
		if code := spazioctl.Main(ctx, args, out, errs); code != command.ExitFailure || !strings.Contains(errs.String(), "interrupted; what was done stays: run the same command again to go on") {
			t.Errorf("%s: exit code %d: %s", args[0], code, errs)
		}
	}
	ends := func(code int, want string, args ...string) output {
		t.Helper()
		got := spazio(withTimeout(t), args...)
		if got.code != code || !strings.Contains(got.stdout+got.errs, want) {
			t.Errorf("%q: exit code %d, want %d: %s%s", args, got.code, code, got.stdout, got.errs)
		}
		return got
	}
	interrupt(install...)
	if half, err := c.Installed(t.Context()); err != nil || len(half) == 0 || len(half) == len(objects(t, deploy.Config{})) {
		t.Errorf("got %d objects, %v", len(half), err)
	}
	ends(command.ExitOK, "daemonsets.apps spazio-agent/spazio-agent created (dry run)\n", append(install, "--dry-run")...)
	ends(command.ExitOK, "namespaces spazio-system deleted (dry run)\nThat is all of Spazio. Nothing was changed.\n", append(uninstall, "--dry-run")...)
	ends(command.ExitOK, "Spazio runs.", install...)
	if got := ends(command.ExitOK, "Spazio runs.", install...); strings.Contains(got.stdout, " created\n") || strings.Contains(got.stdout, " configured\n") {
		t.Errorf("second time: got %s", got.stdout)
	}
	scale := []byte(`{"spec":{"replicas":3}}`)
	if _, err := client.AppsV1().Deployments(deploy.SystemNamespace).Patch(t.Context(), "spazio-aggregator", types.MergePatchType, scale, metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	there := inventory(t)
	got := ends(command.ExitFailure, `conflict with "somebody"`, append(install, "--tag=v2")...)
	if !strings.Contains(got.errs, "nothing was changed; --force") || len(tagsOf(t, client)) != 1 || tagsOf(t, client)[0] != "dev" {
		t.Errorf("got %s%s, image tags %v", got.stdout, got.errs, tagsOf(t, client))
	}
	if more := difference(there, inventory(t)); len(more) > 0 {
		t.Errorf("got changes %v", more)
	}
	ends(command.ExitOK, "Spazio runs.", append(install, "--tag=v2", "--force")...)
	ends(command.ExitOK, "Everything is stored.", append(install, "--no-wait")...)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "user"}, Spec: corev1.PodSpec{SchedulerName: "spazio", Containers: []corev1.Container{{Name: "c", Image: "i.example"}}}}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ends(command.ExitFailure, "--force removes Spazio all the same", uninstall...)
	cluster.Remove(t, client)
	interrupt(uninstall...)
	ends(command.ExitOK, "Its removal has begun.", append(uninstall, "--no-wait")...)
	ends(command.ExitOK, "Nothing of Spazio is left.", uninstall...)
	if more := difference(before, inventory(t)); len(more) > 0 {
		t.Errorf("got remaining %v", more)
	}
}
