package colocate

// Exports for tests outside the package.

var (
	ParseCell = parseCell
)

// Add takes in a run of a job beside another, or alone if that is the job itself.
func (m *Matrix) Add(job, beside string, seconds float64) error {
	cell, err := m.At(job, beside).Add(seconds)
	if err != nil {
		return err
	}
	if m.rows == nil {
		m.rows = make(map[string]Row)
	}
	if m.rows[job] == nil {
		m.rows[job] = make(Row)
	}
	m.rows[job][beside] = cell
	return nil
}

func (c Cell) Merge(d Cell) Cell { return c.merge(d) }
func (c Cell) Validate() error   { return c.validate() }
