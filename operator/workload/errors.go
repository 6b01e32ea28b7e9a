package workload

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Errors of this package; match them with errors.Is.
var (
	// ErrInvalid is in every FieldError that is nothing else.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrSlotTooSmall says that an application's pod does not fit in a slot.
	ErrSlotTooSmall = errors.New("the slot is too small")
	// ErrWebhookMissing says that an operator made a pod without what it was told of it.
	ErrWebhookMissing = errors.New("the operator's webhook is not at work")
)

// FieldError names a field of a BatchJob, a CreationRequest or a pod whose value can't
// be used.
type FieldError struct {
	Field string
	Value any
	Err   error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("workload: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// refuse makes a *FieldError; want completes "must be".
func refuse(field string, value any, want string) error {
	return &FieldError{field, value, fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// Reason is that of the condition Valid (v1alpha1.BatchJobValid) for an error of this
// package.
func Reason(err error) string {
	switch {
	case errors.Is(err, ErrSlotTooSmall):
		return v1alpha1.ReasonSlotTooSmall
	case errors.Is(err, ErrWebhookMissing):
		return v1alpha1.ReasonWebhookMissing
	}
	return v1alpha1.ReasonInvalidApplication
}
