package children

import (
	"errors"
)

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in every field.Error.
	errInvalid = errors.New("invalid configuration or input")
	// errNoInit is returned for a group whose children would run the whole program
	// once more.
	errNoInit = errors.New("children: the program's main function does not begin with children.Init")
	// errClosed is returned by a group that has been closed.
	errClosed = errors.New("children: the group is closed")
	// ErrEnded is wrapped where a child ended before it wrote the awaited line.
	ErrEnded = errors.New("children: ended")
	// errUnsupported is returned where the system can't keep children from outliving
	// their parent, or on CPUs.
	errUnsupported = errors.New("children: not supported on this system")
)
