package deploy_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/field"
)

var digest = "sha256:" + strings.Repeat("5a", 32)

// images returns those of all containers, sorted.
func images(t *testing.T, objects []*unstructured.Unstructured) (all []string) {
	t.Helper()
	for _, o := range objects {
		template := []string{"spec", "template", "spec", "containers"}
		if o.GetKind() == "CronJob" {
			template = append([]string{"spec", "jobTemplate"}, template...)
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, template...)
		for _, c := range containers {
			all = append(all, c.(map[string]any)["image"].(string))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestImages(t *testing.T) {
	other := "sha256:" + strings.Repeat("35", 32)
	both := map[string]string{"spazio-scheduler": digest, "spazio-scheduler-k8s1.35": other}
	for _, tt := range []struct {
		config deploy.Config
		want   []string
	}{
		{deploy.Config{}, []string{
			"registry.invalid/spazio/spazio-agent:dev", "registry.invalid/spazio/spazio-aggregator:dev",
			"registry.invalid/spazio/spazio-certs:dev", "registry.invalid/spazio/spazio-profiler:dev", "registry.invalid/spazio/spazio-scheduler:dev",
		}},
		{deploy.Config{Registry: "127.0.0.1:5000/x", Tag: "v1", Digests: map[string]string{"spazio-scheduler": digest}}, []string{
			"127.0.0.1:5000/x/spazio-agent:v1", "127.0.0.1:5000/x/spazio-aggregator:v1",
			"127.0.0.1:5000/x/spazio-certs:v1", "127.0.0.1:5000/x/spazio-profiler:v1", "127.0.0.1:5000/x/spazio-scheduler@" + digest,
		}},
		{deploy.Config{Kubernetes: "1.37"}, []string{
			"registry.invalid/spazio/spazio-agent:dev", "registry.invalid/spazio/spazio-aggregator:dev",
			"registry.invalid/spazio/spazio-certs:dev", "registry.invalid/spazio/spazio-profiler:dev", "registry.invalid/spazio/spazio-scheduler:dev",
		}},
		{deploy.Config{Registry: "r.example", Tag: "v1", Kubernetes: "1.35"}, []string{
			"r.example/spazio-agent:v1", "r.example/spazio-aggregator:v1", "r.example/spazio-certs:v1", "r.example/spazio-profiler:v1", "r.example/spazio-scheduler:v1-k8s1.35",
		}},
		{deploy.Config{Registry: "r.example", Kubernetes: "1.35", Digests: both}, []string{
			"r.example/spazio-agent:dev", "r.example/spazio-aggregator:dev", "r.example/spazio-certs:dev", "r.example/spazio-profiler:dev", "r.example/spazio-scheduler@" + other,
		}},
		{deploy.Config{Registry: "r.example", Digests: both}, []string{
			"r.example/spazio-agent:dev", "r.example/spazio-aggregator:dev", "r.example/spazio-certs:dev", "r.example/spazio-profiler:dev", "r.example/spazio-scheduler@" + digest,
		}},
		{deploy.Config{Registry: "r.example", Components: []string{"agent-kube"}}, []string{
			"r.example/spazio-agent-kube:dev", "r.example/spazio-aggregator:dev", "r.example/spazio-certs:dev", "r.example/spazio-scheduler:dev",
		}},
	} {
		objects, err := tt.config.Objects()
		if err != nil {
			t.Fatal(err)
		}
		if got := images(t, objects); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.config, got, tt.want)
		}
	}
}

// A Job is immutable: one with another image or server has another name, an equal one the same.
func TestJobsAreNamedByWhatTheyRun(t *testing.T) {
	names := map[string]string{}
	for _, config := range []deploy.Config{
		{}, {Tag: "dev"}, {Registry: "r.example"}, {Registry: "r.example", Tag: "v2"}, {Digests: map[string]string{"spazio-certs": digest}},
		{Components: []string{"profiles-off"}}, {Registry: "r.example", Components: []string{"profiles-off"}},
		{Registry: "r.example", Components: []string{"cgroup-v1"}}, // which is of the agent alone
	} {
		objects, err := config.Objects()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Job" })
		spec, err := json.Marshal(objects[i].Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		name := objects[i].GetName()
		if known, ok := names[name]; ok && known != string(spec) {
			t.Errorf("%s is a name of two Jobs", name)
		}
		names[name] = string(spec)
	}
	if len(names) != 6 {
		t.Errorf("%d names of 6 Jobs: %v", len(names), names)
	}
}

func TestObjectsRefuse(t *testing.T) {
	for name, configs := range map[string][]deploy.Config{
		"Components": {
			{Components: []string{"nothing"}}, {Components: []string{"testbed", "testbed"}}, {Components: []string{""}},
		},
		"Registry":   {{Registry: "https://r.example"}, {Registry: "r.example/"}, {Registry: "r.example/UPPER"}, {Registry: "-x"}, {Registry: "a b"}, {Registry: "r.example:port"}},
		"Tag":        {{Tag: "a:b"}, {Tag: "-x"}, {Tag: strings.Repeat("x", 129)}, {Tag: "a\nb"}, {Tag: strings.Repeat("x", 121), Kubernetes: "1.35"}},
		"Kubernetes": {{Kubernetes: "1.34"}, {Kubernetes: "1.38"}, {Kubernetes: "v1.36"}},
		"Digests": {
			{Digests: map[string]string{"spazio-agnet": digest}}, {Digests: map[string]string{"spazio-scheduler-k8s1.37": digest}},
			{Kubernetes: "1.35", Digests: map[string]string{"spazio-scheduler": digest}},
		},
		"Digests[spazio-agent]": {
			{Digests: map[string]string{"spazio-agent": "sha256:5a"}}, {Digests: map[string]string{"spazio-agent": ""}},
			{Digests: map[string]string{"spazio-agent": digest[7:]}},
		},
	} {
		for _, config := range configs {
			objects, err := config.Objects()
			var refused *field.Error
			if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, deploy.ErrInvalid) || objects != nil {
				t.Errorf("%+v: %v", config, err)
			}
		}
	}
}

func FuzzImages(f *testing.F) {
	f.Add("registry.example/spazio", "v1.2")
	f.Add("a", "spazio-certs-e9625a19")
	f.Fuzz(func(t *testing.T, registry, tag string) {
		config := deploy.Config{Registry: registry, Tag: tag}
		objects, err := config.Objects()
		if err != nil {
			if !errors.Is(err, deploy.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if registry == "" {
			registry = "registry.invalid/spazio"
		}
		if tag == "" {
			tag = "dev"
		}
		for _, image := range images(t, objects) {
			if !strings.HasPrefix(image, registry+"/spazio-") || !strings.HasSuffix(image, ":"+tag) {
				t.Errorf("%q, of %q and %q", image, registry, tag)
			}
		}
	})
}
