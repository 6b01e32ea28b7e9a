package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// compareEnergy measures an agent that reads the energy counters of a made-up machine and
// one that does not.
func compareEnergy(ctx context.Context, o options, dir string, cgroups *tree) (result, error) {
	sys := filepath.Join(dir, "sys")
	m, err := newRAPL(sys)
	if err != nil {
		return result{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	counted := make(chan error, 1)
	go func() { counted <- m.run(ctx) }()
	with := o
	with.agentArgs = append([]string{"--energy", "powercap", "--sys-root", sys}, o.agentArgs...)
	plain := o
	plain.agentArgs = withoutEnergy(o.agentArgs)
	r, without, err := alternate(ctx, plain, with, cgroups)
	stop()
	r.WithoutEnergy = &without
	return r, errors.Join(err, <-counted)
}

// withoutEnergy returns the flags of an agent that measures no energy, which refuses those
// about it.
func withoutEnergy(args []string) (others []string) {
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "--energy-") {
			others = append(others, args[i])
		} else if !strings.Contains(args[i], "=") {
			i++ // its value
		}
	}
	return others
}

// compareUsage measures an agent that reads what pods take and one that does not.
func compareUsage(ctx context.Context, o options, cgroups *tree) (result, error) {
	plain := o
	plain.usage = false
	r, without, err := alternate(ctx, plain, o, cgroups)
	r.WithoutUsage = &without
	return r, err
}

// alternate measures an agent without something and one with it, each twice for half the
// duration, so that neither has the better half of a machine that changes.
func alternate(ctx context.Context, without, with options, cgroups *tree) (r result, plain usage, err error) {
	without.duration, with.duration = without.duration/2, with.duration/2
	var all []result
	for _, turn := range []options{without, with, with, without} {
		r, err := measure(ctx, turn, cgroups)
		if err != nil {
			return r, plain, err
		}
		all = append(all, r)
	}
	return joined(all[1], all[2]), joined(all[0], all[3]).Agent, nil
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
