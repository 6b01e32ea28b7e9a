package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// agent charges pods with what the machine takes, as a node's agent does, by what it can
// read alone.
type agent struct {
	cores  float64
	source *source.Powercap
	meter  *energy.Meter
	curve  *energy.Curve
	usage  func() (usage, error)

	readings []energy.Reading
	last     usage // of the last reading of counters
	charged  usage // of the last charge
	account  energy.Account
	shares   []energy.Share
	seconds  float64
	refused  int // readings that made no interval
}

// maxWatts is the most that a package of the made-up machine takes.
const maxWatts = 90

func newAgent(powercap string, cores int, read func() (usage, error)) (*agent, error) {
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
	return &agent{cores: float64(cores), source: s, meter: meter, curve: curve, usage: read}, nil
}

// read takes the counters and what the machine's CPUs have done since the last time.
func (a *agent) read(at time.Time) error {
	var err error
	if a.readings, err = a.source.ReadTo(a.readings, at); err != nil {
		return err
	}
	now, err := a.usage()
	if err != nil {
		return err
	}
	busy := (now.busy - a.last.busy).Seconds()
	a.last = now
	in, err := a.meter.Add(a.readings)
	switch {
	case errors.Is(err, energy.ErrPriming):
		a.charged = now
		return nil
	case err != nil:
		a.refused++
		return nil
	}
	seconds := in.To.Sub(in.From).Seconds()
	a.account.Joules += in.Joules
	a.account.SD = math.Hypot(a.account.SD, in.SD)
	a.account.Busy += busy
	a.seconds += seconds
	return a.curve.Learn(min(busy/seconds/a.cores, 1), in.Watts)
}

// charge divides what was taken since the last time among the pods, by their UIDs.
func (a *agent) charge() (map[string]energy.Share, error) {
	account := &a.account
	idle, known := a.curve.Idle()
	account.Idle, account.IdleKnown = idle*a.seconds, known
	account.Capacity = a.cores * a.seconds
	account.Residual = a.curve.Residual(min(account.Busy/account.Capacity, 1))
	account.Tree = (a.last.tree - a.charged.tree).Seconds()
	var uids []string
	for uid, cpu := range a.last.pods {
		account.Consumers = append(account.Consumers, energy.Consumer{Key: uint64(len(uids)), CPU: (cpu - a.charged.pods[uid]).Seconds()})
		uids = append(uids, uid)
	}
	var err error
	if a.shares, _, err = (energy.Split{}).AttributeTo(a.shares, account); err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("after so short a warm-up the machine's idle power is not known")
	}
	charged := map[string]energy.Share{}
	for i, s := range a.shares {
		charged[uids[i]] = s
	}
	a.charged, a.seconds, *account = a.last, 0, energy.Account{}
	return charged, nil
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
