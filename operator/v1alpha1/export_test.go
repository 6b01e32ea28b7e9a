package v1alpha1

// What tests of the package outside of it look at.

var (
	ErrSlotReference = errSlotReference
)
