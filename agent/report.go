package agent

import (
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/kalman"
)

// notable is the change of avail, in pods, that is reported at once: a slot has
// opened or closed.
const notable = 1

// reportEvent reports ahead of the next block if the pods changed or avail moved
// notably, at most once per MinInterval, and never of a sample that is stale.
func (p *Pipeline) reportEvent(at time.Time) (Report, bool, error) {
	if p.at.IsZero() {
		return Report{}, false, nil
	}
	if p.sequence == 0 { // the first sample: say at once that the node is there
		return p.report(at, OnFirst)
	}
	if p.stale(at) || !p.pacer.allows(at) { // the next sample reports it
		return Report{}, false, nil
	}
	trigger := OnPods
	if !p.pending {
		trigger = OnAvail
		avail, err := p.avail(at)
		if err != nil {
			return Report{}, false, err
		}
		if math.Abs(avail.Pods-p.reported) < notable {
			return Report{}, false, nil
		}
	}
	return p.report(at, trigger)
}

// avail computes the availability from the newest usage, estimates and pods.
func (p *Pipeline) avail(at time.Time) (capacity.Avail, error) {
	pods := p.count(at)
	for i, e := range p.own {
		if p.fleet.costs != nil {
			e = kalman.Pool(e, p.fleet.costs[i], p.config.FleetSpread, 0)
		}
		known, taken := p.known(i, at)
		if !e.Started { // room as measured: pods that were there before must not count against it
			e.Level, e.MeanPods = min(1-p.usage[i]+taken, 1), max(pods.Measured-known.Measured, 0)
		}
		p.costKnown[i] = e.Known
		p.channels[i] = capacity.Channel{
			Usage: p.usage[i], Capacity: e.Capacity(), Cost: e.Cost, CostSD: e.CostSD,
			PodSD: p.config.podSD(p.config.Channels[i], e.Cost), Reserve: p.config.Channels[i].Reserve,
			Profiled: known,
		}
	}
	options := p.config.Avail.AvailOptions
	allowance, err := p.allow(at, pods)
	if err != nil {
		return capacity.Avail{}, err
	}
	options.Allowance += allowance
	a, err := capacity.AvailableIn(p.channels, p.room, pods, options)
	if err != nil {
		return a, fmt.Errorf("agent: avail: %w", err)
	}
	return p.rejection.decide(a), nil
}

// costUnknown reports whether the room in a channel is counted by a guess. Pods that were seen
// to take next to nothing of memory leave at least the room that is counted; of the CPU
// such pods may be ones that wait for each other.
func (p *Pipeline) costUnknown(i int) bool {
	return !p.costKnown[i] && (p.config.Channels[i].Name == CPU || !p.own[i].Small)
}

// report assembles the next report.
func (p *Pipeline) report(at time.Time, t Trigger) (Report, bool, error) {
	typicalCPU := p.typicalCPU() // by which avail counts
	avail, err := p.avail(at)
	if err != nil {
		return Report{}, false, err
	}
	signal, err := capacity.Solve(p.usage, p.demand, p.config.Signal)
	if err != nil {
		return Report{}, false, fmt.Errorf("agent: signal: %w", err)
	}
	p.sequence++
	p.pacer.spend(at)
	p.reported, p.pending = avail.Pods, false
	limiting := p.config.Channels[avail.Limiting]
	r := Report{
		Node: p.config.Node, Incarnation: p.config.Incarnation, Sequence: p.sequence,
		SampledAt: p.at, Schema: p.config.Schema,
		Avail: avail.Pods, Allowance: avail.Allowance, Pods: p.pods.keysTo(nil),
		Saturated: avail.Saturated, Floored: avail.Floored, K: signal.K, Limiting: limiting.Name,
		Mispredictions: p.recentMispredictions(at),
		Channels:       make([]ChannelReport, len(p.channels)),
		Flags: Flags{
			Churn:       p.churning(at),
			CostUnknown: p.costUnknown(avail.Limiting),
			NoPressure:  p.config.NoPressure,
			WarmingUp:   p.blocks == 0,
		},
	}
	for i, c := range p.channels {
		r.Channels[i] = ChannelReport{
			Name: p.config.Channels[i].Name, Usage: c.Usage,
			Capacity: min(c.Capacity, 1), Cost: c.Cost, CostSD: c.CostSD,
		}
	}
	if p.rejection != nil { // it gives nothing of the room, which a scheduler would count in
		r.Limiting, r.Flags.CostUnknown = LimitingPronto, false
	} else {
		p.rooms(at, avail.Allowance, r.Channels)
		r.TypicalCPU = typicalCPU
	}
	p.reportPower(&r)
	p.remember(&r, at, t, avail, signal)
	return r, true, nil
}

// pacer lets one report through per interval on average. Samples come at that
// very rate, so half an interval of jitter is allowed, but does not add up.
type pacer struct {
	interval time.Duration
	next     time.Time // when the next report is due if all come evenly
}

func (p *pacer) allows(at time.Time) bool { return !at.Before(p.next.Add(-p.interval / 2)) }

func (p *pacer) spend(at time.Time) {
	if at.After(p.next) {
		p.next = at
	}
	p.next = p.next.Add(p.interval)
}
