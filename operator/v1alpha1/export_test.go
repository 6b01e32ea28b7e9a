package v1alpha1

// These are exported for tests of the package from outside.

var (
	ErrSlotReference = errSlotReference
)
