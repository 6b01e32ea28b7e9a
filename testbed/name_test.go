package testbed_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed"
)

func TestName(t *testing.T) {
	names := []testbed.Name{{"b", "a"}, {"a", "z"}, {"a", "b"}}
	slices.SortFunc(names, testbed.Name.Compare)
	if want := []testbed.Name{{"a", "b"}, {"a", "z"}, {"b", "a"}}; !slices.Equal(names, want) {
		t.Errorf("sorted: %v", names)
	}
	for _, n := range names {
		if got, err := testbed.ParseName(n.String()); err != nil || got != n {
			t.Errorf("%v: %v, %v", n, got, err)
		}
	}
	for _, bad := range []string{"", "a", "/a", "a/", "a/b/c"} {
		_, err := testbed.ParseName(bad)
		var fe *field.Error
		if !errors.As(err, &fe) || !errors.Is(err, testbed.ErrInvalid) || fe.Field != "Name" || fe.Value != bad {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestFieldErrors(t *testing.T) {
	const want = "testbed: Slots = -1: invalid configuration or input: must be 0 or more"
	if got := testbed.Refuse("Slots", -1, "0 or more").Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzName: a parsed name is written the same.
func FuzzName(f *testing.F) {
	f.Add("default/crawler")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := testbed.ParseName(text); err == nil && n.String() != text {
			t.Errorf("%q is %+v", text, n)
		}
	})
}
