package slot_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// refused fails the test unless err is a *field.Error of the field.
func refused(t *testing.T, err error, name string) {
	t.Helper()
	var fe *field.Error
	if !errors.As(err, &fe) || !errors.Is(err, testbed.ErrInvalid) || fe.Field != name {
		t.Errorf("error %v, want a *field.Error of %s", err, name)
	}
}

func TestParseID(t *testing.T) {
	for text, want := range map[string]slot.ID{
		"n/0":                           {Node: "n"},
		"node-1.example/7":              {Node: "node-1.example", Position: 7},
		"n/109":                         {Node: "n", Position: 109},
		strings.Repeat("n", 253) + "/1": {Node: strings.Repeat("n", 253), Position: 1},
	} {
		got, err := slot.ParseID(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseID(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "n", "/0", "n/", "n/00", "n/+1", "n/-1", "n/01", "n/110", "n/1/2", "n/ 1", "n/99999999999", "n/0x1",
		strings.Repeat("n", 254) + "/1",
	} {
		_, err := slot.ParseID(text)
		refused(t, err, "ID")
	}
}

func TestRef(t *testing.T) {
	var got []slot.Ref
	if err := json.Unmarshal([]byte(`[0, 17, "n/3", "4"]`), &got); err != nil {
		t.Fatal(err)
	}
	want := []slot.Ref{{}, {Index: 17}, {ID: slot.ID{Node: "n", Position: 3}}, {Index: 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(got)
	if err != nil || string(text) != `[0,17,"n/3",4]` {
		t.Errorf("%s, %v", text, err)
	}
	for _, bad := range []string{`-1`, `1.5`, `"n"`, `true`, `""`, `null`, `{}`, `[1]`, `1e3`} {
		ref := slot.Ref{Index: 9}
		if err := ref.UnmarshalJSON([]byte(bad)); err == nil || ref != (slot.Ref{Index: 9}) {
			t.Errorf("%s: %v, %v", bad, ref, err)
		}
	}
	_, err = slot.ParseRef("n/x")
	refused(t, err, "Ref")
}

func TestPlaceholderName(t *testing.T) {
	hash := func(text string) string {
		h := fnv.New32a()
		_, _ = h.Write([]byte(text))
		return fmt.Sprintf("%08x", h.Sum32())
	}
	id := slot.ID{Node: "worker-1", Position: 12}
	for uid, want := range map[string]string{
		"590f6f41-4acd-4b6d-a1b2-000000000000": "590f6f41",
		"ABCDEF01-0000":                        hash("ABCDEF01-0000"), // no UID of an API server
		"abcdef01":                             "abcdef01",
		"short":                                hash("short"),
		"":                                     hash(""),
	} {
		if got := slot.PlaceholderName(uid, id); got != "placeholder-"+want+"-"+hash("worker-1")+"-12" {
			t.Errorf("PlaceholderName(%q) = %q", uid, got)
		}
	}
}

func TestStateText(t *testing.T) {
	for _, s := range []slot.State{slot.Pending, slot.Free, slot.Reserved, slot.Occupied, slot.Retiring} {
		text, _ := s.MarshalText()
		var back slot.State
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s: %v, %v", text, back, err)
		}
	}
	s := slot.Free
	refused(t, s.UnmarshalText([]byte("gone")), "State")
	if s != slot.Free || slot.State(5).String() != "5" {
		t.Errorf("%v, %v", s, slot.State(5))
	}
}
