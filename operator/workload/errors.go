package workload

import (
	"errors"
	"fmt"
	"strings"

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

// Error is for people who wrote the BatchJob, in whose conditions it stands.
func (e *FieldError) Error() string {
	value := fmt.Sprint(e.Value)
	switch e.Value.(type) {
	case map[string]any, []any:
		value = short(e.Value)
	}
	return fmt.Sprintf("%s = %s: %s", e.Field, cut(value), strings.TrimPrefix(e.Err.Error(), ErrInvalid.Error()+": "))
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
