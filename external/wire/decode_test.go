package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/external/wire"
)

func scheduling(fields string) string { return `{"name": "a", "testbed": "b", ` + fields + `}` }

// TestDecodeNamesTheField: an error names the place in the message, and the allowed values.
func TestDecodeNamesTheField(t *testing.T) {
	const index = "an index or NODE/POSITION"
	for body, want := range map[string][2]string{
		``:                                   {"", "the value is not complete"},
		`{"name": `:                          {"name", "the value is not complete"},
		`{} {}`:                              {"", "something follows the value"},
		`{}]`:                                {"", "something follows the value"},
		`{'a'}`:                              {"", "byte 1"},
		`[]`:                                 {"", "must be an object, not []"},
		`{"name": 1}`:                        {"name", "must be a string, not 1"},
		`{"other": 1}`:                       {"other", "is not a field here"},
		scheduling(`"priority": 1e10`):       {"priority", "must be a whole number from -2147483648 to 2147483647, not 1e10"},
		scheduling(`"priority": 2147483648`): {"priority", "must be a whole number from -2147483648 to 2147483647, not 2147483648"},
		scheduling(`"priority": 1.5`):        {"priority", "must be a whole number from -2147483648 to 2147483647, not 1.5"},
		scheduling(`"priority": "high"`):     {"priority", `must be a whole number from -2147483648 to 2147483647, not "high"`},
		scheduling(`"ttlSecondsAfterFinished": 1e30`):                        {"ttlSecondsAfterFinished", "must be a whole number from -2147483648 to 2147483647"},
		scheduling(`"exclusive": "yes"`):                                     {"exclusive", `must be true or false, not "yes"`},
		scheduling(`"queue": ["a", {"b": 1}]`):                               {"queue[1]", `must be a string, not {"b": 1}`},
		scheduling(`"queue": "a"`):                                           {"queue", `must be an array, not "a"`},
		scheduling(`"slots": []`):                                            {"slots", "must be an object, not []"},
		scheduling(`"slots": {"jobs": [{"job": "a", "slots": [0, -1]}]}`):    {"slots.jobs[0].slots[1]", "must be " + index},
		scheduling(`"slots": {"jobs": [{"job": "a", "slots": [0, "n/x"]}]}`): {"slots.jobs[0].slots[1]", "must be " + index},
		scheduling(`"slots": {"jobs": [{"job": "a", "slots": [{}]}]}`):       {"slots.jobs[0].slots[0]", "must be " + index},
		scheduling(`"slots": {"jobs": [{}, {"pods": 1}]}`):                   {"slots.jobs[1].pods", "is not a field here"},
		scheduling(`"created": "yesterday"`):                                 {"created", "must be a time such as 2006-01-02T15:04:05Z"},
		scheduling(`"queue": ["a"], "queue": ["b"]`):                         {"queue", "must be given once"},
		scheduling(`"queue": ["a"], "Queue": ["b"]`):                         {"Queue", "must be given once"},
		scheduling(`"slots": {"jobs": [{"job": "a", "job": "b"}]}`):          {"slots.jobs[0].job", "must be given once"},
		scheduling(`"priority": ` + strings.Repeat("9", 1000)):               {"priority", "must be a whole number from"},
	} {
		var v wire.Scheduling
		err := wire.Decode([]byte(body), &v)
		var bad *wire.MalformedError
		if !errors.As(err, &bad) {
			t.Errorf("%.80s: %v", body, err)
			continue
		}
		if c := bad.Cause; c.Field != want[0] || !strings.Contains(c.Message, want[1]) || len(c.Message) > 200 {
			t.Errorf("%.80s: %q %q, want %q", body, c.Field, c.Message, want)
		}
		for _, goes := range []string{"Spec", "int32", "testbed:", "json:", "Go "} {
			if strings.Contains(err.Error(), goes) {
				t.Errorf("%.80s: %q speaks of %s", body, err, goes)
			}
		}
	}
	var v wire.Scheduling
	if err := wire.Decode([]byte(scheduling(`"queue": ["c"], "state": "Acquiring"`)+" "), &v); err != nil || v.Name != "a" || v.Queue[0] != "c" {
		t.Error(v, err)
	}
	if err := wire.DecodeKnown([]byte(scheduling(`"other": {"a": 1, "A": 2}`)), &v); err != nil {
		t.Error(err)
	}
}

// TestCheckBounds: values and depth are counted everywhere.
func TestCheckBounds(t *testing.T) {
	nested := func(open, end string, depth int) string {
		return strings.Repeat(open, depth) + "1" + strings.Repeat(end, depth)
	}
	zeros := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }
	for name, c := range map[string]struct{ most, more string }{
		"objects": {nested(`{"a":`, "}", 32), nested(`{"a":`, "}", 33)},
		"arrays":  {nested("[", "]", 32), nested("[", "]", 33)},
		"both":    {nested(`{"":[`, "]}", 16), `[` + nested(`{"":[`, "]}", 16) + `]`},
		"values":  {zeros(1<<16 - 1), zeros(1 << 16)},
		"members": {`{"a":` + zeros(1<<16-2) + "}", `{"a":` + zeros(1<<16-1) + "}"},
	} {
		if err := wire.Check([]byte(c.most)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var bad *wire.MalformedError
		if err := wire.Check([]byte(c.more)); !errors.As(err, &bad) || bad.Cause.Reason != wire.TooMany {
			t.Errorf("%s, one more: %v", name, err)
		}
	}
}

// FuzzNested: accepted text is JSON within the bounds, and JSON is accepted unless it is beyond
// them or has a field twice.
func FuzzNested(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"b":[{"c":null},[],"d",1e-3]}}`, strings.Repeat(`{"k":`, 40) + "1" + strings.Repeat("}", 40),
		strings.Repeat("[", 40), `{"a":1,"a":2}`, `{"":{"":0}}`, `"\ud800"`, `[1,]`, `{"a":1,}`, `1 2`, "\x00", `{"A":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := wire.DecodeAny(data)
		var bad *wire.MalformedError
		switch valid := json.Valid(data); {
		case err != nil && !errors.As(err, &bad):
			t.Fatal(err)
		case err == nil && !valid:
			t.Fatalf("%q is taken for JSON", data)
		case err != nil && valid && bad.Cause.Reason != wire.TooMany && bad.Cause.Reason != wire.Duplicate:
			t.Fatalf("%q: %v", data, err)
		case err == nil:
			if depth, values := measure(v); depth > 32 || values > wire.MaxValues {
				t.Fatalf("%d deep, %d values", depth, values)
			}
		}
		var s wire.Scheduling
		if err := wire.Decode(data, &s); err != nil && !errors.As(err, &bad) {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

func measure(v any) (depth, values int) {
	var below []any
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			below = append(below, one)
		}
	case []any:
		below = v
	default:
		return 0, 1
	}
	values = 1
	for _, one := range below {
		d, n := measure(one)
		depth, values = max(depth, d), values+n
	}
	return depth + 1, values
}
