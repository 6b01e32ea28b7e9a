package capacity

import "fmt"

// FieldError says which argument was refused and why. Index is the element of
// a vector argument, −1 for a scalar one.
type FieldError struct {
	Field  string
	Index  int
	Value  float64
	Reason string
}

func (e *FieldError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("capacity: %s = %v: %s", e.Field, e.Value, e.Reason)
	}
	return fmt.Sprintf("capacity: %s[%d] = %v: %s", e.Field, e.Index, e.Value, e.Reason)
}

// LengthError says that two vectors that belong together differ in length.
type LengthError struct {
	Field     string
	Got, Want int
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("capacity: len(%s) = %d, want %d", e.Field, e.Got, e.Want)
}
