package agentd

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node"
)

// limits are those of the whole process, as flags.
type limits struct {
	node.ProcessLimits
	memory command.Bytes
}

// limitFlags are the flags of the fields.
var limitFlags = map[string]string{"Procs": "max-procs", "Niceness": "nice"}

func (l *limits) bind(f *pflag.FlagSet) {
	l.ProcessLimits = node.DefaultProcessLimits()
	l.memory = command.Bytes(l.Memory)
	f.Var(&l.memory, "memory-limit", "memory of the Go runtime beyond which it collects garbage ever harder; 0 leaves it to GOMEMLIMIT and GOGC")
	f.IntVar(&l.Procs, "max-procs", l.Procs, "threads that run Go at the same time; 0 leaves it to GOMAXPROCS")
	f.IntVar(&l.Niceness, "nice", l.Niceness, "niceness of the process, -20 to 19; 0 leaves it as it is")
}

func (l *limits) parse() error {
	l.Memory = int64(l.memory)
	err := l.Validate()
	if bad := field.By(err, "node"); bad != nil {
		return fmt.Errorf("--%s: %w", limitFlags[bad.Field], err)
	}
	return err
}
