package fakerapl

// What tests of the package outside of it look at.

type (
	Load = load
)

const (
	Unit = unit
)

// Loads returns what each package has done.
func (m *Machine) Loads() []load { return append([]load(nil), m.loads...) }
