package experiment_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

type name string

type config struct {
	Size    float64
	Count   int
	HalfWay bool
	Inner   struct {
		ChurnHold time.Duration
		Rule      pipeline.Rule
	}
	Name    name
	Several []int
	hidden  int
	Embedded
}

// The fields of an embedded struct are set like those of the outer one.
type Embedded struct{ Depth float64 }

func TestOptionsSet(t *testing.T) {
	var c config
	fields := experiment.OptionsOf(&c)
	want := []string{"count", "depth", "half-way", "inner.churn-hold", "inner.rule", "name", "several", "size"}
	if diff := cmp.Diff(want, fields.Names()); diff != "" {
		t.Fatalf("names (-want +got):\n%s", diff)
	}
	for field, text := range map[string]string{
		"size": "1e-3", "count": "7", "half-way": "true", "inner.churn-hold": "500ms", "inner.rule": "switched", "name": "x", "depth": "4",
	} {
		if err := fields.Set(field, text); err != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
	var set config
	set.Size, set.Count, set.HalfWay, set.Name, set.Depth = 1e-3, 7, true, "x", 4
	set.Inner.ChurnHold, set.Inner.Rule = 500*time.Millisecond, thesis.Switched
	if diff := cmp.Diff(set, c, cmp.AllowUnexported(config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A refused value leaves the configuration unchanged.
func TestOptionsRefuse(t *testing.T) {
	tests := []struct {
		field, text string
		is          error
	}{
		{"speed", "1", experiment.ErrUnknownOption},
		{"hidden", "1", experiment.ErrUnknownOption},
		{"several", "1", experiment.ErrFixedOption},
		{"size", "much", strconv.ErrSyntax},
		{"count", "1.5", strconv.ErrSyntax},
		{"half-way", "2", strconv.ErrSyntax},
		{"inner.churn-hold", "1", nil},
		{"inner.rule", "best", nil},
	}
	for _, test := range tests {
		c := config{Size: 2, Count: 2, hidden: 2}
		c.Inner.ChurnHold, c.Inner.Rule = time.Second, thesis.Switched
		before := c
		err := experiment.OptionsOf(&c).Set(test.field, test.text)
		var refused *experiment.OptionError
		if !errors.As(err, &refused) || refused.Name != test.field || refused.Value != test.text {
			t.Errorf("%s=%s: error %v", test.field, test.text, err)
		}
		if test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s=%s: error %v, want %v", test.field, test.text, err, test.is)
		}
		if diff := cmp.Diff(before, c, cmp.AllowUnexported(config{})); diff != "" {
			t.Errorf("%s=%s changed (-before +after):\n%s", test.field, test.text, diff)
		}
	}
	var number int
	if fields := experiment.OptionsOf(&number); len(fields) > 0 {
		t.Errorf("an int has the fields %v", fields.Names())
	}
}

func ExampleOptionsOf() {
	var c agent.Config
	if err := experiment.OptionsOf(&c).Set("avail.rule", "switched"); err != nil {
		fmt.Println(err)
	}
	err := experiment.OptionsOf(&c).Set("filter.hold", "a lot")
	fmt.Println(c.Avail.Rule, errors.Is(err, strconv.ErrSyntax))
	// Output: switched true
}
