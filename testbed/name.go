package testbed

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spazio-scheduler/spazio/field"
)

// Name is the name of a job, a scheduling or a testbed in its namespace. It is a
// value, and may be a map's key.
type Name struct {
	Namespace string
	Name      string
}

// String is NAMESPACE/NAME.
func (n Name) String() string { return n.Namespace + "/" + n.Name }

// Compare orders by namespace, then by name.
func (n Name) Compare(m Name) int {
	return cmp.Or(strings.Compare(n.Namespace, m.Namespace), strings.Compare(n.Name, m.Name))
}

// ParseName reads what String writes. The error is a *field.Error.
func ParseName(text string) (Name, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return Name{}, Refuse("Name", text, "NAMESPACE/NAME")
	}
	return Name{Namespace: namespace, Name: name}, nil
}

// ErrInvalid is what every field.Error of this module wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// Refuse makes a field.Error that wraps ErrInvalid; want completes "must be".
func Refuse(name string, value any, want string) error {
	return &field.Error{Package: "testbed", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
