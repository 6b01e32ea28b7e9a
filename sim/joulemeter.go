package sim

import (
	"errors"
	"math"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// An agent reads its node's energy once a second, and every fifth time what its pods
// took, as it does on a real node.
const (
	meterPeriod  = 1
	meterPerPods = 5
)

// joulemeter is the part of a node's agent that measures what the node and its pods
// take.
type joulemeter struct {
	cores    float64
	meter    *energy.Meter
	curve    *energy.Curve
	readings []energy.Reading
	at, busy float64 // of the last reading
	joules   float64 // so far
	reported bool    // that the node's power is known
	reads    int

	pods map[reserve.PodKey]podMeter
	took []agent.PodPower
}

// podMeter is a pod's CPU time at a time, as of the count of reads.
type podMeter struct {
	at, cpu float64
	reads   int
}

func newJoulemeter(p node.Params) (*joulemeter, error) {
	meter, err := energy.NewMeter(energy.MeterConfig{MaxWatts: math.Max(energy.DefaultMaxWatts, math.Min(2*p.Power.Max, energy.MaxWatts))})
	if err != nil {
		return nil, err
	}
	curve, err := energy.NewCurve(energy.CurveConfig{})
	if err != nil {
		return nil, err
	}
	return &joulemeter{cores: float64(p.Cores), meter: meter, curve: curve, pods: map[reserve.PodKey]podMeter{}}, nil
}

// read reads the node's counters at a time and returns its power since the last call,
// or none where the curve no longer has the power of a load; false if that is no news.
func (j *joulemeter) read(now float64, r node.EnergyReading) (energy.Power, bool, error) {
	j.reads++
	j.readings = append(j.readings[:0], energy.Reading{Zone: "package-0", Counter: r.Microjoules, Range: node.EnergyRange, At: at(now)})
	in, err := j.meter.Add(j.readings)
	span, busy := now-j.at, r.Busy-j.busy
	j.at, j.busy = now, r.Busy
	if errors.Is(err, energy.ErrPriming) {
		return energy.Power{}, false, nil
	}
	if err != nil {
		return energy.Power{}, false, err
	}
	j.joules += in.Joules
	u := math.Min(math.Max(busy/(span*j.cores), 0), 1)
	if err := j.curve.Learn(u, in.Watts); err != nil {
		return energy.Power{}, false, err
	}
	p, known := j.curve.PowerAt(u, j.cores)
	p.Quality, p.Watts, p.SD, p.Joules = energy.Measured, in.Watts, in.SD/span, j.joules
	if !known {
		p = energy.Power{}
	}
	news := known || j.reported
	j.reported = known
	return p, news, nil
}

// takePods reads the CPU time of a node's pods, which cpu returns, and returns what each
// took since it was read last.
func (j *joulemeter) takePods(now float64, pods []agent.Pod, cpu func(reserve.PodKey) (float64, bool)) []agent.PodPower {
	j.took = j.took[:0]
	for _, p := range pods {
		used, ok := cpu(p.Key)
		if !ok {
			continue
		}
		if before, seen := j.pods[p.Key]; seen && now > before.at {
			cores := math.Max((used-before.cpu)/(now-before.at), agent.LeastCores)
			j.took = append(j.took, agent.PodPower{Pod: p.Key, Cores: float32(cores)})
		}
		j.pods[p.Key] = podMeter{now, used, j.reads}
	}
	for key, p := range j.pods {
		if p.reads != j.reads {
			delete(j.pods, key)
		}
	}
	return j.took
}
