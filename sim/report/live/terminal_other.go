//go:build !unix

package live

import (
	"context"
	"errors"
	"io"
)

// Terminal is one that keys are read from and that is drawn on. There is none on this
// platform.
type Terminal struct{}

// Open returns the terminal that in and out are, or false if one of them is none.
func Open(io.Reader, io.Writer) (*Terminal, bool) { return nil, false }

// Run has nothing to show on.
func (*Terminal) Run(context.Context, Config) error { return errors.ErrUnsupported }
