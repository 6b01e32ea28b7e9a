package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/compare"
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
		err := (&compareFlags{}).outcome(ctx, io.Discard, func() (compare.Report, error) { return compare.Report{}, errors.Join(ctx.Err(), test.err) })
		if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}
