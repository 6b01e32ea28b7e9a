package agent

import (
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

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
