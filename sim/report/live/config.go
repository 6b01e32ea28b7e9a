package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Config says what is shown.
type Config struct {
	// Period is the time between an answer and the next question; 0 is 2 s.
	Period time.Duration
	// Ask returns what is shown; required. An error is shown and asked over, and what
	// came before it stays.
	Ask func(context.Context) (Frame, error)
	// Detail returns what is to be told of a row of a sheet, in lines; nil is nothing. It
	// is asked again with each period while the reader has the row open.
	Detail func(ctx context.Context, sheet int, row string) (string, error)
}

// period is that of a Config without one.
const period = 2 * time.Second

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in every field.Error.
	ErrInvalid = errors.New("invalid configuration")
	// ErrLost is that of a terminal that is no longer there.
	ErrLost = errors.New("the terminal is gone")
)

// Validate returns a *field.Error for the first field that can't be used.
func (c Config) Validate() error {
	switch {
	case c.Period < 0:
		return &field.Error{Package: "live", Field: "Period", Value: c.Period, Err: fmt.Errorf("%w: must not be negative", ErrInvalid)}
	case c.Ask == nil:
		return &field.Error{Package: "live", Field: "Ask", Value: nil, Err: fmt.Errorf("%w: nobody to ask", ErrInvalid)}
	}
	return nil
}
