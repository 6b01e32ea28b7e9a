package agent

import "fmt"

// FieldError says which field of a Config or which argument was refused.
type FieldError struct {
	Field  string
	Value  any
	Reason string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("agent: %s = %v: %s", e.Field, e.Value, e.Reason)
}
