package node

import (
	"runtime"
	"runtime/debug"
)

// ProcessLimits keep a process that is only a node's agent small beside what it measures; a
// larger process that embeds the agent leaves them out. A zero field changes nothing.
type ProcessLimits struct {
	// Memory bounds, in bytes, what Go's runtime holds before it collects garbage
	// ever harder; the program's text comes on top.
	Memory int64
	// Procs is how many threads run Go at once: all that an agent does in a second
	// takes some milliseconds, and with one thread nothing is handed across CPUs.
	Procs int
}

// DefaultProcessLimits are those of spazio-agent.
func DefaultProcessLimits() ProcessLimits { return ProcessLimits{Memory: 20 << 20, Procs: 1} }

// gcPercent halves the heap at which Go begins to collect, 4 MiB. An agent makes
// so little garbage that collecting it twice as often costs nothing to be seen.
const gcPercent = 50

// Validate returns a *field.Error for the first field out of range.
func (l ProcessLimits) Validate() error {
	switch {
	case l.Memory < 0:
		return refuse("Memory", l.Memory, "must not be negative")
	case l.Procs < 0:
		return refuse("Procs", l.Procs, "must not be negative")
	}
	return nil
}

// Apply sets the limits of the whole process. It is not for concurrent use.
func (l ProcessLimits) Apply() error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.Memory > 0 {
		debug.SetMemoryLimit(l.Memory)
		debug.SetGCPercent(gcPercent)
	}
	if l.Procs > 0 {
		runtime.GOMAXPROCS(l.Procs)
	}
	return nil
}
