package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// compareEnergy measures an agent that reads the energy counters of a made-up machine and
// one that does not, each twice for half the duration, so that neither has the better
// half of a machine that changes.
func compareEnergy(ctx context.Context, o options, dir, root string, cgroups *tree) (result, error) {
	m, err := newMachine(filepath.Join(dir, "sys"))
	if err != nil {
		return result{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	counted := make(chan error, 1)
	go func() { counted <- m.run(ctx) }()
	o.duration /= 2
	without := o
	o.agentArgs = append([]string{"--energy", "powercap", "--sys-root", m.dir}, o.agentArgs...)
	var all []result
	for _, turn := range []options{without, o, o, without} {
		r, err := measure(ctx, turn, root, cgroups)
		if err != nil {
			stop()
			return r, errors.Join(err, <-counted)
		}
		all = append(all, r)
	}
	stop()
	r := joined(all[1], all[2])
	r.WithoutEnergy = new(joined(all[0], all[3]).Agent)
	return r, <-counted
}

// joined is one run of two that were as long as one another.
func joined(a, b result) result {
	r := b
	r.Seconds += a.Seconds
	r.Started, r.Ended, r.Scrapes = r.Started+a.Started, r.Ended+a.Ended, r.Scrapes+a.Scrapes
	r.Reports, r.Heartbeats, r.Pushes, r.Windows = r.Reports+a.Reports, r.Heartbeats+a.Heartbeats, r.Pushes+a.Pushes, r.Windows+a.Windows
	r.Powers += a.Powers
	r.Agent = a.Agent.and(b.Agent)
	if a.Exporter != nil && b.Exporter != nil {
		r.Exporter = new(a.Exporter.and(*b.Exporter))
	}
	return r
}

// and is the usage of two processes, one after the other for as long.
func (u usage) and(v usage) usage {
	return usage{
		Millicores: (u.Millicores + v.Millicores) / 2, MeanMiB: (u.MeanMiB + v.MeanMiB) / 2,
		MaxMiB: max(u.MaxMiB, v.MaxMiB), PeakMiB: max(u.PeakMiB, v.PeakMiB),
	}
}

// machine is a server of two packages whose energy counters advance in a directory.
type machine struct {
	dir      string
	counters *fakerapl.Machine
}

func newMachine(dir string) (*machine, error) {
	counters, err := fakerapl.New(fakerapl.Config{
		Dir: dir, Sockets: 2, Cores: runtime.NumCPU(), Idle: 40, Max: 180, DRAM: 20, Noise: .02, Random: rand.New(rand.NewPCG(1, 1)),
	})
	return &machine{dir, counters}, err
}

// run advances the counters by what the real machine does, on the first package, until
// ctx ends.
func (m *machine) run(ctx context.Context) error {
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
