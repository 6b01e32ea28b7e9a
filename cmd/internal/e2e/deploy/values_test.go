package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

const chart = root + "/cmd/deploy/chart"

// combined are values that have most of the chart on, or off, at once.
var combined = map[string]string{
	"everything": `
images: {pullPolicy: Always, pullSecrets: [{name: pull}]}
agent: {hostPID: true, hostProc: true, extraArgs: [--log-level=debug]}
scheduler: {replicas: 3, args: {maxWait: 1m}, tolerations: [{operator: Exists}]}
aggregator: {replicas: 1, nodeSelector: {infra: "yes"}}
profiler: {replicas: 1, vpaName: spazio, resize: true, exportLiqo: true}
testbed: {enabled: true, replicas: 1, placeholderImage: registry.example/pause:3, namespaces: [lab, lab-2], interface: {seedPaths: true, ui: false}}
autoscaler: {enabled: true, maxReplicas: 10, protectAbove: 0.7}
energy: {enabled: true, model: "idle=40,max=200"}
certificates: {method: certManager, certManager: {issuerRef: {group: cert-manager.io, kind: ClusterIssuer, name: own}}}
monitoring: {enabled: true, labels: {release: prometheus}}
`,
	"little": `
agent: {podSource: kube}
scheduler: {replicas: 1, queueSort: ShortestFirst}
profiler: {enabled: false}
certificates: {method: existing}
networkPolicies: {enabled: false, monitoringNamespace: ""}
`,
}

// combinations are the objects that the chart makes of combined values, and of each value that its
// schema enumerates, all other components on.
func combinations(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	made := map[string][]*unstructured.Unstructured{}
	for name, text := range combined {
		var values map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		made[name] = rendered(t, values)
	}
	text, err := os.ReadFile(chart + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s valuesSchema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	s.each(nil, func(path []string, value any) {
		values := map[string]any{"energy": map[string]any{"enabled": true}, "testbed": map[string]any{"enabled": true}, "monitoring": map[string]any{"enabled": true}}
		at := values
		for _, key := range path[:len(path)-1] {
			if at[key] == nil {
				at[key] = map[string]any{}
			}
			at = at[key].(map[string]any)
		}
		at[path[len(path)-1]] = value
		if value == "kube" {
			values["profiler"] = map[string]any{"enabled": false}
		}
		made[fmt.Sprintf("%s=%v", strings.Join(path, "."), value)] = rendered(t, values)
	})
	return made
}

// The values' schema knows the plugin's arguments, all of them and no other.
func TestSchemaOfArguments(t *testing.T) {
	var want []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.SpazioArgs]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && !field.Anonymous && len(field.Index) == 1 {
			want = append(want, name)
		}
	}
	text, err := os.ReadFile(chart + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s valuesSchema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	got := s.Properties["scheduler"].Properties["args"].PropertyNames.Enum
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("the schema has %q, the plugin %q", got, want)
	}
}

// valuesSchema is the part of the values' schema that lists enumerated values.
type valuesSchema struct {
	Properties    map[string]valuesSchema
	Enum          []any
	PropertyNames struct{ Enum []string }
}

func (s valuesSchema) each(path []string, do func(path []string, value any)) {
	for _, value := range s.Enum {
		do(path, value)
	}
	for name, of := range s.Properties {
		of.each(append(slices.Clone(path), name), do)
	}
}

// rendered are the objects that Helm makes of values, for an API server that takes their scheduler.
func rendered(t *testing.T, values map[string]any) (objects []*unstructured.Unstructured) {
	t.Helper()
	c, err := loader.LoadDir(chart)
	if err != nil {
		t.Fatal(err)
	}
	of := c.Values["scheduler"].(map[string]any)["kubernetes"]
	if scheduler, ok := values["scheduler"].(map[string]any); ok && scheduler["kubernetes"] != nil {
		of = scheduler["kubernetes"]
	}
	version, err := common.ParseKubeVersion(fmt.Sprintf("v%s.0", of))
	if err != nil {
		t.Fatal(err)
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: "spazio", Namespace: "kube-system", IsInstall: true}, capabilities)
	if err != nil {
		t.Fatalf("%v: %v", values, err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatalf("%v: %v", values, err)
	}
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		file := filepath.Join(dir, path.Base(name))
		if err := os.WriteFile(file, []byte("\n"+files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, cluster.ReadManifests(t, file)...)
	}
	return objects
}
