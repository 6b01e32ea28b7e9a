package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/sim/report/schedulers"
)

// An interrupted comparison reports what it could not remove, and does not exit as if it had completed.
func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	left := fmt.Errorf("the namespace: %w", compare.ErrLeft)
	for name, test := range map[string]struct {
		err  error
		want string
	}{"gone": {nil, "interrupted"}, "left": {left, "interrupted: context canceled; the namespace: it is still there"}} {
		err := (&compareFlags{}).outcome(ctx, io.Discard, func() (schedulers.Report, error) { return schedulers.Report{}, errors.Join(ctx.Err(), test.err) })
		if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

// Without flags the numbers of the thesis's section 5.2.4 are used.
func TestSeedPreset(t *testing.T) {
	var f compareFlags
	set := pflag.NewFlagSet("compare", pflag.ContinueOnError)
	f.bind(set)
	if err := set.Parse([]string{"--preset=seed", "--rate=100", "--slices=2"}); err != nil {
		t.Fatal(err)
	}
	c, err := f.resolve(set, 2)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Schedulers, []string{"default-scheduler", "spazio-energy"}) || c.Connections != 64 || c.Kill != 3 || c.KillEvery != time.Minute ||
		c.Duration != time.Hour || c.Replicas != 3 || c.Runs != 1 || c.Rate != 100 {
		t.Errorf("%+v", c)
	}
}
