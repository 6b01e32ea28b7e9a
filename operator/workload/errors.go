package workload

import (
	"errors"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in every *field.Error that is nothing else.
	errInvalid = errors.New("invalid configuration or input")
	// errSlotTooSmall means that an application's pod does not fit in a slot.
	errSlotTooSmall = errors.New("the slot is too small")
	// errWebhookMissing means that an operator made a pod without what its object asks for.
	errWebhookMissing = errors.New("the operator's webhook is not at work")
)

// refuse makes a *field.Error, which people read who wrote the BatchJob, in whose conditions it
// stands; want completes "must be".
func refuse(name string, value any, want string) error {
	return refused(name, value, invalid("must be "+want))
}

func refused(name string, value any, err error) error {
	switch v := value.(type) {
	case map[string]any, []any:
		value = short(v)
	case string:
		value = cut(v)
	}
	return &field.Error{Field: name, Value: value, Err: err}
}

// invalid is an errInvalid in words of its own.
type invalid string

func (e invalid) Error() string        { return string(e) }
func (e invalid) Is(target error) bool { return target == errInvalid }

// Reason is that of the condition Valid (v1alpha1.BatchJobValid) for an error of this
// package.
func Reason(err error) string {
	switch {
	case errors.Is(err, errSlotTooSmall):
		return v1alpha1.ReasonSlotTooSmall
	case errors.Is(err, errWebhookMissing):
		return v1alpha1.ReasonWebhookMissing
	}
	return v1alpha1.ReasonInvalidApplication
}
