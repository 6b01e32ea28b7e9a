package v1alpha1_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Each registered kind has its own definition with a status subresource.
func TestCRDs(t *testing.T) {
	texts := v1alpha1.CRDs()
	got := map[string]string{}
	for _, text := range texts {
		var definition struct {
			Spec struct {
				Group, Scope string
				Names        struct {
					Kind, Plural string
					ShortNames   []string
				}
				Versions []struct {
					Name                     string
					Subresources             struct{ Status map[string]any }
					AdditionalPrinterColumns []struct{ Name string }
				}
			}
		}
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		spec := definition.Spec
		if spec.Group != v1alpha1.GroupVersion.Group || spec.Scope != "Namespaced" || len(spec.Versions) != 1 ||
			spec.Versions[0].Name != v1alpha1.GroupVersion.Version || spec.Versions[0].Subresources.Status == nil {
			t.Errorf("%+v", spec)
			continue
		}
		var columns []string
		for _, c := range spec.Versions[0].AdditionalPrinterColumns {
			columns = append(columns, c.Name)
		}
		got[spec.Names.Plural] = fmt.Sprint(spec.Names.Kind, " ", spec.Names.ShortNames, " ", columns)
	}
	want := map[string]string{
		v1alpha1.Testbeds:    "Testbed [tb] [Slots Free Reserved Occupied Ready Age]",
		v1alpha1.BatchJobs:   "BatchJob [bj] [Kind State Scheduling Testbed Reason Age]",
		v1alpha1.Schedulings: "Scheduling [sched] [Testbed State Done Reason Age]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, description := range want {
		kind, _, _ := strings.Cut(description, " ")
		for _, kind := range []string{kind, kind + "List"} {
			if _, err := scheme.New(v1alpha1.GroupVersion.WithKind(kind)); err != nil {
				t.Error(err)
			}
		}
	}
}

// A Testbed can be read whatever its nodes field holds, which no API server checks; nodes survive a
// round trip.
func TestTestbedNodes(t *testing.T) {
	for nodes, want := range map[string]v1alpha1.TestbedNodes{
		`["b 1/2 Settling","a 0","c.d 3 NoReport","e 2/0"]`: {
			{Name: "b", Slots: 1, Wanted: 2, Reason: "Settling"}, {Name: "a", ID: 1},
			{Name: "c.d", ID: 2, Slots: 3, Wanted: 3, Reason: "NoReport"}, {Name: "e", ID: 3, Slots: 2},
		},
		`null`: nil, `5`: nil, `"b 1"`: nil, `["b","a"]`: nil, `["b 1",5]`: nil, `["b 1","a x"]`: nil, `["b 1/"]`: nil, `[" 1"]`: nil,
		`["b 4294967296"]`: nil, `[{"name":"b","id":0,"slots":1,"wanted":1}]`: nil, `{"b":1}`: nil,
	} {
		text := `{"metadata":{"name":"small"},"status":{"nodes":` + nodes + `,"counts":{"slots":1}}}`
		var direct, converted v1alpha1.Testbed
		if err := json.Unmarshal([]byte(text), &direct); err != nil {
			t.Fatal(err)
		}
		var untyped map[string]any
		if err := json.Unmarshal([]byte(text), &untyped); err != nil {
			t.Fatal(err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(untyped, &converted); err != nil {
			t.Fatal(err)
		}
		for how, tb := range map[string]*v1alpha1.Testbed{"read": &direct, "converted": &converted} {
			if diff := cmp.Diff(want, tb.Status.Nodes); diff != "" || tb.Status.Counts.Slots != 1 {
				t.Errorf("%s: %s: %s", how, nodes, diff)
			}
		}
		if want == nil {
			continue
		}
		if back, err := json.Marshal(direct.Status.Nodes); err != nil || string(back) != nodes {
			t.Errorf("written is %s, %v, want %s", back, err, nodes)
		}
	}
}

func TestEffectiveAuto(t *testing.T) {
	auto := v1alpha1.TestbedSpec{SlotsPerNode: intstr.FromString("auto")}
	most, four := int32(16), int32(4)
	one, two := resource.MustParse("1"), resource.MustParse("2")
	for _, test := range []struct {
		given *v1alpha1.Auto
		want  v1alpha1.Auto
	}{
		{nil, v1alpha1.Auto{UnitsPerSlot: &one, Max: &most, GrowAfter: &metav1.Duration{Duration: 30 * time.Second}, ShrinkAfter: &metav1.Duration{Duration: 10 * time.Second}}},
		{&v1alpha1.Auto{UnitsPerSlot: &two, Min: 1, Max: &four, GrowAfter: &metav1.Duration{}, ShrinkAfter: &metav1.Duration{Duration: time.Second}},
			v1alpha1.Auto{UnitsPerSlot: &two, Min: 1, Max: &four, GrowAfter: &metav1.Duration{}, ShrinkAfter: &metav1.Duration{Duration: time.Second}}},
	} {
		auto.Auto = test.given
		if diff := cmp.Diff(test.want, auto.EffectiveAuto()); diff != "" {
			t.Error(diff)
		}
		if auto.Auto != nil {
			*auto.EffectiveAuto().Max = 99
			if *auto.Auto.Max != 4 {
				t.Error("what is returned shares the spec's")
			}
		}
	}
	for slots, want := range map[intstr.IntOrString]bool{
		intstr.FromString("auto"): true, intstr.FromInt32(2): false, intstr.FromString("2"): false, {}: false,
	} {
		if got := (&v1alpha1.TestbedSpec{SlotsPerNode: slots}).Automatic(); got != want {
			t.Errorf("%v: %v", slots, got)
		}
	}
}

// A history is bounded in runs and in the slots that they name, and always has the latest run's.
func TestAddRun(t *testing.T) {
	run := func(attempt, slots int) v1alpha1.Run {
		r := v1alpha1.Run{Attempt: int32(attempt)}
		for i := range slots {
			r.Slots = append(r.Slots, fmt.Sprintf("node-a/%d", i))
		}
		return r
	}
	for _, test := range []struct {
		what  string
		slots []int // of the runs in turn
		want  []int // of those that are kept
	}{
		{"the first", []int{2}, []int{2}},
		{"as much as goes", []int{2000, 2000, 1000}, []int{2000, 2000, 1000}},
		{"one slot too many", []int{2000, 2000, 1001}, []int{0, 2000, 1001}},
		{"none comes back", []int{10, 2000, 2000, 1001}, []int{0, 0, 2000, 1001}},
		{"the largest", []int{5000, 5000}, []int{0, 5000}},
		{"larger still", []int{1, 6000}, []int{0, 6000}},
	} {
		var s v1alpha1.BatchJobStatus
		for i, n := range test.slots {
			before := s.DeepCopy()
			kept := s.Runs
			s.AddRun(run(i+1, n))
			if diff := cmp.Diff(before.Runs, kept); diff != "" {
				t.Errorf("%s: what was there is changed: %s", test.what, diff)
			}
		}
		var got []int
		for i, r := range s.Runs {
			got = append(got, len(r.Slots))
			if int(r.Attempt) != i+1 {
				t.Errorf("%s: run %d at %d", test.what, r.Attempt, i)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.what, diff)
		}
	}
	var s v1alpha1.BatchJobStatus
	for i := range 120 {
		s.AddRun(run(i+1, 1))
	}
	if len(s.Runs) != 50 || s.Runs[0].Attempt != 71 || s.Runs[49].Attempt != 120 {
		t.Errorf("%d runs, from %d to %d", len(s.Runs), s.Runs[0].Attempt, s.Runs[len(s.Runs)-1].Attempt)
	}
}

func TestSlotReference(t *testing.T) {
	for _, test := range []struct {
		text  string
		want  v1alpha1.SlotReference
		index int // -1: none
	}{
		{"0", v1alpha1.SlotIndex(0), 0},
		{"4999", v1alpha1.SlotIndex(4999), 4999},
		{`"node-a/0"`, v1alpha1.SlotID("node-a/0"), -1},
		{"-1", v1alpha1.SlotIndex(-1), -1},
		{"99999999999999999999", v1alpha1.SlotReference{Text: "99999999999999999999"}, -1},
	} {
		var got v1alpha1.SlotReference
		if err := json.Unmarshal([]byte(test.text), &got); err != nil || got != test.want {
			t.Errorf("%s: %v, %v", test.text, got, err)
		}
		if i, ok := got.Index(); ok != (test.index >= 0) || ok && i != test.index {
			t.Errorf("%s: index %d, %v", test.text, i, ok)
		}
		if back, err := json.Marshal(got); err != nil || string(back) != test.text {
			t.Errorf("%s is written as %s, %v", test.text, back, err)
		}
	}
	for _, text := range []string{"null", "1.5", "{}", "[1]", "true", "1e3"} {
		var r v1alpha1.SlotReference
		if err := json.Unmarshal([]byte(text), &r); !errors.Is(err, v1alpha1.ErrSlotReference) {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
}

func FuzzSlotReference(f *testing.F) {
	for _, text := range []string{"0", "-7", `"node-a/3"`, "1e400", `"\ud800"`, "007"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r, again v1alpha1.SlotReference
		if json.Unmarshal(data, &r) != nil {
			return
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil || again != r {
			t.Errorf("%s is read as %q, written as %s, read as %q: %v", data, r, text, again, err)
		}
	})
}
