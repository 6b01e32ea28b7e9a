package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

func main() {
	var f footprint
	c := bench.Command("footprint [flags] [-- flags of spazio-agent]", "Measure CPU time and memory of spazio-agent while pods come and go", f.flags, f.validate, f.measure)
	bench.Main(c, map[string]children.Role{bench.ExecRole: bench.Exec})
}

// footprint measures what the agent takes of its node.
type footprint struct {
	agent         string
	timing        bench.Timing
	pods          int
	rate          float64
	usage, energy bool
	args          []string // of the agent
}

func (f *footprint) flags(set *pflag.FlagSet) {
	set.StringVar(&f.agent, "agent", "", "spazio-agent to run (default built from this tree)")
	f.timing.Flags(set, time.Minute, 5*time.Minute)
	set.IntVar(&f.pods, "pods", 50, "pods on the node, 1 to 1000")
	set.Float64Var(&f.rate, "rate", 1, "pods that start, and end, in a second, 0 to 1000")
	set.BoolVar(&f.usage, "usage", false, "have the agent read what each pod takes and send it to a profiler, in turn with one that does not, each for the duration; with --energy both do")
	set.BoolVar(&f.energy, "energy", false, "have the agent read made-up energy counters, in turn with one that does not, each for the duration")
}

func (f *footprint) validate(args []string) error {
	f.args = args
	switch {
	case f.pods < 1 || f.pods > 1000:
		return fmt.Errorf("--pods: %d is not in 1 to 1000", f.pods)
	case !(f.rate >= 0 && f.rate <= 1000):
		return fmt.Errorf("--rate: %v is not in 0 to 1000", f.rate)
	}
	return f.timing.Validate()
}

func (f *footprint) measure(ctx context.Context, r *bench.Result, g *children.Group, progress io.Writer) (err error) {
	if f.agent, err = bench.Build(ctx, f.agent, "spazio-agent", g.Dir(), progress); err != nil {
		return err
	}
	cgroups, err := newCgroups(cgroupRoot, g.Dir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cgroups.close()) }()
	ctx, stop := context.WithCancel(ctx)
	beside, ctx := errgroup.WithContext(ctx)
	defer func() {
		stop()
		err = errors.Join(err, beside.Wait())
	}()
	sys := filepath.Join(g.Dir(), "sys")
	if f.energy {
		// A server of two packages.
		counters, err := fakerapl.New(fakerapl.Config{
			Dir: sys, Sockets: 2, Cores: runtime.NumCPU(), Idle: 40, Max: 180, DRAM: 20, Noise: .02, Random: rand.New(rand.NewPCG(1, 1)),
		})
		if err != nil {
			return err
		}
		beside.Go(func() error { return advance(ctx, counters) })
	}
	var running atomic.Int64
	beside.Go(func() error { return cgroups.churn(ctx, f.pods, f.rate, &running) })
	for running.Load() < int64(f.pods) {
		if err := bench.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return f.turns(ctx, r, g, cgroups.root, sys, &running)
}

// turns has an agent measured, or one without something and one with it, each twice for half the
// duration, so that neither has the better half of a machine that changes.
func (f *footprint) turns(ctx context.Context, r *bench.Result, g *children.Group, root, sys string, running *atomic.Int64) error {
	without := append([]string{"--cgroup-root", root}, f.args...)
	with, what := without, ""
	if f.usage {
		with, what = append([]string{"--usage", "on"}, without...), "usage"
	}
	if f.energy {
		// An agent that measures no energy refuses flags about it.
		without = slices.DeleteFunc(slices.Clone(with), func(arg string) bool { return strings.HasPrefix(arg, "--energy-") })
		with, what = append([]string{"--energy", "powercap", "--sys-root", sys}, with...), "energy"
	}
	order, duration := []bool{false, true, true, false}, f.timing.Duration/2
	if what == "" {
		order, duration = []bool{true}, f.timing.Duration
	}
	tallies := map[bool]*tally{false: newTally(), true: newTally()}
	for _, turn := range order {
		args := map[bool][]string{false: without, true: with}[turn]
		if err := f.turn(ctx, g, duration, args, tallies[turn]); err != nil {
			return err
		}
	}
	tallies[true].report(r, f.rate, tallies[false], what, running.Load())
	return nil
}

// tally is what was seen in the turns of an agent, which are as long as one another.
type tally struct {
	peers
	agent []bench.Usage // of each turn
}

func newTally() *tally { return &tally{peers: peers{count: map[string]float64{}}} }

// turn measures an agent.
func (f *footprint) turn(ctx context.Context, g *children.Group, duration time.Duration, args []string, t *tally) (err error) {
	peer, stop, err := t.serve()
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args = append([]string{"--node-name", "footprint", "--schedulers", peer, "--aggregator", peer, "--log-level", "warn"}, args...)
	if slices.Contains(args, "--usage") {
		args = append(args, "--profiler", peer)
	}
	agent, err := f.start(ctx, g, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Stop(ctx)) }()
	if err := bench.Sleep(ctx, f.timing.WarmUp); err != nil {
		return err
	}
	t.counting.Store(true)
	used, err := bench.Follow(ctx, duration, agent.PID())
	if t.counting.Store(false); err != nil {
		return err
	}
	t.agent = append(t.agent, used...)
	return nil
}

// start runs the agent on a port that was free a moment ago, and has it scraped as a Prometheus would
// once it answers, until ctx ends.
func (f *footprint) start(ctx context.Context, g *children.Group, args []string) (*children.Process, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := listener.Addr().String()
	_ = listener.Close()
	p, err := bench.Start(ctx, g, nil, f.agent, "", append([]string{"--listen", addr}, args...)...)
	if err != nil {
		return nil, err
	}
	if err := bench.Await(ctx, p, addr, func(endpoint.Metrics) bool { return true }); err != nil {
		return nil, err
	}
	go func() {
		for bench.Sleep(ctx, 15*time.Second) == nil {
			_, _ = bench.Scrape(ctx, addr) // what it costs to answer is what counts
		}
	}()
	return p, nil
}

// report adds the rows of an agent, and of one without something if there was one. The agent's bars are
// 25 MiB and, at a rate of starts a second, 4 millicores at one and 6 at five; where it reads what pods
// take 5 and 8, of which that may add half a millicore, and energy as much.
func (t *tally) report(r *bench.Result, rate float64, without *tally, what string, running int64) {
	cpu := 3.5 + rate/2
	if what != "" {
		cpu = 4.25 + .75*rate
	}
	agent := mean(t.agent)
	rows("spazio-agent", agent, r, bench.AtMost(cpu), bench.AtMost(25))
	if what != "" {
		plain := mean(without.agent)
		rows("without "+what, plain, r, nil, nil)
		r.Add(
			bench.Row{What: what + " adds", Value: 1e3 * (agent.Cores - plain.Cores), Unit: "millicores", Bar: bench.AtMost(.5)},
			bench.Row{What: what + " adds, RSS mean", Value: agent.MeanMiB - plain.MeanMiB, Unit: "MiB"},
		)
	}
	t.mu.Lock() // a stream may still be ending
	defer t.mu.Unlock()
	for _, sent := range sent {
		r.Add(bench.Row{What: sent, Value: t.count[sent], Unit: "messages"})
	}
	r.Add(
		bench.Row{What: "pods in the agent's last report", Value: float64(t.pods), Unit: "pods"},
		bench.Row{What: "pods that ran in the end", Value: float64(running), Unit: "pods"},
	)
}

func rows(name string, u bench.Usage, r *bench.Result, cpu, memory *bench.Bar) {
	r.Add(
		bench.Row{What: name, Value: 1e3 * u.Cores, Unit: "millicores", Bar: cpu},
		bench.Row{What: name + ", RSS mean", Value: u.MeanMiB, Unit: "MiB"},
		bench.Row{What: name + ", RSS most", Value: u.MaxMiB, Unit: "MiB", Bar: memory},
		bench.Row{What: name + ", VmHWM", Value: u.PeakMiB, Unit: "MiB"},
	)
}

// mean is the usage of processes one after the other, each for as long; of what is a most it is the
// most.
func mean(all []bench.Usage) (m bench.Usage) {
	for _, u := range all {
		m.Cores += u.Cores / float64(len(all))
		m.MeanMiB += u.MeanMiB / float64(len(all))
		m.MaxMiB, m.PeakMiB = max(m.MaxMiB, u.MaxMiB), max(m.PeakMiB, u.PeakMiB)
	}
	return m
}

// advance advances counters by what the real machine does, on the first package, until ctx ends.
func advance(ctx context.Context, counters *fakerapl.Machine) (err error) {
	defer func() { err = errors.Join(err, counters.Close()) }()
	cpu, err := telemetry.NewPodUsage(telemetry.CgroupConfig{})
	if err != nil {
		return err
	}
	defer cpu.Close()
	for bench.Sleep(ctx, 100*time.Millisecond) == nil {
		used, err := cpu.ReadNode()
		if err != nil {
			return err
		}
		if err := counters.Advance(time.Now(), []fakerapl.Consumer{{CPU: used.Busy}}); err != nil {
			return err
		}
	}
	return nil
}
