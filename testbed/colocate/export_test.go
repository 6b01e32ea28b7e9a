package colocate

// Exports for tests outside the package.

var (
	ParseCell = parseCell
)

func (c Cell) Merge(d Cell) Cell { return c.merge(d) }
func (c Cell) Validate() error   { return c.validate() }
