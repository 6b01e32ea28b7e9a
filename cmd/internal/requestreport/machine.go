package requestreport

// machine converts shares of an agent's channels to cores and bytes. A size of 0 is unknown.
type machine struct {
	size   float64 // cores
	unit   float64 // share of the CPU's channel that a core is
	memory float64 // bytes
}

// newMachine returns the machine of so many cores and bytes. Its CPU's channel is a half with a task on
// every core and 1 with two, unless the agent judges by utilisation alone.
func newMachine(cores, memory float64, utilisation bool) machine {
	m := machine{size: cores, memory: memory}
	switch {
	case !(cores > 0):
	case utilisation:
		m.unit = 1 / cores
	default:
		m.unit = 1 / (2 * cores)
	}
	return m
}

// tasks are the cores that are busy and the tasks that wait for one.
func (m machine) tasks(usage float64) Measured {
	if m.unit == 0 {
		return Measured{}
	}
	return Is(usage / m.unit)
}

// cores are those that are left by a room, without the part of it in which tasks wait, as
// reserve.View.Spare has it.
func (m machine) cores(room float64) Measured {
	if m.unit == 0 {
		return Measured{}
	}
	return Is(room/m.unit - (1/m.unit - m.size))
}

func (m machine) bytes(share float64) Measured {
	if !(m.memory > 0) {
		return Measured{}
	}
	return Is(share * m.memory)
}
