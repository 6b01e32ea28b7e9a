package slot_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// FuzzID: a parsed ID is written the same, and is a possible slot.
func FuzzID(f *testing.F) {
	for _, text := range []string{"n/0", "node-1.example/109", "a/b/1", "/1", "n/01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := slot.ParseID(text)
		if err != nil {
			if id != (slot.ID{}) {
				t.Errorf("%q: %v beside %v", text, id, err)
			}
			return
		}
		if id.String() != text || id.Node == "" || strings.Contains(id.Node, "/") || id.Position < 0 || id.Position >= slot.MaxPerNode {
			t.Errorf("%q is %+v", text, id)
		}
		if name := slot.PlaceholderName(text, id); len(name) > 63 {
			t.Errorf("got a placeholder's name of %d bytes", len(name))
		}
	})
}

// FuzzRef: a decoded ref is encoded, and decoded again, the same.
func FuzzRef(f *testing.F) {
	for _, text := range []string{"0", `"n/3"`, `"7"`, "-1", `"\u006e/1"`, "1e2"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ref, again slot.Ref
		if json.Unmarshal(data, &ref) != nil {
			return
		}
		text, err := json.Marshal(ref)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		// A name that is not UTF-8 is no node's; JSON replaces the invalid bytes.
		if again != ref && strings.ToValidUTF8(ref.ID.Node, "") == ref.ID.Node {
			t.Errorf("%s is %v, then %v", data, ref, again)
		}
		if parsed, err := slot.ParseRef(ref.String()); err != nil || parsed != ref {
			t.Errorf("ParseRef(%q) = %v, %v", ref.String(), parsed, err)
		}
	})
}

// FuzzTable drives a Table and its naive reference with random events.
func FuzzTable(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		model(t, rand.New(rand.NewPCG(a, b)), 40)
	})
}
