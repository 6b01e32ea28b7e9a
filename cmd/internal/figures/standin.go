package figures

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/cmd/internal/figures/measured"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// The stand-in for a recording of pods is a node of the simulator, looked at
// without rounding or noise, and the order of events of one start and one end
// that were noted by hand on a node with Kubernetes 1.36.3, containerd 2.4.2 and
// Linux 6.18: seconds from the making of the pod's cgroup, and from the exit.
const (
	noteContainerd = .046
	noteRunning    = .257
	noteCgroupGone = .015
	standInSpike   = .3
	standInStarts  = 6
	standInRuns    = 2 * standInStarts
)

// standIn makes a Recording of pods by the simulator.
func standIn(seed uint64) (measured.Recording, error) {
	r := measured.Recording{Version: measured.Version, Machine: measured.Machine{CPU: "simulated", Cores: 2, Memory: 8 << 30}}
	for i := range standInRuns {
		s, err := newStandIn(seed, uint64(i), []string{"idle", "busy"}[i%2], 1, .01)
		if err != nil {
			return r, err
		}
		if err := s.alone(1.3 + .017*float64(i)); err != nil {
			return r, err
		}
		r.Runs = append(r.Runs, s.run)
	}
	s, err := newStandIn(seed, standInRuns, "batches", 10, sampling)
	if err != nil {
		return r, err
	}
	if err := s.batches(); err != nil {
		return r, err
	}
	r.Runs = append(r.Runs, s.run)
	return r, nil
}

// standInRun is one run being made.
type standInRun struct {
	run     measured.Run
	model   *node.Model
	rng     *rand.Rand
	period  float64
	before  node.Totals
	average float64 // avg10
	pods    int
}

func newStandIn(seed, stream uint64, load string, workers int, period float64) (*standInRun, error) {
	model, err := node.New(node.Params{Cores: 2, Seed: seed*1000 + stream})
	return &standInRun{
		run: measured.Run{Load: load, Workers: workers}, model: model, period: period,
		rng: rand.New(rand.NewPCG(seed, stream)),
	}, err
}

func (s *standInRun) alone(at float64) error {
	if err := s.bind(at-standInSpike, s.run.Load, standInSpike); err != nil {
		return err
	}
	s.until(at + 4.2)
	return nil
}

func (s *standInRun) batches() error {
	at := 1.
	for _, b := range []struct {
		load string
		pods int
		span float64
	}{{"idle", 1, 12}, {"idle", 10, 14}, {"pi", 10, 22}, {"pi", 2, 14}} {
		s.run.Marks = append(s.run.Marks, measured.Mark{Name: fmt.Sprintf("%d × %s", b.pods, b.load), At: at, Pod: -1})
		for range b.pods {
			if err := s.bind(at, b.load, node.StartupLatency(s.rng)); err != nil {
				return err
			}
		}
		at += b.span
		s.until(at)
	}
	return nil
}

func (s *standInRun) bind(at float64, load string, startup float64) error {
	pod := map[string]node.Pod{
		"idle": {Work: .002, Cores: .001}, "busy": {Work: 2}, "pi": {Work: .9},
	}[load]
	pod.ID, pod.Startup = node.PodID(s.pods), startup
	s.pods++
	return s.model.Bind(at, pod)
}

// until runs the model and reads its counters.
func (s *standInRun) until(end float64) {
	cores := float64(s.model.Params().Cores)
	for {
		now := float64(len(s.run.At)+1) * s.period
		if now > end {
			return
		}
		for _, t := range s.model.AdvanceTo(nil, now) {
			s.note(t)
		}
		totals := s.model.Totals()
		busy, waited := totals.Busy-s.before.Busy, totals.Waited-s.before.Waited
		s.before = totals
		s.average += (1 - math.Exp(-s.period/10)) * (waited/s.period - s.average)
		s.run.At = append(s.run.At, now)
		s.run.Utilisation = append(s.run.Utilisation, inUnit(busy/(s.period*cores)))
		s.run.Pressure = append(s.run.Pressure, inUnit(waited/s.period))
		s.run.Avg10 = append(s.run.Avg10, inUnit(s.average))
		s.run.Memory = append(s.run.Memory, s.model.Memory()/s.model.Params().Memory)
		s.run.Stall = append(s.run.Stall, 0)
	}
}

func inUnit(v float64) float64 { return min(max(v, 0), 1) }

func (s *standInRun) note(t node.Transition) {
	add := func(name string, at float64) {
		s.run.Marks = append(s.run.Marks, measured.Mark{Name: name, At: at, Pod: int(t.Pod)})
	}
	switch t.Phase {
	case node.Starting:
		add("pod cgroup", t.At)
		add("cgroup event", t.At)
		add("containerd event", t.At+noteContainerd)
		add("started", t.At+noteRunning)
	case node.Succeeded:
		add("exited", t.At)
		add("containerd event", t.At)
		add("cgroup event", t.At+noteCgroupGone)
	}
}
