package liqo_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1/liqo"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

var (
	at      = time.Date(2020, 9, 22, 12, 7, 38, 5e8, time.UTC)
	reviews = profile.Workload{Namespace: "default", Kind: "Deployment", Name: "reviews-v2"}
	page    = profile.Workload{Namespace: "shop", Kind: "Deployment", Name: "productpage-v1"}
)

// unmarshal reads YAML.
func unmarshal(text []byte, to any) error {
	text, err := yaml.ToJSON(text)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// The objects are the thesis's listings 5.4, 5.5 and 5.7, with a decimal point instead of the comma and
// one slash instead of two. The listings have no names; TestNames checks these.
func TestObjectsAreTheListings(t *testing.T) {
	rome := time.FixedZone("CEST", 2*60*60)
	for name, test := range map[string]struct {
		object any
		want   string
	}{
		"memory": {liqo.NewMemoryProfile(reviews, at, 112654344.2), `
apiVersion: webapp.liqo.io.profiling/v1
kind: MemoryProfile
metadata: {namespace: default}
spec:
  memoryProfiling:
    updateTime: "2020-09-22 12:07:38"
    value: 112654345`},
		"cpu": {liqo.NewCPUProfile(reviews, at.In(rome), .8661), `
apiVersion: webapp.liqo.io.profiling/v1
kind: CPUProfile
metadata: {namespace: default}
spec:
  cpuProfiling:
    updateTime: "2020-09-22 12:07:38"
    value: "0.867"`},
		"connection": {liqo.NewConnectionProfile(page, reviews, at, 89219), `
apiVersion: webapp.liqo.io.profiling/v1
kind: ConnectionProfile
metadata: {namespace: shop}
spec:
  bandwidth_requirement: "89219.00"
  destination_job: reviews-v2
  destination_namespace: default
  source_job: productpage-v1
  source_namespace: shop
  update_time: "2020-09-22 12:07:38"`},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(test.object)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if err := unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			delete(got["metadata"].(map[string]any), "name")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Names are valid object names, and differ if the jobs do.
func TestNames(t *testing.T) {
	long := profile.Workload{Namespace: "default", Kind: "Deployment", Name: strings.Repeat("a.b-", 63)}
	seen := map[string]bool{}
	if m, c := liqo.NewMemoryProfile(page, at, 1).Name, liqo.NewCPUProfile(page, at, 1).Name; m != v1alpha1.NameOf(page) || c != m {
		t.Errorf("%s and %s", m, c)
	}
	for _, from := range []profile.Workload{page, long} {
		for _, to := range []profile.Workload{reviews, {Namespace: "other", Kind: "Deployment", Name: "reviews-v2"}, {Namespace: "default", Kind: "StatefulSet", Name: "reviews-v2"}, long} {
			name := liqo.NewConnectionProfile(from, to, at, 1).Name
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 || seen[name] {
				t.Errorf("%s: %v, seen %v", name, problems, seen[name])
			}
			seen[name] = true
		}
	}
}

// An error names what our objects never contain.
func TestTextsAreRefused(t *testing.T) {
	for text, name := range map[string]string{
		`{"update_time": "2020-09-22T12:07:38Z"}`: "time", `{"update_time": 7}`: "time", `{"update_time": "2020-9-22 12:07:38"}`: "time",
		`{"bandwidth_requirement": "-1.00"}`: "rate", `{"bandwidth_requirement": "1,000.00"}`: "rate", `{"bandwidth_requirement": 1}`: "rate",
		`{"bandwidth_requirement": "1e3"}`: "rate", `{"bandwidth_requirement": ""}`: "rate", `{"bandwidth_requirement": "99999999999999"}`: "rate",
	} {
		var spec liqo.ConnectionProfileSpec
		err := json.Unmarshal([]byte(text), &spec)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, liqo.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), -1} {
		if text, err := json.Marshal(liqo.Cores(v)); !errors.Is(err, liqo.ErrInvalid) {
			t.Errorf("%v: %s, %v", v, text, err)
		}
	}
	if text, err := json.Marshal(liqo.Time{Time: time.Date(12020, 1, 1, 0, 0, 0, 0, time.UTC)}); !errors.Is(err, liqo.ErrInvalid) {
		t.Errorf("%s, %v", text, err)
	}
	// Amounts out of range are clipped, not lost.
	if got := liqo.NewMemoryProfile(page, at, math.Inf(1)).Spec.MemoryProfiling.Value; got <= 0 {
		t.Errorf("%v bytes", got)
	}
	if got := liqo.NewMemoryProfile(page, at, -1).Spec.MemoryProfiling.Value; got != 0 {
		t.Errorf("%v bytes", got)
	}
}

// The thesis's own text, with a comma, is accepted.
func TestCommasAreRead(t *testing.T) {
	var p liqo.CPUProfile
	if err := unmarshal([]byte("spec:\n  cpuProfiling:\n    updateTime: \"2020-09-22 12:07:38\"\n    value: \"0,867\"\n"), &p); err != nil {
		t.Fatal(err)
	}
	if p.Spec.CPUProfiling.Value != .867 || !p.Spec.CPUProfiling.UpdateTime.Equal(at.Truncate(time.Second)) {
		t.Errorf("%+v", p.Spec)
	}
}

func TestDefinitions(t *testing.T) {
	texts := liqo.CRDs()
	var names []string
	for _, text := range texts {
		var crd struct {
			Metadata struct{ Name string }
			Spec     struct{ Group string }
		}
		if err := unmarshal(text, &crd); err != nil || crd.Spec.Group != liqo.GroupVersion.Group {
			t.Errorf("%s: %v", text, err)
		}
		names = append(names, crd.Metadata.Name)
	}
	var want []string
	for _, resource := range []string{liqo.ConnectionProfiles, liqo.CPUProfiles, liqo.MemoryProfiles} {
		want = append(want, resource+"."+liqo.GroupVersion.Group)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// A parsed profile can be written, and is read back as the same.
func FuzzConnectionProfile(f *testing.F) {
	f.Add([]byte(`{"bandwidth_requirement": "89219.00", "update_time": "2020-09-22 15:43:18", "source_job": "a"}`))
	f.Add([]byte(`{"bandwidth_requirement": "0,5", "update_time": "0001-01-01 00:00:00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var spec liqo.ConnectionProfileSpec
		if json.Unmarshal(data, &spec) != nil {
			return
		}
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatalf("write %+v: got error %v", spec, err)
		}
		var again liqo.ConnectionProfileSpec
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("read %s: got error %v", text, err)
		}
		second, err := json.Marshal(again)
		if err != nil || string(second) != string(text) {
			t.Errorf("%s, then %s, %v", text, second, err)
		}
	})
}
