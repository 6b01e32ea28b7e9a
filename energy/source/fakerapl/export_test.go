package fakerapl

// These are exported for tests of the package from outside.

type (
	Load = load
)

const (
	Unit = unit
)

// Loads returns the core-seconds of each package.
func (m *Machine) Loads() []load { return append([]load(nil), m.loads...) }

// Validate returns the error of a field out of range.
func (c Config) Validate() error { return c.validate() }
