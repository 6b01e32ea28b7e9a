package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// raplCounters are a server's energy counters of two packages, which advance by what the machine
// that runs this does.
type raplCounters struct{ counters *fakerapl.Machine }

// newRAPL makes the counters below a directory that takes the place of /sys. The caller must
// run them.
func newRAPL(dir string) (*raplCounters, error) {
	counters, err := fakerapl.New(fakerapl.Config{
		Dir: dir, Sockets: 2, Cores: runtime.NumCPU(), Idle: 40, Max: 180, DRAM: 20, Noise: .02, Random: rand.New(rand.NewPCG(1, 1)),
	})
	return &raplCounters{counters}, err
}

// run advances the counters by what the real machine does, on the first package, until
// ctx ends.
func (m *raplCounters) run(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	cpu, err := telemetry.NewPodUsage(telemetry.CgroupConfig{})
	if err != nil {
		return errors.Join(err, m.counters.Close())
	}
	defer cpu.Close()
	for {
		select {
		case <-ctx.Done():
			return m.counters.Close()
		case at := <-ticker.C:
			used, err := cpu.ReadNode()
			if err == nil {
				err = m.counters.Advance(at, []fakerapl.Consumer{{CPU: used.Busy}})
			}
			if err != nil {
				return errors.Join(err, m.counters.Close())
			}
		}
	}
}
