package share

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

var (
	// errName is a guest's name that is no file's: it has to be of 1 to 128 letters,
	// digits, dots, dashes and underscores, and neither "." nor "..".
	errName = errors.New("no name of a guest")
	// errTooMany is a guest beyond maxGuests.
	errTooMany = errors.New("too many guests")
	// errNotTmpfs is that a tree is on a disk, which each publication then waits for and
	// wears. It is a warning.
	errNotTmpfs = errors.New("not on tmpfs")
	// ErrLocked is that another process publishes below the same directory.
	ErrLocked = errors.New("another process publishes there")
	// errMalformed is a file of the kernel's, or of a tree, that is of another form.
	errMalformed = errors.New("malformed")
)

// maxGuests bounds the guests of a machine.
const maxGuests = 1024

// refuse makes an *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "energy", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", energy.ErrInvalid, want)}
}

// maxName bounds a guest's name, in bytes.
const maxName = 128

// checkName returns an error that wraps errName if a guest can't be called that.
func checkName(name string) error {
	ok := len(name) >= 1 && len(name) <= maxName && name != "." && name != ".."
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !ok {
		return &field.Error{Package: "energy", Field: "Name", Value: name[:min(len(name), maxName)], Err: errName}
	}
	return nil
}
