package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/reserve"
)

// meaning is what the fields of a report mean as this version writes and reads it. It
// rises when a field that stays means something else, which no name or type would show.
const meaning = 1

// FromReport converts a report for the wire. The zero SampledAt travels as 0.
func FromReport(r agent.Report) *spaziov1.Report {
	m := &spaziov1.Report{
		Node:        r.Node,
		Incarnation: r.Incarnation,
		Sequence:    r.Sequence,
		Schema:      r.Schema,
		Avail:       r.Avail,
		Allowance:   r.Allowance,
		Absorbed:    make([]uint64, len(r.Pods)),
		Saturated:   r.Saturated,
		K:           r.K,
		Limiting:    r.Limiting,
		Channels:    make([]*spaziov1.ChannelEstimate, len(r.Channels)),
		Churn:       r.Flags.Churn,
		CostUnknown: r.Flags.CostUnknown,
		NoPressure:  r.Flags.NoPressure,
		WarmingUp:   r.Flags.WarmingUp,
		Floored:     r.Floored,
		Usual:       r.TypicalCPU,
		Power:       fromPower(r.Power),
		Meaning:     meaning,

		AbsorbedCores: slices.Clone(r.PodCores),
		AbsorbedWatts: slices.Clone(r.PodWatts),
	}
	if !r.SampledAt.IsZero() {
		m.SampledAtUnixNanos = r.SampledAt.UnixNano()
	}
	for i, key := range r.Pods {
		m.Absorbed[i] = uint64(key)
	}
	for i, c := range r.Channels {
		m.Channels[i] = &spaziov1.ChannelEstimate{
			Name: c.Name, Usage: c.Usage, Capacity: c.Capacity, Cost: c.Cost, CostSd: c.CostSD,
			Room: c.Room, Unit: c.Unit, PodSd: c.PodSD, Ahead: c.StartupAllowance, Most: c.Most,
		}
	}
	for _, s := range r.Mispredictions {
		m.Surprises = append(m.Surprises, &spaziov1.Surprise{Pod: uint64(s.Pod), CpuRatio: s.CPURatio, MemoryRatio: s.MemoryRatio})
	}
	return m
}

// ToReport converts and checks a report from the wire. SampledAt is in UTC, or
// the zero time where the message has none. Errors are *field.Error, of ErrMeaning for a
// report of a newer agent that cannot be used.
func ToReport(m *spaziov1.Report) (agent.Report, error) {
	if err := checkReport(m); err != nil {
		return agent.Report{}, err
	}
	r := agent.Report{
		Node:        m.GetNode(),
		Incarnation: m.GetIncarnation(),
		Sequence:    m.GetSequence(),
		Schema:      m.GetSchema(),
		Avail:       m.GetAvail(),
		Allowance:   m.GetAllowance(),
		Saturated:   m.GetSaturated(),
		K:           m.GetK(),
		Limiting:    m.GetLimiting(),
		Flags: agent.Flags{
			Churn:       m.GetChurn(),
			CostUnknown: m.GetCostUnknown(),
			NoPressure:  m.GetNoPressure(),
			WarmingUp:   m.GetWarmingUp(),
		},
		Floored:    m.GetFloored(),
		TypicalCPU: m.GetUsual(),
		Power:      toPower(m.GetPower()),
		PodCores:   nonEmpty(m.GetAbsorbedCores()),
		PodWatts:   nonEmpty(m.GetAbsorbedWatts()),
	}
	if nanos := m.GetSampledAtUnixNanos(); nanos != 0 {
		r.SampledAt = time.Unix(0, nanos).UTC()
	}
	if len(m.GetAbsorbed()) > 0 {
		r.Pods = make([]reserve.PodKey, len(m.GetAbsorbed()))
	}
	for i, key := range m.GetAbsorbed() {
		r.Pods[i] = reserve.PodKey(key)
	}
	if len(m.GetChannels()) > 0 {
		r.Channels = make([]agent.ChannelReport, len(m.GetChannels()))
	}
	for i, c := range m.GetChannels() {
		r.Channels[i] = agent.ChannelReport{
			Name: c.GetName(), Usage: c.GetUsage(), Capacity: c.GetCapacity(), Cost: noDust(c.GetCost()), CostSD: c.GetCostSd(),
			Room: c.GetRoom(), Unit: c.GetUnit(), PodSD: c.GetPodSd(), StartupAllowance: c.GetAhead(), Most: c.GetMost(),
		}
	}
	for _, s := range m.GetSurprises() {
		r.Mispredictions = append(r.Mispredictions, agent.Misprediction{Pod: reserve.PodKey(s.GetPod()), CPURatio: s.GetCpuRatio(), MemoryRatio: s.GetMemoryRatio()})
	}
	return r, nil
}

// usageSlack forgives what rounding in a filter adds to a full channel.
const usageSlack = 1e-9

// checkReport returns what ToReport would refuse, without converting. Limiting
// and the schema may be empty, every other name may not.
func checkReport(m *spaziov1.Report) error {
	if m == nil {
		return refuse("report", nil, ErrMissing)
	}
	if is := m.GetMeaning(); is > meaning { // before the numbers: theirs may be other bounds
		return refuse("meaning", is, fmt.Errorf("%w: at most %d", ErrMeaning, meaning))
	}
	if err := cmp.Or(checkName("node", m.GetNode(), false), checkName("schema", m.GetSchema(), true), checkName("limiting", m.GetLimiting(), true)); err != nil {
		return err
	}
	if nanos := m.GetSampledAtUnixNanos(); nanos < 0 {
		return refuse("sampled_at_unix_nanos", nanos, ErrRange)
	}
	if nanos := m.GetSampleAgeNanos(); nanos < 0 {
		return refuse("sample_age_nanos", nanos, ErrRange)
	}
	if err := checkRanges([]ranged{
		{"avail", m.GetAvail(), -MaxPods, MaxPods}, {"allowance", m.GetAllowance(), 0, MaxPods},
		{"usual", m.GetUsual(), 0, reserve.MaxCores}, {"k", m.GetK(), 0, MaxPods},
	}); err != nil {
		return err
	}
	if n := len(m.GetAbsorbed()); n > MaxAbsorbed {
		return refuseLength("absorbed", n, MaxAbsorbed)
	}
	if n := len(m.GetChannels()); n > MaxChannels {
		return refuseLength("channels", n, MaxChannels)
	}
	for i, c := range m.GetChannels() {
		if err := checkChannel(c); err != nil {
			return element("channels", i, err)
		}
	}
	if n := len(m.GetSurprises()); n > agent.MaxMispredictions {
		return refuseLength("surprises", n, agent.MaxMispredictions)
	}
	for i, s := range m.GetSurprises() {
		if err := checkRanges([]ranged{
			{"cpu_ratio", s.GetCpuRatio(), 0, agent.MaxMisprediction}, {"memory_ratio", s.GetMemoryRatio(), 0, agent.MaxMisprediction},
		}); err != nil {
			return element("surprises", i, err)
		}
	}
	if err := checkPower(m.GetPower()); err != nil {
		return under("power", err)
	}
	return checkAbsorbed(m)
}

// noDust returns 0 for a cost that is too small for anything to be divided by it.
func noDust(cost float64) float64 {
	if math.Abs(cost) < minCost {
		return 0
	}
	return cost
}

func checkChannel(c *spaziov1.ChannelEstimate) error {
	if err := checkName("name", c.GetName(), false); err != nil {
		return err
	}
	if unit := c.GetUnit(); unit > 0 && unit < minCost { // what is left of a channel is divided by it
		return refuse("unit", unit, fmt.Errorf("%w: 0, or %g to %g", ErrRange, minCost, float64(MaxPods)))
	}
	return checkRanges([]ranged{
		{"usage", c.GetUsage(), -usageSlack, 1 + usageSlack},
		{"capacity", c.GetCapacity(), -MaxPods, MaxPods},
		{"cost", c.GetCost(), -MaxPods, MaxPods},
		{"cost_sd", c.GetCostSd(), 0, MaxPods},
		{"room", c.GetRoom(), -agent.MaxRoom, agent.MaxRoom},
		{"unit", c.GetUnit(), 0, MaxPods},
		{"pod_sd", c.GetPodSd(), 0, MaxPods},
		{"ahead", c.GetAhead(), 0, agent.MaxRoom},
		{"most", c.GetMost(), 0, MaxPods},
	})
}
