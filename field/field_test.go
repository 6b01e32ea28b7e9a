package field_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/field"
)

var errNegative = errors.New("must not be negative")

func ExampleError() {
	var err error = &field.Error{Package: "queue", Field: "Config.Limit", Value: -1, Err: errNegative}
	fmt.Println(err)
	var refused *field.Error
	fmt.Println(errors.As(err, &refused), refused.Field, errors.Is(err, errNegative))
	// Output:
	// queue: Config.Limit = -1: must not be negative
	// true Config.Limit true
}

func ExampleRefuser() {
	refuse := field.Refuser("queue", errors.New("invalid configuration"))
	fmt.Println(refuse("Limit", -1, "at least 0"))
	// Output: queue: Limit = -1: invalid configuration: must be at least 0
}

// An error is one line of bounded length whatever somebody else has sent.
func TestError(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"number", 1.5, "p: F = 1.5: bad"},
		{"nothing", "", `p: F = "": bad`},
		{"nil", nil, "p: F = <nil>: bad"},
		{"a forged line", "x\nlevel=ERROR", `p: F = "x\nlevel=ERROR": bad`},
		{"colours", "\x1b[31mred", `p: F = "\x1b[31mred": bad`},
		{"broken text", "a\xffb", `p: F = "a\xffb": bad`},
		{"long", strings.Repeat("ü", 1000), "p: F = " + strings.Repeat("ü", 126) + "...: bad"},
		{"list", []int{1, 2}, "p: F = [1 2]: bad"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&field.Error{Package: "p", Field: "F", Value: tt.value, Err: errors.New("bad")}).Error(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestBy(t *testing.T) {
	inner := &field.Error{Package: "store", Field: "Limit", Value: 0, Err: errNegative}
	outer := &field.Error{Package: "server", Field: "Store.Limit", Value: 0, Err: fmt.Errorf("%w: %w", errNegative, inner)}
	err := errors.Join(errNegative, fmt.Errorf("start: %w", outer))
	for _, tt := range []struct {
		packages []string
		want     *field.Error
	}{
		{[]string{"server"}, outer}, {[]string{"store"}, inner}, {[]string{"store", "server"}, outer}, {[]string{"client"}, nil}, {nil, nil},
	} {
		if got := field.By(err, tt.packages...); got != tt.want {
			t.Errorf("by %v: %v, want %v", tt.packages, got, tt.want)
		}
	}
	if got := field.By(nil, "server"); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
