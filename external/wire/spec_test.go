package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func TestValidate(t *testing.T) {
	negative := int32(-1)
	queue := func(n int) []string { return strings.Split(strings.Repeat("a,", n-1)+"a", ",") }
	for _, tc := range []struct {
		what   string
		spec   wire.SchedulingSpec
		causes string
	}{
		{"a queue", wire.SchedulingSpec{Testbed: "bed", Queue: queue(wire.MaxQueue)}, ""},
		{"slots", wire.SchedulingSpec{Testbed: "n/bed", Slots: &wire.SlotBased{Jobs: []wire.SlotJob{{Job: "a", Slots: []slot.Ref{{}, {Index: 1}}}}}}, ""},
		{"nothing", wire.SchedulingSpec{}, "testbed Required, queue Required"},
		{"both", wire.SchedulingSpec{Testbed: "b", Queue: queue(1), Slots: &wire.SlotBased{Jobs: []wire.SlotJob{{Job: "a", Slots: []slot.Ref{{}}}}}}, "slots Invalid"},
		{"too many", wire.SchedulingSpec{Testbed: "b", Queue: queue(wire.MaxQueue + 1)}, "queue TooMany"},
		{"names", wire.SchedulingSpec{Testbed: "B", Queue: []string{"a", "", "a/b/c", "-a", "a_b", "a/B", strings.Repeat("a", 254), "a..b"}},
			"testbed Invalid, queue[1] Required, queue[2] Invalid, queue[3] Invalid, queue[4] Invalid, queue[5] Invalid, queue[6] Invalid, queue[7] Invalid"},
		{"one job spelt in two ways", wire.SchedulingSpec{Testbed: "b", Slots: &wire.SlotBased{Jobs: []wire.SlotJob{{Job: "a", Slots: []slot.Ref{{}}}, {Job: "team/a", Slots: []slot.Ref{{}}}}}}, "slots.jobs[1].job Duplicate"},
		{"one slot twice", wire.SchedulingSpec{Testbed: "b", Slots: &wire.SlotBased{Mode: "strict", Jobs: []wire.SlotJob{{Job: "a", Slots: []slot.Ref{{Index: 3}, {ID: slot.ID{Node: "n", Position: 3}}, {Index: 3}}}, {Job: "b"}}}},
			"slots.mode Unsupported, slots.jobs[0].slots[2] Duplicate, slots.jobs[1].slots Required"},
		{"values", wire.SchedulingSpec{Testbed: "b", Queue: queue(1), Confirm: "each", OnFailure: "Go", TTLSecondsAfterFinished: &negative}, "confirm Unsupported, onFailure Unsupported, ttlSecondsAfterFinished Invalid"},
	} {
		var got []string
		for _, cause := range tc.spec.Validate("team") {
			if cause.Message == "" {
				t.Errorf("%s: no message: %v", tc.what, cause)
			}
			got = append(got, cause.Field+" "+cause.Reason)
		}
		if text := strings.Join(got, ", "); text != tc.causes {
			t.Errorf("%s: %s, want %s", tc.what, text, tc.causes)
		}
	}
	bad := wire.SchedulingSpec{Testbed: "b", Queue: strings.Split(strings.Repeat(",", 1000), ",")}
	if n := len(bad.Validate("team")); n != wire.MaxCauses {
		t.Errorf("%d causes", n)
	}
}

// FuzzNormal: a normalised spec is a fixed point with the same meaning, and the original is
// unchanged.
func FuzzNormal(f *testing.F) {
	for _, seed := range []string{
		`{"testbed": "b", "queue": ["a", "team/a", "B/c"]}`,
		`{"testbed": "x/b", "slots": {"jobs": [{"job": "a", "slots": [1, "n/0"]}]}, "onFailure": "Stop"}`, `{}`, `{"slots": {}}`,
	} {
		f.Add([]byte(seed), "team")
	}
	f.Fuzz(func(t *testing.T, data []byte, namespace string) {
		var spec, copied wire.SchedulingSpec
		if wire.Decode(data, &spec) != nil {
			return
		}
		if err := json.Unmarshal(data, &copied); err != nil {
			t.Fatal(err)
		}
		normal := spec.Normal(namespace)
		if !cmp.Equal(spec, copied) {
			t.Fatal("Normal has changed what it was given")
		}
		if again := normal.Normal(namespace); !cmp.Equal(again, normal) {
			t.Fatal(cmp.Diff(normal, again))
		}
		fields := func(s *wire.SchedulingSpec) (all []string) {
			for _, cause := range s.Validate(namespace) {
				all = append(all, cause.Field+" "+cause.Reason)
			}
			return all
		}
		if before, after := fields(&spec), fields(&normal); !cmp.Equal(before, after) {
			t.Fatal(cmp.Diff(before, after))
		}
	})
}

func ExampleSchedulingSpec_Validate() {
	spec := wire.SchedulingSpec{Testbed: "lab", Queue: []string{"sort", "team/Sort"}}
	for _, cause := range spec.Validate("team") {
		fmt.Println(cause.Field, cause.Reason)
	}
	// Output: queue[1] Invalid
}
