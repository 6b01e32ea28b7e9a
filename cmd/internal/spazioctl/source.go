package spazioctl

import (
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

// scheduler are the flags that say how the leading scheduler is reached.
type scheduler struct{ debugSource }

func (s *scheduler) flags(f *pflag.FlagSet) {
	s.bind(f, "scheduler", "spazio-system")
}

func (s *scheduler) open() (*debugClient, error) {
	return s.connect(podforward.Leader("spazio-scheduler"))
}
