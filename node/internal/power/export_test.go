package power

// Exports for tests outside the package.

type (
	Measurement = measurement
)
