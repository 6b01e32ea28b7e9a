package agentd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// limits keep the agent small beside what it measures.
type limits struct {
	// memory bounds what Go's runtime holds; the program's text comes on top.
	memory command.Bytes
	// procs is how many threads run Go at once: all the agent does in a second
	// takes some milliseconds, and with one thread nothing is handed across CPUs.
	procs int
	nice  int
}

// gcPercent halves the heap at which Go begins to collect, 4 MiB. The agent makes
// so little garbage that collecting it twice as often costs nothing to be seen.
const gcPercent = 50

var defaultLimits = limits{memory: 20 << 20, procs: 1}

func (l *limits) bind(f *pflag.FlagSet) {
	f.Var(&l.memory, "memory-limit", "memory of the Go runtime beyond which it collects garbage ever harder; 0 leaves it to GOMEMLIMIT and GOGC")
	f.IntVar(&l.procs, "max-procs", l.procs, "threads that run Go at the same time; 0 leaves it to GOMAXPROCS")
	f.IntVar(&l.nice, "nice", l.nice, "niceness of the process, -20 to 19; 0 leaves it as it is")
}

func (l limits) validate() error {
	switch {
	case l.procs < 0:
		return fmt.Errorf("--max-procs: %d is negative", l.procs)
	case l.nice < -20 || l.nice > 19:
		return fmt.Errorf("--nice: %d is not in -20 to 19", l.nice)
	}
	return nil
}

// apply sets the limits of the whole process.
func (l limits) apply() error {
	if l.memory > 0 {
		debug.SetMemoryLimit(int64(l.memory))
		debug.SetGCPercent(gcPercent)
	}
	if l.procs > 0 {
		runtime.GOMAXPROCS(l.procs)
	}
	if l.nice == 0 {
		return nil
	}
	return setNiceness(l.nice)
}
