package service_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	configv1 "k8s.io/kube-scheduler/config/v1"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// TestPluginConfigThroughUpstreamsScheme: kube-scheduler's codecs decode given and defaulted arguments
// without a kind, and write them with that of v1, as kube-scheduler --write-config-to does.
func TestPluginConfigThroughUpstreamsScheme(t *testing.T) {
	if err := service.RegisterArgs(); err != nil {
		t.Fatal(err)
	}
	const file = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: spazio
  plugins: {multiPoint: {enabled: [{name: Spazio}, {name: SpazioSlots}]}}
  pluginConfig:
  - name: Spazio
    args: {listen: "127.0.0.1:7000"}
`
	obj, _, err := scheme.Codecs.UniversalDecoder().Decode([]byte(file), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	args := make(map[string]runtime.Object)
	for _, c := range obj.(*schedulerapi.KubeSchedulerConfiguration).Profiles[0].PluginConfig {
		args[c.Name] = c.Args
	}
	given := config.SpazioArgs{Listen: "127.0.0.1:7000"}.WithDefaults()
	if diff := cmp.Diff(runtime.Object(&given), args["Spazio"]); diff != "" {
		t.Errorf("given arguments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(runtime.Object(&config.SpazioSlotsArgs{Swap: "Immediate"}), args["SpazioSlots"]); diff != "" {
		t.Errorf("arguments by default (-want +got):\n%s", diff)
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeYAML)
	text, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion), obj)
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Profiles []struct {
			PluginConfig []struct {
				Name string
				Args struct{ APIVersion, Kind, Listen, Swap string }
			}
		}
	}
	if err := yaml.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	type form struct{ apiVersion, kind, value string }
	got := make(map[string]form)
	for _, c := range written.Profiles[0].PluginConfig {
		got[c.Name] = form{c.Args.APIVersion, c.Args.Kind, c.Args.Listen + c.Args.Swap}
	}
	for name, want := range map[string]form{
		"Spazio":      {"kubescheduler.config.k8s.io/v1", "SpazioArgs", "127.0.0.1:7000"},
		"SpazioSlots": {"kubescheduler.config.k8s.io/v1", "SpazioSlotsArgs", "Immediate"},
	} {
		if got[name] != want {
			t.Errorf("wrote %+v for %s, want %+v", got[name], name, want)
		}
	}
	for name, o := range args {
		if got := o.GetObjectKind().GroupVersionKind(); got != (schema.GroupVersionKind{}) {
			t.Errorf("encoding left kind %v in the arguments of %s", got, name)
		}
	}
}
