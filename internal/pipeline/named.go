package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrUnknown is the reason why a name is refused that no package has registered.
var ErrUnknown = errors.New("not known")

// named are variants of a part of the pipeline that has a default one, by name. The
// empty name stands for the default, which text calls by standard.
type named[T any] struct {
	kind, standard string
	variants       map[string]T
}

// validate returns a *field.Error for a name that no package has registered.
func (n *named[T]) validate(name string) error {
	if _, ok := n.variants[name]; ok || name == "" {
		return nil
	}
	return n.refuse(name)
}

func (n *named[T]) refuse(name string) error {
	known := append([]string{n.standard}, slices.Sorted(maps.Keys(n.variants))...)
	return &field.Error{Package: "pipeline", Field: n.kind, Value: name, Err: fmt.Errorf("%w: there are %v", ErrUnknown, known)}
}

func (n *named[T]) text(name string) string {
	if name == "" {
		return n.standard
	}
	return name
}

// parse is the opposite of text. The error is that of validate.
func (n *named[T]) parse(text string) (string, error) {
	switch text {
	case n.standard:
		return "", nil
	case "":
		return "", n.refuse(text)
	}
	return text, n.validate(text)
}
