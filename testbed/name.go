package testbed

import (
	"cmp"
	"strings"
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
