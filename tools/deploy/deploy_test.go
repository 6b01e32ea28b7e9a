package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
)

const root = "../.."

func load(t *testing.T) (*helmChart, map[string]map[string]any, tree) {
	t.Helper()
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := definitions(root)
	if err != nil {
		t.Fatal(err)
	}
	c, err := open(root, crds)
	if err != nil {
		t.Fatal(err)
	}
	variants, err := c.variants()
	if err != nil {
		t.Fatal(err)
	}
	return c, variants, files
}

// What is committed is what the chart makes.
func TestCommitted(t *testing.T) {
	if err := run(root, true); err != nil {
		t.Errorf("%v\nrun: GOWORK=off go run -C tools/deploy .", err)
	}
}

func TestCompareNamesEachDifference(t *testing.T) {
	dir := t.TempDir()
	want := tree{"deploy/rendered/a.yaml": "a\n", "deploy/kustomize/base/b.yaml": "b\n", "deploy/chart/files/c.yaml": "c\n"}
	if err := want.write(dir); err != nil {
		t.Fatal(err)
	}
	if differences := want.compare(dir); len(differences) > 0 {
		t.Fatal(differences)
	}
	for path, text := range map[string]string{"deploy/rendered/a.yaml": "changed\n", "deploy/rendered/more.yaml": ""} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "deploy/kustomize/base/b.yaml")); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(want.compare(dir))
	for _, part := range []string{"a.yaml differs", "more.yaml is not generated", "b.yaml is missing"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
}

func TestLint(t *testing.T) {
	c, variants, _ := load(t)
	variants["existing"] = map[string]any{"certificates": map[string]any{"method": "existing"}}
	for name, values := range variants {
		for _, message := range c.lint(values) {
			t.Errorf("%s: %v", name, message)
		}
	}
}

func nested(value any, path ...string) map[string]any {
	for _, key := range slices.Backward(path) {
		value = map[string]any{key: value}
	}
	return value.(map[string]any)
}

// The schema refuses what the templates would take for something else.
func TestSchemaRefuses(t *testing.T) {
	c, _, _ := load(t)
	for _, values := range []map[string]any{
		nested(1, "unknown"),
		nested("x", "agent", "unknown"),
		nested("cri", "agent", "podSource"),
		nested(0, "scheduler", "replicas"),
		nested("2", "aggregator", "replicas"),
		nested("1.34", "scheduler", "kubernetes"),
		nested(1.35, "scheduler", "kubernetes"),
		nested("CronJob", "certificates", "method"),
		nested("sha256:abc", "images", "digests", "spazio-agent"),
		nested("sha256:"+strings.Repeat("a", 64), "images", "digests", "spazio-agnet"),
		nested("Spazio", "namespaces", "system"),
		nested([]any{"insecure"}, "aggregator", "extraArgs"),
		nested("", "images", "registry"),
		nested("15", "monitoring", "interval"),
		nested("rapl", "energy", "source"),
		nested("idle=4", "energy", "model"),
		nested(1.5, "energy", "weight"),
		nested([]any{"Lab"}, "testbed", "namespaces"),
		nested(0, "testbed", "replicas"),
	} {
		if _, err := c.render(values); err == nil || !strings.Contains(err.Error(), "values don't meet the specifications of the schema") {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// find returns what lies at the path in the one object of the kind and name.
func find(t *testing.T, objects []object, kind, name string, path ...any) any {
	t.Helper()
	i := slices.IndexFunc(objects, func(o object) bool { return o.kind() == kind && o.metadata("name") == name })
	if i < 0 {
		t.Fatalf("no %s %s", kind, name)
	}
	var value any = objects[i].content
	for _, key := range path {
		switch at := value.(type) {
		case map[string]any:
			value = at[key.(string)]
		case []any:
			value = at[key.(int)]
		default:
			t.Fatalf("%s %s has nothing at %v", kind, name, path)
		}
	}
	return value
}

func TestValues(t *testing.T) {
	c, _, _ := load(t)
	digest := "sha256:" + strings.Repeat("a", 64)
	objects, err := c.render(map[string]any{
		"images":        map[string]any{"registry": "example.org/x", "tag": "v1", "digests": map[string]any{"spazio-agent": digest}},
		"namespaces":    map[string]any{"system": "s", "agent": "a", "create": false},
		"clusterDomain": "example.net",
		"agent":         map[string]any{"extraArgs": []any{"--log-level=debug"}, "hostProc": true},
		"scheduler":     map[string]any{"args": map[string]any{"maxWait": "1m", "listen": ":1"}},
		"certificates":  map[string]any{"method": "existing"},
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := []any{"spec", "template", "spec", "containers", 0}
	if got, want := find(t, objects, "DaemonSet", "spazio-agent", append(pod, "image")...), "example.org/x/spazio-agent@"+digest; got != want {
		t.Errorf("image %v, want %v", got, want)
	}
	if got, want := find(t, objects, "Deployment", "spazio-scheduler", append(pod, "image")...), "example.org/x/spazio-scheduler:v1"; got != want {
		t.Errorf("image %v, want %v", got, want)
	}
	args := find(t, objects, "DaemonSet", "spazio-agent", append(pod, "args")...).([]any)
	if args[len(args)-1] != "--log-level=debug" || !slices.Contains(args, any("--schedulers=dns:///spazio-scheduler.s.svc.example.net:9690")) || !slices.Contains(args, any("--proc-root=/host/proc")) {
		t.Errorf("the agent's arguments: %v", args)
	}
	text := find(t, objects, "ConfigMap", "spazio-scheduler", "data", "config.yaml").(string)
	for _, line := range []string{"listen: :1\n", "maxWait: 1m\n", "agentServiceAccount: a/spazio-agent\n", "resourceNamespace: s\n"} {
		if strings.Count(text, line) != 1 {
			t.Errorf("the scheduler's configuration has not one %q:\n%s", line, text)
		}
	}
	for _, o := range objects {
		if namespace := o.metadata("namespace"); strings.HasPrefix(namespace, "spazio") || o.kind() == "Namespace" || o.kind() == "Secret" {
			t.Errorf("%s was rendered", o.id())
		}
		if strings.Contains(o.text, "spazio-system") || strings.Contains(o.text, "cluster.local") {
			t.Errorf("%s has a namespace or domain that is not the values'", o.id())
		}
	}
}

// The scheduler's image is that of the version asked for, and of none that the API server may
// not have.
func TestKubernetes(t *testing.T) {
	c, _, _ := load(t)
	of := func(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }
	own := map[string]any{"spazio-scheduler": of("a")}
	both := map[string]any{"spazio-scheduler": of("a"), "spazio-scheduler-k8s1.35": of("b")}
	for _, tt := range []struct {
		server, scheduler string
		digests           map[string]any
		image, refused    string
	}{
		{"v1.36.3", "", nil, ":dev", ""},
		{"v1.37.0", "1.36", nil, ":dev", ""},
		{"v1.35.4", "1.35", nil, ":dev-k8s1.35", ""},
		{"v1.36.3-gke.100", "1.35", nil, ":dev-k8s1.35", ""},
		{"v1.36.3", "", both, "@" + of("a"), ""},
		{"v1.35.4", "1.35", both, "@" + of("b"), ""},
		{"v1.35.4", "1.35", own, "", "none of spazio-scheduler-k8s1.35"},
		{"v1.35.4", "", nil, "", "scheduler.kubernetes is 1.36, and the API server v1.35.4"},
		{"v1.38.0", "", nil, "", "scheduler.kubernetes is 1.36, and the API server v1.38.0"},
		{"v1.34.9", "1.35", nil, "", "scheduler.kubernetes is 1.35, and the API server v1.34.9"},
		{"v1.37.0", "1.35", nil, "", "scheduler.kubernetes is 1.35, and the API server v1.37.0"},
	} {
		values := map[string]any{}
		if tt.digests != nil {
			values["images"] = map[string]any{"digests": tt.digests}
		}
		if tt.scheduler != "" {
			values["scheduler"] = map[string]any{"kubernetes": tt.scheduler}
		}
		objects, err := c.renderFor(tt.server, values)
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		if got, want := find(t, objects, "Deployment", "spazio-scheduler", "spec", "template", "spec", "containers", 0, "image"), "registry.invalid/spazio/spazio-scheduler"+tt.image; got != want {
			t.Errorf("%+v: image %v, want %v", tt, got, want)
		}
		if got, want := find(t, objects, "Deployment", "spazio-aggregator", "spec", "template", "spec", "containers", 0, "image"), "registry.invalid/spazio/spazio-aggregator:dev"; got != want {
			t.Errorf("%+v: image %v, want %v", tt, got, want)
		}
	}
}

// alone are the pairs of components that don't make together what the chart makes
// of both: docs/install.md says so.
var alone = map[string]bool{
	"agent-kube cgroup-v1":    true, // only one of them can be meant
	"agent-kube energy":       true,
	"agent-kube profiler":     true,
	"cert-manager monitoring": true,
	"cert-manager profiler":   true,
	"cert-manager testbed":    true,
	"energy profiles-on":      true,
	"energy testbed":          true,
	"profiles-on testbed":     true,
}

// kustomize makes of the base and a component what Helm makes of the values.
func TestComponents(t *testing.T) {
	c, variants, files := load(t)
	delete(variants, install)
	names := slices.Sorted(maps.Keys(variants))
	check := func(t *testing.T, values map[string]any, want bool, components ...string) {
		t.Helper()
		helm, err := c.render(values)
		if err != nil {
			t.Fatal(err)
		}
		built, err := build(files, components...)
		if same := err == nil && contentOf(t, helm, built); same != want {
			t.Errorf("%v: the same as Helm's is %v, want %v (%v)", components, same, want, err)
		}
	}
	check(t, nil, true)
	for i, a := range names {
		check(t, variants[a], true, a)
		for _, b := range names[i+1:] {
			both := loader.MergeMaps(variants[a], variants[b])
			pair := a + " " + b
			check(t, both, !alone[pair], a, b)
		}
	}
}

// spazio install makes of its components, images and digests what Helm makes of the
// values: the same objects by the same names.
func TestInstall(t *testing.T) {
	c, variants, _ := load(t)
	digest := "sha256:" + strings.Repeat("a", 64)
	images := map[string]any{"images": map[string]any{
		"registry": "example.org/x", "tag": "v1", "digests": map[string]any{"spazio-agent": digest, "spazio-certs": digest},
	}}
	digests := filepath.Join(t.TempDir(), "digests.json")
	if err := os.WriteFile(digests, fmt.Appendf(nil, `{"spazio-agent":%q,"spazio-certs":%q}`, digest, digest), 0o600); err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "spazio")
	command := exec.Command("go", "build", "-o", program, "./cmd/spazio")
	command.Dir, command.Env = top, append(os.Environ(), "GOWORK="+filepath.Join(top, "go.work"))
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	variants["--kubernetes=1.35"] = nested("1.35", "scheduler", "kubernetes")
	for name, values := range variants {
		helm, err := c.render(loader.MergeMaps(values, images))
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"install", "--print", "--registry=example.org/x", "--tag=v1", "--digests=" + digests}
		switch {
		case strings.HasPrefix(name, "--"):
			args = append(args, name)
		case name != install:
			args = append(args, "--component="+name)
		}
		text, err := exec.Command(program, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		printed, err := split(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if !contentOf(t, helm, printed) {
			t.Errorf("%s: not what Helm makes", name)
		}
	}
}

// contentOf says whether the objects are the same, in whatever order.
func contentOf(t *testing.T, want, got []object) bool {
	t.Helper()
	wanted, found := byID(want), byID(got)
	same := len(wanted) == len(found)
	for id, o := range wanted {
		if !reflect.DeepEqual(o.content, found[id].content) {
			t.Logf("%s differs", id)
			same = false
		}
	}
	return same
}

// Agents get what their source of energy takes, and no more: uid 0 where counters are
// root's, directories that are there on every node, and none of it where energy is off.
func TestEnergy(t *testing.T) {
	c, _, _ := load(t)
	for source, want := range map[string]struct {
		root   bool
		mounts []string
	}{
		"":         {false, nil},
		"auto":     {true, []string{"/host/sys/class", "/host/sys/devices"}},
		"powercap": {true, []string{"/host/sys/class", "/host/sys/devices/virtual"}},
		"hwmon":    {false, []string{"/host/sys/class", "/host/sys/devices"}},
		"shared":   {false, []string{"/var/lib/spazio/power"}},
		"model":    {false, nil},
	} {
		energy := map[string]any{"enabled": source != ""}
		if source != "" {
			energy["source"], energy["model"], energy["weight"] = source, "idle=4,max=12", .25
		}
		objects, err := c.render(map[string]any{"energy": energy})
		if err != nil {
			t.Fatal(err)
		}
		container := find(t, objects, "DaemonSet", "spazio-agent", "spec", "template", "spec", "containers", 0).(map[string]any)
		security := container["securityContext"].(map[string]any)
		if user, ok := security["runAsUser"]; ok != want.root || ok && user != any(float64(0)) || security["allowPrivilegeEscalation"] != false {
			t.Errorf("%q: %v", source, security)
		}
		var mounts []string
		for _, m := range container["volumeMounts"].([]any) {
			at := m.(map[string]any)
			if path := at["mountPath"].(string); strings.Contains(path, "/sys/") && !strings.Contains(path, "cgroup") || strings.Contains(path, "power") {
				mounts = append(mounts, path)
				if at["readOnly"] != true {
					t.Errorf("%q: %s is not read-only", source, path)
				}
			}
		}
		if !slices.Equal(mounts, want.mounts) {
			t.Errorf("%q: mounts %q", source, mounts)
		}
		args := fmt.Sprint(container["args"])
		if on := source != ""; strings.Contains(args, "--energy="+source) != on || strings.Contains(args, "--energy-model=idle=4,max=12") != on ||
			strings.Contains(args, "--sys-root=/host/sys") != (len(want.mounts) == 2) {
			t.Errorf("%q: %s", source, args)
		}
		config := find(t, objects, "ConfigMap", "spazio-scheduler", "data", "config.yaml").(string)
		if on := source != ""; strings.Contains(config, "schedulerName: spazio-energy") != on || strings.Contains(config, "energyWeight: 0.25") != on {
			t.Errorf("%q: %s", source, config)
		}
	}
}

// What the profiler may do beside profiles it may do where it is asked to, and not else.
func TestProfilerRights(t *testing.T) {
	c, _, _ := load(t)
	for flag, test := range map[string]struct {
		value any
		rules []string
	}{
		"vpaName": {"spazio", []string{"autoscaling.k8s.io [verticalpodautoscalers] [list watch]", "autoscaling.k8s.io [verticalpodautoscalers/status] [patch]"}},
		"resize":  {true, []string{"autoscaling [horizontalpodautoscalers] [list watch]", " [pods/resize] [patch]"}},
		"exportLiqo": {true, []string{
			"webapp.liqo.io.profiling [memoryprofiles cpuprofiles] [create patch]",
			"webapp.liqo.io.profiling [connectionprofiles] [list watch create patch delete]",
		}},
	} {
		rendered := func(values map[string]any) (rules, args []any) {
			objects, err := c.render(map[string]any{"profiler": values})
			if err != nil {
				t.Fatal(err)
			}
			return find(t, objects, "ClusterRole", "spazio-profiler", "rules").([]any),
				find(t, objects, "StatefulSet", "spazio-profiler", "spec", "template", "spec", "containers", 0, "args").([]any)
		}
		bare, bareArgs := rendered(map[string]any{"enabled": true})
		rules, args := rendered(map[string]any{"enabled": true, flag: test.value})
		var more []string
		for _, rule := range rules[len(bare):] {
			r := rule.(map[string]any)
			more = append(more, fmt.Sprint(r["apiGroups"].([]any)[0], " ", r["resources"], " ", r["verbs"]))
		}
		if !slices.Equal(more, test.rules) {
			t.Errorf("%s: rules %q", flag, more)
		}
		want := map[string]string{"vpaName": "--vpa-name=spazio", "resize": "--resize", "exportLiqo": "--export-liqo"}[flag]
		if len(args) != len(bareArgs)+1 || !slices.Contains(args, any(want)) {
			t.Errorf("%s: arguments %v", flag, args)
		}
	}
}

// helmCommands are those of a document that the test below takes.
var helmCommands = regexp.MustCompile("(?ms)^<!-- run: TestHelmInDocuments of tools/deploy -->\n```sh\n(.*?)^```$")

// What a document has a reader tell Helm for a cluster of 1.35 makes its scheduler's image,
// by the digest in the file that tools/images has written.
func TestHelmInDocuments(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Log("not run: there is no shell")
		return
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := helmCommands.FindAllStringSubmatch(string(text), -1)
	if len(commands) != 1 {
		t.Fatalf("%d commands", len(commands))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "digests.json")
	own, other := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"spazio-scheduler":%q,"spazio-scheduler-k8s1.35":%q}`, own, other), 0o600); err != nil {
		t.Fatal(err)
	}
	// A helm that says what it was given.
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte("#!/bin/sh\nprintf '%s\\0' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-eu", "-c", strings.ReplaceAll(commands[0][1], "/tmp/digests.json", "'"+file+"'"))
	shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	given, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	args := strings.Split(strings.TrimSuffix(string(given), "\x00"), "\x00")
	for i, arg := range args {
		switch arg {
		case "--set":
			err = strvals.ParseInto(args[i+1], values)
		case "--set-json":
			err = strvals.ParseJSON(args[i+1], values)
		}
		if err != nil {
			t.Fatalf("%q: %v", args[i:], err)
		}
	}
	if got, want := args[:3], []string{"install", "spazio", chartDir}; !slices.Equal(got, want) {
		t.Errorf("helm %q, want %q", got, want)
	}
	c, _, _ := load(t)
	objects, err := c.renderFor("v1.35.4", values)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := find(t, objects, "Deployment", "spazio-scheduler", "spec", "template", "spec", "containers", 0, "image"), "REGISTRY/spazio-scheduler@"+other; got != want {
		t.Errorf("image %v, want %v", got, want)
	}
}
