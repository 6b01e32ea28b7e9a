package main

import (
	"errors"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// agent charges pods with what the machine takes, as a node's agent does, by what it can
// read alone.
type agent struct {
	cores  float64
	source *source.Powercap
	meter  *energy.Meter
	curve  *energy.Curve
	cpu    *telemetry.PodUsage

	readings []energy.Reading
	usage    telemetry.CPUUsage       // of the last reading of counters
	charged  map[string]time.Duration // CPU time of each pod at the last charge, by UID
	tree     time.Duration            // of all pods at the last charge
	account  energy.Account
	packages []float64 // joules of each, of the account
	shares   []energy.Share
	seconds  float64
	refused  int // readings that made no interval
	broken   bool
}

var errNoIdle = errors.New("after so short a warm-up the machine's idle power is not known")

// maxWatts is the most that a package of the made-up machine takes.
const maxWatts = 90

func newAgent(powercap string, cores int, c telemetry.CgroupConfig) (*agent, error) {
	cpu, err := telemetry.NewPodUsage(c)
	if err != nil {
		return nil, err
	}
	s, err := source.NewPowercap(source.PowercapConfig{Root: powercap})
	if err != nil {
		return nil, err
	}
	meter, err := energy.NewMeter(energy.MeterConfig{MaxWatts: maxWatts})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	curve, err := energy.NewCurve(energy.CurveConfig{})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &agent{cores: float64(cores), source: s, meter: meter, curve: curve, cpu: cpu}, nil
}

func (a *agent) close() error { return errors.Join(a.source.Close(), a.cpu.Close()) }

// read takes the counters and what the machine's CPUs have done since the last time.
func (a *agent) read(at time.Time) error {
	var err error
	if a.readings, err = a.source.ReadTo(a.readings, at); err != nil {
		return err
	}
	before := a.usage.Node.Busy
	if err := a.cpu.ReadCPUTo(&a.usage, at); err != nil {
		return err
	}
	busy := (a.usage.Node.Busy - before).Seconds()
	in, err := a.meter.Add(a.readings)
	switch {
	case errors.Is(err, energy.ErrPriming):
		a.begin()
		return nil
	case err != nil:
		a.refused++
		a.broken = true
		return nil
	}
	seconds := in.To.Sub(in.From).Seconds()
	a.account.Joules += in.Joules
	a.account.SD = math.Hypot(a.account.SD, in.SD)
	a.account.Busy += busy
	for i, joules := range in.Packages {
		if i == len(a.packages) {
			a.packages = append(a.packages, 0)
		}
		a.packages[i] += joules
	}
	a.seconds += seconds
	return a.curve.Learn(min(busy/seconds/a.cores, 1), in.Watts)
}

// charge is what the pods were charged for an interval.
type charge struct {
	pods map[string]energy.Share // by UID
	// joules is what the machine took by its counters, idle what load did not cause of it.
	joules, idle float64
	// broken says that some of the energy is not in joules, which an agent tells nobody.
	broken bool
}

// charge divides what was taken since the last time among the pods.
func (a *agent) charge() (charge, error) {
	account := &a.account
	idle, known := a.curve.Idle()
	account.Idle, account.IdleKnown = idle*a.seconds, known
	account.Capacity = a.cores * a.seconds
	u := min(account.Busy/account.Capacity, 1)
	account.Residual = math.Hypot(a.curve.Residual(u), a.curve.Uneven(u, a.seconds, a.packages))
	account.Tree = (a.usage.Tree - a.tree).Seconds()
	for i, p := range a.usage.Pods {
		account.Consumers = append(account.Consumers, energy.Consumer{Key: uint64(i), CPU: (p.CPU - a.charged[p.UID]).Seconds()})
	}
	var err error
	if a.shares, _, err = (energy.Split{}).AttributeTo(a.shares, account); err != nil {
		return charge{}, err
	}
	if !known {
		return charge{}, errNoIdle
	}
	charged := charge{pods: map[string]energy.Share{}, joules: account.Joules, idle: account.Idle, broken: a.broken}
	for i, s := range a.shares {
		charged.pods[a.usage.Pods[i].UID] = s
	}
	a.begin()
	return charged, nil
}

// begin starts an interval in which pods are charged.
func (a *agent) begin() {
	a.charged, a.tree = map[string]time.Duration{}, a.usage.Tree
	for _, p := range a.usage.Pods {
		a.charged[p.UID] = p.CPU
	}
	a.seconds, a.account, a.packages, a.broken = 0, energy.Account{}, a.packages[:0], false
}

// joules is what the machine has taken.
func (a *agent) joules() (sum float64) {
	for _, z := range a.meter.TotalsTo(nil) {
		if !z.Part {
			sum += z.Joules
		}
	}
	return sum
}
