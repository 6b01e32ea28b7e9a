package agent

import (
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
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

// Signal is what a scheduler decides by, of a node with the default options.
func (r *Report) Signal() reserve.Signal { return r.SignalWith(capacity.AvailOptions{}) }

// SignalWith is Signal of a node with Config.Avail o, whose caution and saturation hold for
// whatever is decided by its report.
func (r *Report) SignalWith(o capacity.AvailOptions) reserve.Signal {
	s := reserve.Signal{
		Avail: r.Avail, StartupAllowance: r.Allowance, Allowance: r.Allowance, Pods: len(r.Pods), K: r.K, Saturated: r.Saturated,
		MemoryRoom: r.memoryRoom(o), Floored: r.Floored, TypicalCPU: r.TypicalCPU,
	}
	for i := range r.Channels {
		c := &r.Channels[i]
		room := c.room(o)
		switch {
		case c.Unit > 0 && c.Name == CPU:
			s.Rooms[reserve.CPU] = room
		case c.Unit > 0 && c.Name == Memory:
			s.Rooms[reserve.Memory] = room
		case s.Rest == (reserve.Room{}) || (room.Left+room.StartupAllowance)*s.Rest.Cost < (s.Rest.Left+s.Rest.StartupAllowance)*room.Cost:
			room.Unit = 0
			s.Rest = room
		}
	}
	return s
}

// room is what a scheduler decides on pods of known workloads by.
func (c *ChannelReport) room(o capacity.AvailOptions) reserve.Room {
	return reserve.Room{Left: c.Room, StartupAllowance: c.StartupAllowance, Unit: c.Unit, Cost: o.Cautious(c.Cost, c.CostSD), SD: c.PodSD, Most: c.Most}
}

// memoryRoom is how many pods more the memory alone would hold: (1 − y)/c⁺,
// none where it is full or not measured, and no more than Avail where memory is
// what bounds that.
func (r *Report) memoryRoom(o capacity.AvailOptions) float64 {
	room := 0.
	for _, c := range r.Channels {
		if cost := o.Cautious(c.Cost, c.CostSD); c.Name == Memory && cost > 0 && !o.IsFull(c.Usage) {
			room = (1 - c.Usage) / cost
		}
	}
	if r.Limiting == Memory {
		room = min(room, r.Avail)
	}
	return room
}

// Report is what a node reports of itself at one moment. The agent owns every
// part of Avail (lower bound, floor and allowance are included); a scheduler
// only subtracts the pods in flight. Report is a plain value.
type Report struct {
	Node string
	// Incarnation grows at each start of the agent, Sequence with each report
	// of one incarnation; the pair orders the reports of a node.
	Incarnation, Sequence uint64
	// SampledAt is the time of the newest sample in the report.
	SampledAt time.Time
	// Schema identifies the ordered channels and their options.
	Schema string
	// Avail is a lower bound of the pods that still fit beyond those in
	// Pods; it may be negative.
	Avail float64
	// Allowance is the part of Avail granted ahead of confirmation, ≥ 0.
	Allowance float64
	// Pods lists the n pods that the report counts.
	Pods []reserve.PodKey
	// Saturated reports that a channel is full.
	Saturated bool
	// K is the capacity in typical loads (thesis eq. 3.11), for explanation.
	K float64
	// Limiting names the channel that is exhausted first; empty if none is, and
	// LimitingPronto where Pronto's signal decides.
	Limiting string
	// Channels holds one entry per channel in schema order.
	Channels []ChannelReport
	Flags    Flags
	// Floored reports that Avail was raised to one pod because every channel is less
	// than half full.
	Floored bool
	// TypicalCPU is how many cores a pod takes where pods live short and take alike, and 0
	// elsewhere. Avail counts those that take about so many ([reserve.IsTypicalCPU]) as typical
	// pods, whatever is known of them.
	TypicalCPU float64
	// Mispredictions are the pods that were lately found to take something else than was
	// predicted of them, at most MaxMispredictions.
	Mispredictions []Misprediction
	// Power is the node's; its Quality is None where nothing is known of it. Load that
	// it does not show yet is added (energy.Projected).
	Power energy.Power
	// PodCores and PodWatts are what each of Pods took of late, each
	// as many as those, in some reports; in the others both are empty. A pod of 0 cores
	// was not measured; one that took nothing has LeastCores.
	PodCores, PodWatts []float32
}

// ChannelReport explains one channel of a Report.
type ChannelReport struct {
	Name string
	// Usage is y in [0,1] after filtering.
	Usage float64
	// Capacity is C, the headroom at zero pods, at most 1; Cost is c, the share of the
	// channel one pod takes; CostSD is the standard deviation of Cost, and 0 if Cost is
	// [ChannelReport.Assumed].
	Capacity, Cost, CostSD float64
	// Room is the share that the pods in Pods leave, what is kept free taken off;
	// it may be negative. StartupAllowance is the Report's
	// Allowance as a share.
	Room, StartupAllowance float64
	// Unit is the share that a core or a byte is, 0 for a channel that is counted in
	// typical pods alone.
	Unit float64
	// PodSD is the standard deviation of what single pods take about Cost, 0 where
	// exceeding the room does no harm that a pod's end would not mend.
	PodSD float64
	// Most is the Room there would be without pods.
	Most float64
}

// Assumed reports whether Cost is a prior: neither this node nor its fleet has measured
// what a pod takes of the channel. A measured cost has a standard deviation.
func (c *ChannelReport) Assumed() bool { return c.CostSD == 0 }

// Flags qualify a Report: each is a reason to trust its figures less.
type Flags struct {
	// Churn: containers are starting or stopping; the estimator trusts what it reads
	// less.
	Churn bool `json:"churn"`
	// CostUnknown: the cost is the prior alone, and nothing shows that pods take less.
	CostUnknown bool `json:"costUnknown"`
	// NoPressure: the CPU is judged by utilisation alone, for the kernel has not the
	// pressure stall information asked for.
	NoPressure bool `json:"noPressure"`
	// WarmingUp: no full block of samples has been seen yet.
	WarmingUp bool `json:"warmingUp"`
}

// Cost is the cost of one pod in one channel, in the channel's absolute unit
// (cores, bytes), so that nodes of different sizes can share it.
type Cost struct {
	Value, SD float64
	// Known is false until enough change in the pod count was seen.
	Known bool
}

// Local is what a node pushes to the aggregator.
type Local struct {
	Node                  string
	Incarnation, Sequence uint64
	Schema                string
	Model                 svd.State
	// Costs holds one entry per channel, before pooling with the fleet's: a
	// node that pushed its pooled estimate would get back its own echo.
	Costs []Cost
}

// Fleet is what the aggregator returns: the model and the pod costs of all
// nodes of one schema.
type Fleet struct {
	Schema string
	Model  svd.Model
	// Costs holds one entry per channel: precision-weighted median and spread.
	Costs []Cost
	Nodes int
}
