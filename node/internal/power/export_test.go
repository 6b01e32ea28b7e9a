package power

// What tests of the package outside of it look at.

type (
	Measurement = measurement
)
