package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

// apiServer is a version that takes the default scheduler.
const apiServer = "v1.37.0"

// variants holds the values of each component, and those of existing certificates.
func variants(t *testing.T) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{"defaults": {}, "existing": nested("existing", "certificates", "method")}
	for _, name := range Components() {
		values, err := componentValues(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = values
	}
	return all
}

// The package's digests and the chart's are of the same images, and so are their default
// schedulers.
func TestNamesAreTheCharts(t *testing.T) {
	for _, minor := range Schedulers() {
		name := schedulerProgram + (Config{Kubernetes: minor}).suffix()
		if !slices.Contains(images(), name) {
			t.Errorf("the schema of values has no digest of %s", name)
		}
		objects, err := render(nested(minor, "scheduler", "kubernetes"), "v"+minor+".0")
		if err != nil {
			t.Fatal(err)
		}
		want := NoRegistry + "/spazio-scheduler:dev" + (Config{Kubernetes: minor}).suffix()
		if got := find(t, objects, "Deployment", "spazio-scheduler", "spec", "template", "spec", "containers", 0, "image"); got != want {
			t.Errorf("%s: image %v, want %s", minor, got, want)
		}
	}
	if got, want := len(images()), len(Programs())+len(Schedulers())-1; got != want {
		t.Errorf("%d images with digests, want %d", got, want)
	}
}

// withoutProfiler holds the components that leave out the profiler.
var withoutProfiler = []string{"agent-kube", "profiles-off"}

// Scheduling by profiles is on, with its prerequisites: the profiler, and agents that report to it.
// An operator's own value wins.
func TestProfilesAreOn(t *testing.T) {
	for name, test := range map[string]struct {
		values   map[string]any
		profiler bool
		argument string // what the scheduler is passed, empty for its default
	}{
		"defaults":    {nil, true, ""},
		"observed":    {nested("Observe", "scheduler", "args", "profiles"), true, "profiles: Observe\n"},
		"off":         {nested("Off", "scheduler", "args", "profiles"), true, "profiles: \"Off\"\n"},
		"no profiler": {nested(false, "profiler", "enabled"), false, ""},
		"as before":   {nested(true, "profiler", "enabled"), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := rendered(test.values)
			if err != nil {
				t.Fatal(err)
			}
			there := slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == "StatefulSet" && o.GetName() == "spazio-profiler"
			})
			args := fmt.Sprint(find(t, objects, "DaemonSet", "spazio-agent", "spec", "template", "spec", "containers", 0, "args"))
			if there != test.profiler || strings.Contains(args, "--usage=on") != test.profiler {
				t.Errorf("a profiler: %v, want %v; the agent's arguments are %s", there, test.profiler, args)
			}
			config := find(t, objects, "ConfigMap", "spazio-scheduler", "data", "config.yaml").(string)
			if strings.Contains(config, "profiles: \"") != strings.Contains(test.argument, "\"") || !strings.Contains(config, test.argument) || test.argument == "" && strings.Contains(config, "profiles: O") {
				t.Errorf("want %q in\n%s", test.argument, config)
			}
		})
	}
}

// Components combine: the objects of two are the union.
func TestComponentsCombine(t *testing.T) {
	names := func(objects []*unstructured.Unstructured) (all []string) {
		for _, o := range objects {
			if o.GetKind() != "Job" { // which is named by what it certifies
				all = append(all, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
			}
		}
		return all
	}
	for i, a := range Components() {
		for _, b := range Components()[i+1:] {
			both, err := Config{Components: []string{a, b}}.Objects()
			if err != nil {
				t.Errorf("%s and %s: %v", a, b, err)
				continue
			}
			there := names(both)
			if len(there) != len(slices.Compact(slices.Sorted(slices.Values(there)))) {
				t.Errorf("%s and %s: an object is there twice", a, b)
			}
			for _, one := range []string{a, b} {
				objects, err := Config{Components: []string{one}}.Objects()
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range names(objects) {
					// cert-manager replaces the program that makes certificates.
					left := a == "cert-manager" || b == "cert-manager"
					if strings.Contains(name, "profile") { // the profiler's objects and definitions
						left = left || slices.Contains(withoutProfiler, a) || slices.Contains(withoutProfiler, b)
					}
					if !slices.Contains(there, name) && !left {
						t.Errorf("%s and %s: no %s", a, b, name)
					}
				}
			}
		}
	}
}

// Helm's linter finds nothing in the chart.
func TestLint(t *testing.T) {
	for name, values := range variants(t) {
		for _, message := range lint.RunAll("chart", values, SystemNamespace).Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, message)
			}
		}
	}
}

// rendered returns the chart's objects for values.
func rendered(values map[string]any) ([]*unstructured.Unstructured, error) {
	return render(values, apiServer)
}

// nested returns a value at a path of keys.
func nested(value any, path ...string) map[string]any {
	for _, key := range slices.Backward(path) {
		value = map[string]any{key: value}
	}
	return value.(map[string]any)
}

// The schema refuses values that the templates would misinterpret.
func TestSchemaRefuses(t *testing.T) {
	for _, values := range []map[string]any{
		nested(1, "unknown"),
		nested("x", "agent", "unknown"),
		nested("cri", "agent", "podSource"),
		nested(0, "scheduler", "replicas"),
		nested("2", "aggregator", "replicas"),
		nested("1.34", "scheduler", "kubernetes"),
		nested(1.35, "scheduler", "kubernetes"),
		nested("FIFO", "scheduler", "queueSort"),
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
		nested(map[string]any{"cpu": "1"}, "agent", "resources", "request"),
		nested("one", "profiler", "resources", "limits", "cpu"),
		nested([]any{map[string]any{"keys": "x"}}, "scheduler", "tolerations"),
		nested([]any{map[string]any{"effect": "Never"}}, "aggregator", "tolerations"),
		nested("1m", "scheduler", "args", "maxwait"),
	} {
		if _, err := rendered(values); err == nil || !strings.Contains(err.Error(), "values don't meet the specifications of the schema") {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// The schema accepts valid resources and tolerations.
func TestSchemaTakes(t *testing.T) {
	for _, values := range []map[string]any{
		nested(map[string]any{"requests": map[string]any{"cpu": 1, "memory": "1.5Gi"}, "limits": map[string]any{"cpu": "1500m", "memory": "2e9"}}, "agent", "resources"),
		nested([]any{map[string]any{"operator": "Exists"}, map[string]any{"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 3}}, "testbed", "tolerations"),
	} {
		if _, err := rendered(values); err != nil {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// A profiler that reads Prometheus reaches the namespace of monitoring; no other pod does.
func TestProfilerReachesPrometheus(t *testing.T) {
	for name, test := range map[string]struct {
		values map[string]any
		rules  int
	}{
		"without":       {nil, 1},
		"with":          {nested([]any{"--prometheus=http://p.monitoring:9090"}, "profiler", "extraArgs"), 2},
		"other flag":    {nested([]any{"--prometheus-ca-file=/x"}, "profiler", "extraArgs"), 1},
		"no monitoring": {map[string]any{"profiler": map[string]any{"extraArgs": []any{"--prometheus=http://p:9090"}}, "networkPolicies": map[string]any{"monitoringNamespace": ""}}, 1},
	} {
		objects, err := rendered(test.values)
		if err != nil {
			t.Fatal(err)
		}
		rules := find(t, objects, "NetworkPolicy", "spazio-profiler", "spec", "egress").([]any)
		if len(rules) != test.rules {
			t.Errorf("%s: %v", name, rules)
		}
		if test.rules == 2 && of[string](t, rules[1].(map[string]any)["to"].([]any)[0], "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name") != "monitoring" {
			t.Errorf("%s: %v", name, rules[1])
		}
	}
}

// find returns what lies at the path in the one object of the kind and name.
func find(t *testing.T, objects []*unstructured.Unstructured, kind, name string, path ...any) any {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		t.Fatalf("no %s %s", kind, name)
	}
	var value any = objects[i].Object
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

// Of components that may be left out, those that run are scraped.
func TestPodMonitors(t *testing.T) {
	for name, test := range map[string]struct {
		enabled map[string]bool
		want    []string
	}{
		"defaults": {nil, []string{"spazio-agent", "spazio-aggregator", "spazio-profiler"}},
		"least":    {map[string]bool{"profiler": false}, []string{"spazio-agent", "spazio-aggregator"}},
		"all": {map[string]bool{"testbed": true, "descheduler": true},
			[]string{"spazio-agent", "spazio-aggregator", "spazio-descheduler", "spazio-profiler", "spazio-testbed"}},
	} {
		values := nested(true, "monitoring", "enabled")
		for component, on := range test.enabled {
			values[component] = map[string]any{"enabled": on}
		}
		objects, err := rendered(values)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range objects {
			if o.GetKind() == "PodMonitor" {
				got = append(got, o.GetName())
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Replicas are spread over zones and hosts, neither of which keeps a pod from running.
func TestSpread(t *testing.T) {
	objects, err := rendered(map[string]any{"testbed": map[string]any{"enabled": true}, "descheduler": map[string]any{"enabled": true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "Deployment" && o.GetKind() != "StatefulSet" {
			continue
		}
		var keys []string
		for _, c := range find(t, objects, o.GetKind(), o.GetName(), "spec", "template", "spec", "topologySpreadConstraints").([]any) {
			if of[string](t, c, "whenUnsatisfiable") == "ScheduleAnyway" && of[string](t, c, "labelSelector", "matchLabels", "app.kubernetes.io/name") == o.GetName() {
				keys = append(keys, of[string](t, c, "topologyKey"))
			}
		}
		if diff := cmp.Diff([]string{"kubernetes.io/hostname"}, keys); diff != "" {
			t.Errorf("%s (-want +got):\n%s", o.GetName(), diff)
		}
		preferred := find(t, objects, o.GetKind(), o.GetName(), "spec", "template", "spec", "affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution").([]any)
		if len(preferred) != 1 || of[string](t, preferred[0], "podAffinityTerm", "topologyKey") != "topology.kubernetes.io/zone" ||
			of[string](t, preferred[0], "podAffinityTerm", "labelSelector", "matchLabels", "app.kubernetes.io/name") != o.GetName() {
			t.Errorf("%s: %v", o.GetName(), preferred)
		}
	}
}

// The descheduler judges room by the scheduler's arguments.
func TestDeschedulerHasTheSchedulersArguments(t *testing.T) {
	values := nested(2.5, "scheduler", "args", "minFreePods")
	values["descheduler"] = map[string]any{"enabled": true}
	objects, err := rendered(values)
	if err != nil {
		t.Fatal(err)
	}
	text := find(t, objects, "ConfigMap", "spazio-descheduler", "data", "scheduler-args.yaml").(string)
	if !strings.Contains(text, "minFreePods: 2.5\n") {
		t.Errorf("scheduler-args.yaml:\n%s", text)
	}
	flags := find(t, objects, "Deployment", "spazio-descheduler", "spec", "template", "spec", "containers", 0, "args").([]any)
	if !slices.Contains(flags, any("--scheduler-args=/etc/spazio/config/scheduler-args.yaml")) {
		t.Errorf("%v", flags)
	}
}

func TestValues(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	objects, err := rendered(map[string]any{
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
		if strings.HasPrefix(o.GetNamespace(), "spazio") || o.GetKind() == "Namespace" || o.GetKind() == "Secret" {
			t.Errorf("%s %s was rendered", o.GetKind(), o.GetName())
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "spazio-system") || strings.Contains(string(text), "cluster.local") {
			t.Errorf("%s %s has a namespace or domain that is not the values'", o.GetKind(), o.GetName())
		}
	}
}

// All profiles of the scheduler have the configured queue sort plugin, and no other.
func TestQueueSort(t *testing.T) {
	for _, name := range []string{"PrioritySort", "ShortestFirst"} {
		objects, err := rendered(map[string]any{
			"scheduler": map[string]any{"queueSort": name}, "energy": map[string]any{"enabled": true}, "testbed": map[string]any{"enabled": true},
		})
		if err != nil {
			t.Fatal(err)
		}
		var config configv1.KubeSchedulerConfiguration
		if err := yaml.UnmarshalStrict([]byte(find(t, objects, "ConfigMap", "spazio-scheduler", "data", "config.yaml").(string)), &config); err != nil {
			t.Fatal(err)
		}
		if len(config.Profiles) != 3 {
			t.Errorf("%d profiles, want 3", len(config.Profiles))
		}
		want := configv1.PluginSet{Enabled: []configv1.Plugin{{Name: name}}, Disabled: []configv1.Plugin{{Name: "*"}}}
		for _, p := range config.Profiles {
			if diff := cmp.Diff(want, p.Plugins.QueueSort); diff != "" {
				t.Errorf("%s (-want +got):\n%s", *p.SchedulerName, diff)
			}
		}
	}
}

// The scheduler's image is that of the configured version, and a version that does not fit the API
// server is refused.
func TestKubernetes(t *testing.T) {
	of := func(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }
	own := map[string]any{"spazio-scheduler": of("a")}
	both := map[string]any{"spazio-scheduler": of("a"), "spazio-scheduler-k8s1.35": of("b")}
	for _, tt := range []struct {
		server, scheduler string
		digests           map[string]any
		image, refused    string
	}{
		{"v1.37.2", "", nil, ":dev", ""},
		{"v1.38.0", "1.37", nil, ":dev", ""},
		{"v1.37.2", "1.36", nil, ":dev-k8s1.36", ""},
		{"v1.35.4", "1.35", nil, ":dev-k8s1.35", ""},
		{"v1.36.3-gke.100", "1.35", nil, ":dev-k8s1.35", ""},
		{"v1.37.2", "", both, "@" + of("a"), ""},
		{"v1.35.4", "1.35", both, "@" + of("b"), ""},
		{"v1.35.4", "1.35", own, "", "none of spazio-scheduler-k8s1.35"},
		{"v1.35.4", "", nil, "", "scheduler.kubernetes is 1.37, and the API server v1.35.4"},
		{"v1.39.0", "", nil, "", "scheduler.kubernetes is 1.37, and the API server v1.39.0"},
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
		objects, err := render(values, tt.server)
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

// alone holds the pairs of components that spazio install cannot combine as the chart does.
func TestEnergy(t *testing.T) {
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
		objects, err := rendered(map[string]any{"energy": energy})
		if err != nil {
			t.Fatal(err)
		}
		container := find(t, objects, "DaemonSet", "spazio-agent", "spec", "template", "spec", "containers", 0).(map[string]any)
		security := container["securityContext"].(map[string]any)
		if user, ok := security["runAsUser"]; ok != want.root || ok && user != any(int64(0)) || security["allowPrivilegeEscalation"] != false {
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

// The profiler has further rights only if a value asks for what needs them.
func TestProfilerRights(t *testing.T) {
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
		of := func(values map[string]any) (rules, args []any) {
			objects, err := rendered(map[string]any{"profiler": values})
			if err != nil {
				t.Fatal(err)
			}
			return find(t, objects, "ClusterRole", "spazio-profiler", "rules").([]any),
				find(t, objects, "StatefulSet", "spazio-profiler", "spec", "template", "spec", "containers", 0, "args").([]any)
		}
		bare, bareArgs := of(map[string]any{"enabled": true})
		rules, args := of(map[string]any{"enabled": true, flag: test.value})
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

// helmCommands are the document's commands that the test below runs.
var helmCommands = regexp.MustCompile("(?ms)^<!-- run: TestHelmInDocuments of cmd/deploy -->\n```sh\n(.*?)^```$")

// The documented Helm command for a cluster of 1.35 selects its scheduler's image, by the digest in
// the file of tools/images.
func TestHelmInDocuments(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Log("not run: there is no shell")
		return
	}
	text, err := os.ReadFile("../../docs/install.md")
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
	// This helm prints its arguments.
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
	if got, want := args[:3], []string{"install", "spazio", "cmd/deploy/chart"}; !slices.Equal(got, want) {
		t.Errorf("helm %q, want %q", got, want)
	}
	objects, err := render(values, "v1.35.4")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := find(t, objects, "Deployment", "spazio-scheduler", "spec", "template", "spec", "containers", 0, "image"), "REGISTRY/spazio-scheduler@"+other; got != want {
		t.Errorf("image %v, want %v", got, want)
	}
}
