package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Config describes a view.
type Config struct {
	// Period is the time between an answer and the next question; 0 is 2 s.
	Period time.Duration
	// Ask returns what is shown; required. If it fails, the error is shown with the last frame, and
	// Ask is called again.
	Ask func(context.Context) (Frame, error)
	// Detail returns the details of a row of a sheet, in lines; nil has none. It is called again in
	// each period while the reader has the row open.
	Detail func(ctx context.Context, sheet int, row string) (string, error)
}

// period is that of a Config without one.
const period = 2 * time.Second

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in every field.Error.
	errInvalid = errors.New("invalid configuration")
	// errLost is that of a terminal that is no longer there.
	errLost = errors.New("the terminal is gone")
)

// validate returns a *field.Error for the first field that can't be used.
func (c Config) validate() error {
	switch {
	case c.Period < 0:
		return &field.Error{Package: "live", Field: "Period", Value: c.Period, Err: fmt.Errorf("%w: must not be negative", errInvalid)}
	case c.Ask == nil:
		return &field.Error{Package: "live", Field: "Ask", Value: nil, Err: fmt.Errorf("%w: must be set", errInvalid)}
	}
	return nil
}
