package node

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node/internal/loop"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// ErrInvalid is the reason of every field.Error of this package.
var ErrInvalid = publish.ErrInvalid

// ErrNoReport is returned while the agent has made no report yet.
var ErrNoReport = loop.ErrNoReport

func refuse(name string, value any, reason string) error {
	return &field.Error{Package: "node", Field: name, Value: value, Err: fmt.Errorf("%w: %s", ErrInvalid, reason)}
}

// published turns what package publish refuses into the field of a Config; other
// errors stay as they are.
func published(err error) error {
	bad := field.By(err, "publish")
	if bad == nil {
		return err
	}
	name := bad.Field
	if name == "Targets" {
		name = "Schedulers"
	}
	return &field.Error{Package: "node", Field: name, Value: bad.Value, Err: bad.Err}
}
