package spazioctl

import (
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

// scheduler are the flags that say which scheduler is asked: the leading one
// unless a pod is named.
type scheduler struct {
	debugSource
	pod string
}

func (s *scheduler) flags(f *pflag.FlagSet) {
	s.bind(f, "scheduler", "spazio-system", 9694)
	f.StringVar(&s.pod, "scheduler-pod", "", "the scheduler's pod (default: the leader)")
}

func (s *scheduler) open() (*debugClient, error) {
	if s.pod != "" {
		return s.connect(podforward.Named(s.pod))
	}
	return s.connect(podforward.Leader("spazio-scheduler"))
}
