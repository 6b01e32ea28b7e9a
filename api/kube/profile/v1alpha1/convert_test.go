package v1alpha1_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

func TestNamesAreNamesAndDiffer(t *testing.T) {
	seen := map[string]profile.Workload{}
	for _, w := range []profile.Workload{
		{Kind: "Deployment", Name: "web"}, {Kind: "StatefulSet", Name: "web"}, {Kind: "Deployment-web", Name: "a"}, {Kind: "Deployment", Name: "web-a"},
		{Kind: "Pod", Name: "a.b-c"}, {Kind: "Pod", Name: "a-b.c"}, {Kind: "Workload", Name: "Größe/λ"}, {Kind: "Workload", Name: strings.Repeat("x", 300)},
		{Kind: "Workload", Name: strings.Repeat("x", 300) + "y"}, {Kind: "-", Name: "-"},
	} {
		name := v1alpha1.NameOf(w)
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
			t.Errorf("%v: %q: %v", w, name, wrong)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%v and %v: got the same name %q", w, other, name)
		}
		seen[name] = w
	}
	if got := v1alpha1.NameOf(profile.Workload{Namespace: "any", Kind: "Deployment", Name: "web"}); !strings.HasPrefix(got, "deployment-web-") || len(got) != len("deployment-web-")+8 {
		t.Errorf("name %q", got)
	}
}

// If the API server rounded an amount, the applied object would differ permanently.
func TestAmountsAreWholeMillicoresAndBytes(t *testing.T) {
	d := v1alpha1.FromDemand(profile.Demand{CPU: profile.Share{Amount: .148651, SD: .0000004}, Memory: profile.Share{Amount: 1e8 + .5, SD: .25}})
	for _, c := range []struct {
		got  resource.Quantity
		want string
	}{{d.CPU.Amount, "149m"}, {d.CPU.SD, "1m"}, {d.Memory.Amount, "97657Ki"}, {d.Memory.SD, "1Ki"}} {
		if c.got.String() != c.want {
			t.Errorf("%s, want %s", c.got.String(), c.want)
		}
	}
}

// A profile may request each existing preset, and no other.
func TestPresetsAreThoseOfProfile(t *testing.T) {
	crds := v1alpha1.CRDs()
	if len(crds) != 2 {
		t.Fatalf("%d definitions", len(crds))
	}
	_, list, found := strings.Cut(string(crds[1]), "preset:")
	_, list, _ = strings.Cut(list, "enum:\n")
	list, _, _ = strings.Cut(list, "type:")
	var want []string
	for _, p := range profile.Presets() {
		want = append(want, p.Name)
	}
	slices.Sort(want)
	got := strings.Fields(strings.ReplaceAll(list, "- ", ""))
	slices.Sort(got)
	if !found || !slices.Equal(got, want) {
		t.Errorf("got presets %q in the definition, want %q as in package profile", got, want)
	}
}

func TestDemandRoundTrip(t *testing.T) {
	d := profile.Demand{
		CPU:    profile.Share{Amount: .25, SD: .063, Confidence: .9375},
		Memory: profile.Share{Amount: 3 << 30, SD: 1 << 20, Confidence: .5},
	}
	there := v1alpha1.FromDemand(d)
	if got := there.CPU.Amount.String() + " " + there.Memory.Amount.String() + " " + string(there.CPU.Confidence); got != "250m 3Gi 0.9375" {
		t.Errorf("got text %s", got)
	}
	if back, err := there.Value(); err != nil || back != d {
		t.Errorf("back: %+v, %v", back, err)
	}
	up, err := v1alpha1.FromDemand(profile.Demand{CPU: profile.Share{Amount: 1e-9, Confidence: 2}, Memory: profile.Share{Amount: 1, SD: math.Inf(1), Confidence: math.NaN()}}).Value()
	want := profile.Demand{CPU: profile.Share{Amount: 1e-3, Confidence: 1}, Memory: profile.Share{Amount: 1024, SD: 1 << 50}}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, up); diff != "" {
		t.Error(diff)
	}
}

func TestBadDemandsAreRefused(t *testing.T) {
	good := v1alpha1.FromDemand(profile.Demand{})
	for name, spoil := range map[string]func(*v1alpha1.Demand){
		"cpu.amount":        func(d *v1alpha1.Demand) { d.CPU.Amount = resource.MustParse("-1m") },
		"memory.sd":         func(d *v1alpha1.Demand) { d.Memory.SD = resource.MustParse("-1") },
		"memory.confidence": func(d *v1alpha1.Demand) { d.Memory.Confidence = "1.5" },
		"cpu.confidence":    func(d *v1alpha1.Demand) { d.CPU.Confidence = "NaN" },
	} {
		bad := good
		spoil(&bad)
		_, err := bad.Value()
		var at *field.Error
		if !errors.As(err, &at) || at.Field != name || !errors.Is(err, v1alpha1.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDemand: any profile converts to an amount that a scheduler can use, or to an error that names the
// field; the encoding of the result is accepted.
func FuzzDemand(f *testing.F) {
	f.Add([]byte(`{"cpu":{"amount":"250m","sd":"20m","confidence":"0.9375"},"memory":{"amount":"300Mi","sd":"0","confidence":"1"}}`))
	f.Add([]byte(`{"cpu":{"amount":"-1","confidence":"NaN"},"memory":{"amount":"1e400"}}`))
	f.Add([]byte(`{"memory":{"amount":"1e200"}}`))
	f.Add([]byte(`{"cpu":{"sd":"1e200"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d v1alpha1.Demand
		if json.Unmarshal(text, &d) != nil {
			return
		}
		got, err := d.Value()
		if err != nil {
			if name := (*field.Error)(nil); !errors.As(err, &name) || !errors.Is(err, v1alpha1.ErrInvalid) {
				t.Fatalf("%v", err)
			}
			return
		}
		if err := got.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := v1alpha1.FromDemand(got).Value()
		if err != nil || again.Validate() != nil {
			t.Fatalf("%+v: got encoding %+v: %v", got, v1alpha1.FromDemand(got), err)
		}
	})
}

// Any workload's objects have a valid object name.
func FuzzNameOf(f *testing.F) {
	f.Add("Deployment", "web")
	f.Add("-", ".")
	f.Fuzz(func(t *testing.T, kind, name string) {
		got := v1alpha1.NameOf(profile.Workload{Kind: kind, Name: name})
		if wrong := validation.IsDNS1123Subdomain(got); len(wrong) > 0 {
			t.Errorf("%q: %v", got, wrong)
		}
	})
}

func TestFactors(t *testing.T) {
	for v, want := range map[float64]v1alpha1.Factor{1: "1", .5: "0.5", 1.23456: "1.2346", 1e9: "9999", -1: "0", math.NaN(): "0"} {
		if got := v1alpha1.FromFactor(v); got != want {
			t.Errorf("%v: got text %q, want %q", v, got, want)
		}
	}
	if v, err := v1alpha1.Factor("1.25").Value(); err != nil || v != 1.25 {
		t.Errorf("%v, %v", v, err)
	}
	for _, bad := range []v1alpha1.Factor{"", "x", "0", "-1", "NaN", "1e9"} {
		if _, err := bad.Value(); !errors.Is(err, v1alpha1.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
