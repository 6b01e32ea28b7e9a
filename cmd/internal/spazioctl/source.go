package spazioctl

import (
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/debugsource"
)

// scheduler are the flags that say which scheduler is asked: the leading one
// unless a pod is named.
type scheduler struct {
	debugsource.Source
	pod, lease string
}

func (s *scheduler) flags(f *pflag.FlagSet) {
	s.Flags(f, "scheduler", "spazio-system", 9694)
	f.StringVar(&s.pod, "scheduler-pod", "", "the scheduler's pod (default: the leader)")
	f.StringVar(&s.lease, "scheduler-lease", "spazio-scheduler", "lease that names the leader")
}

func (s *scheduler) open() (*debugsource.Client, error) {
	if s.pod != "" {
		return s.Open(podforward.Named(s.pod))
	}
	return s.Open(podforward.Leader(s.lease))
}
