package capacity

import "math"

const (
	// DefaultCaution raises the cost by one standard deviation: in simulation
	// it took the p99 slowdown at half load from 1.5 to 1.0.
	DefaultCaution = 1
	// DefaultSaturation is the usage from which noise hides whether a channel
	// is exactly full.
	DefaultSaturation = 0.98
	// DefaultFloorBelow is the usage below which a node cannot be full.
	DefaultFloorBelow = 0.5
)

// Values of AvailOptions that switch a correction off.
const (
	// NoCaution as Caution counts pods at c.
	NoCaution = -1
	// NeverSaturated as Saturation has no channel count as full.
	NeverSaturated = 2
	// NoFloor as FloorBelow offers no pod that does not fit.
	NoFloor = -1
)

// Channel is what is known of one channel when availability is computed.
type Channel struct {
	// Usage is y in [0,1] (values above 1 count as full).
	Usage float64
	// Capacity is C, the headroom at zero pods, in the unit of Usage, ≥ 0.
	Capacity float64
	// Cost is c, the usage one pod adds, > 0; CostSD is its standard
	// deviation, ≥ 0.
	Cost, CostSD float64
	// ShortLived reports that the usage will have passed before a pod that is sent now
	// starts, so that a full channel is no veto (Pace.ShortLived).
	ShortLived bool
	// PodSD is σ, the standard deviation of what single pods take about Cost, ≥ 0;
	// 0 means that a room counted in mean pods will do.
	PodSD float64
	// Reserve is the share of the channel to be left free, in [0, 1). It counts
	// as used.
	Reserve float64
	// Slots is the most pods that the channel takes at once whatever its usage, ≥ 0, without
	// those of Profiled, which take no slot; 0 means that only its usage limits it.
	Slots float64
	// Profiled is what the pods with a profile take. Cost is then that of the others.
	Profiled Profiled
}

// Profiled is what pods take of a channel whose demand is known, so that they are not counted as
// typical pods there.
type Profiled struct {
	// Now and Measured are how many of [Pods].Now and of [Pods].Measured are such pods, ≥ 0.
	Now, Measured float64
	// Usage is what those of Now are expected to take, in the unit of the channel's Usage, ≥ 0.
	// PendingUsage is how much the channel's Usage will still rise for such pods that it does not
	// show yet, less what it will fall for such pods that have ended and that it still shows.
	Usage, PendingUsage float64
}

// used is y and the reserve.
func (c *Channel) used() float64 { return c.Usage + c.Reserve }

// Pods is the pod count of a node at two moments.
type Pods struct {
	// Now is n, the pods that run; Measured is n₀, the pods whose load y shows.
	Now, Measured float64
}

// AvailOptions tune Available. The zero value is the default.
type AvailOptions struct {
	// Caution is g in c⁺ = c + g·sd(c), ≥ 0 or NoCaution; 0 means DefaultCaution.
	Caution float64
	// Saturation is the usage from which a channel counts as full, in [0, 1] or
	// NeverSaturated; 0 means DefaultSaturation.
	Saturation float64
	// FloorBelow is the usage below which, in every channel, at least one pod
	// is offered, in [0, 1] or NoFloor; 0 means DefaultFloorBelow.
	FloorBelow float64
	// Allowance is the number of pods added ahead of confirmation, ≥ 0. A
	// saturated node has none.
	Allowance float64
}

// Validate returns an ErrInvalid for the first field out of its range.
func (o AvailOptions) Validate() error {
	switch {
	case o.Caution != NoCaution && (!(o.Caution >= 0) || math.IsInf(o.Caution, 0)):
		return refuse("Caution", o.Caution, "must be finite and not negative, or NoCaution")
	case !(o.Saturation >= 0 && o.Saturation <= 1) && o.Saturation != NeverSaturated:
		return refuse("Saturation", o.Saturation, "must be in [0, 1], or 2 for never")
	case !(o.FloorBelow >= 0 && o.FloorBelow <= 1) && o.FloorBelow != NoFloor:
		return refuse("FloorBelow", o.FloorBelow, "must be in [0, 1] or NoFloor")
	case !(o.Allowance >= 0) || math.IsInf(o.Allowance, 0):
		return refuse("Allowance", o.Allowance, "must be finite and not negative")
	}
	return nil
}

func (o AvailOptions) withDefaults() AvailOptions {
	switch o.Caution {
	case NoCaution:
		o.Caution = 0
	case 0:
		o.Caution = DefaultCaution
	}
	if o.Saturation == 0 {
		o.Saturation = DefaultSaturation
	}
	if o.FloorBelow == 0 {
		o.FloorBelow = DefaultFloorBelow
	}
	return o
}

// Cautious is c⁺ = c + g·sd(c), the cost that room is counted in.
func (o AvailOptions) Cautious(cost, sd float64) float64 {
	o = o.withDefaults()
	return o.cautious(cost, sd)
}

// IsFull reports whether a channel of that usage is full.
func (o AvailOptions) IsFull(usage float64) bool {
	o = o.withDefaults()
	return o.isFull(usage)
}

// cautious and isFull are the same with the defaults filled in.
func (o *AvailOptions) cautious(cost, sd float64) float64 { return cost + o.Caution*sd }
func (o *AvailOptions) isFull(usage float64) bool {
	return o.Saturation != NeverSaturated && usage >= o.Saturation
}

// Mode is which of Signal, Model and Slots bounds an availability.
type Mode uint8

const (
	// SignalMode is h/c + n₀ − n (thesis eq. 3.12): what is measured.
	SignalMode Mode = iota
	// ModelMode is C/c − n (thesis eq. 3.13): what the estimator expects.
	ModelMode
	// SlotsMode is Slots − n: more could not run at once, whatever usage leaves.
	SlotsMode
)

var modes = [...]string{"signal", "model", "slots"}

func (m Mode) String() string {
	if int(m) < len(modes) {
		return modes[m]
	}
	return "unknown"
}

// Avail is the availability of a node in pods.
type Avail struct {
	// Pods is the lower bound of the pods that still fit; it may be negative.
	Pods float64
	// Limiting is the channel that bound Pods, −1 without channels; Mode the
	// equation that did.
	Limiting int
	Mode     Mode
	// Saturated: a channel is full, and not only fleetingly, so Pods ≤ 0 and no
	// allowance was given.
	Saturated bool
	// Floored: Pods was raised to one pod beyond the measured ones.
	Floored bool
	// Allowance is the part of Pods granted ahead of confirmation.
	Allowance float64
}

// Available returns how many more pods fit beyond p.Now (thesis eqs. 3.12 and
// 3.13 with the corrections of the package doc). Without channels nothing
// limits and Pods is +Inf. It returns an ErrInvalid or ErrLength.
func Available(ch []Channel, p Pods, o AvailOptions) (Avail, error) {
	return AvailableIn(ch, nil, p, o)
}

// AvailableIn is Available with the room of each channel as Channel.Room computed it or Room.By
// changed it. It computes the rooms itself if they are nil; any other number of rooms than of
// channels is an ErrLength.
func AvailableIn(ch []Channel, rooms []Room, p Pods, o AvailOptions) (Avail, error) {
	if rooms != nil && len(rooms) != len(ch) {
		return Avail{}, refuseLength("rooms", len(rooms), len(ch))
	}
	if err := o.Validate(); err != nil {
		return Avail{}, err
	}
	if err := p.validate(); err != nil {
		return Avail{}, err
	}
	o = o.withDefaults()
	a := Avail{Pods: math.Inf(1), Limiting: -1}
	light := len(ch) > 0
	for i := range ch {
		c := &ch[i]
		if err := c.validate(i); err != nil {
			return Avail{}, err
		}
		var room Room
		if rooms != nil {
			room = rooms[i]
		} else {
			room = c.room(p, &o)
		}
		if pods := room.Pods(); pods < a.Pods {
			a.Pods, a.Limiting, a.Mode = pods, i, room.Mode
		}
		a.Saturated = a.Saturated || o.isFull(c.used()) && !c.ShortLived
		light = light && c.used() < o.FloorBelow
	}
	return a.adjust(p, light, o), nil
}

// Room is what one channel leaves, in pods beyond those that run; it may be
// negative.
type Room struct {
	// Cost is c⁺ = c + g·sd(c), the cost that the room is counted in, and Spread
	// is g·σ, by which it is raised for pods that differ.
	Cost, Spread float64
	// Signal is U(h) + n₀ − n and Model is U(C − c⁺·n), with U(h) the pods that
	// fit into h; Model is C/c⁺ − n where the n pods alone take more than C. Slots
	// is Channel.Slots − n, +Inf without. Mode is the one that holds.
	Signal, Model, Slots float64
	Mode                 Mode
}

// Pods returns Signal, Model or Slots, as Mode selects.
func (r Room) Pods() float64 {
	switch r.Mode {
	case ModelMode:
		return r.Model
	case SlotsMode:
		return r.Slots
	}
	return r.Signal
}

// By returns r with the given one of its equations, SignalMode or ModelMode, unless
// the slots hold fewer pods.
func (r Room) By(m Mode) Room {
	r.Mode = m
	if r.Slots < r.Pods() {
		r.Mode = SlotsMode
	}
	return r
}

// Room explains Available: the least Room of all channels is what it starts
// from, before the veto of saturation, the floor and the allowance. The
// arguments must be such as Available accepts.
func (c Channel) Room(p Pods, o AvailOptions) Room {
	o = o.withDefaults()
	return c.room(p, &o)
}

// room is Room with the defaults of o filled in.
func (c *Channel) room(p Pods, o *AvailOptions) Room {
	r := Room{Cost: o.cautious(c.Cost, c.CostSD), Spread: o.Caution * c.PodSD, Slots: math.Inf(1)}
	now, measured := max(p.Now-c.Profiled.Now, 0), max(p.Measured-c.Profiled.Measured, 0)
	r.Signal = r.fit(1-c.used()-c.Profiled.PendingUsage) + measured - now
	r.Model = r.beside(now, max(c.Capacity-c.Reserve-c.Profiled.Usage, 0))
	if c.Slots > 0 {
		r.Slots = c.Slots - now
	}
	if r.Model < r.Signal {
		return r.By(ModelMode)
	}
	return r.By(SignalMode)
}

// maxPods is far above any room and keeps a division by a tiny cost finite.
const maxPods = 1e9

// beside is the model's room on a node of the given capacity, beside n pods.
// Those that run are counted at c⁺ as well, whether pods differ or not: with
// their mean c the room would grow as soon as pods are known to differ.
func (r *Room) beside(n, capacity float64) float64 {
	if left := capacity - r.Cost*n; left > 0 {
		return r.fit(left)
	}
	return min(capacity/r.Cost, maxPods) - n
}

// fit is U, the u ≥ 0 with u·c⁺ + √u·gσ = h: u pods take u·c in the mean, with a
// standard deviation of √u·σ. Nothing fits into h ≤ 0.
func (r *Room) fit(h float64) float64 {
	if !(h > 0) {
		return 0
	}
	if r.Spread == 0 {
		return min(h/r.Cost, maxPods)
	}
	// The root of the quadratic in √u, in the form without cancellation.
	root := 2 * h / (r.Spread + math.Sqrt(r.Spread*r.Spread+4*r.Cost*h))
	return min(root*root, maxPods)
}

// adjust applies the floor, the allowance and the veto of saturation.
func (a Avail) adjust(p Pods, light bool, o AvailOptions) Avail {
	if a.Saturated {
		a.Pods = math.Min(a.Pods, 0)
		return a
	}
	// The floor is one pod beyond the measured ones: one that y has not shown
	// yet already is that pod.
	if floor := 1 + math.Min(p.Measured-p.Now, 0); light && a.Pods < floor {
		a.Pods, a.Floored = floor, true
	}
	a.Allowance = o.Allowance
	a.Pods += o.Allowance
	return a
}

func (p Pods) validate() error {
	if !(p.Now >= 0) || math.IsInf(p.Now, 0) {
		return refuse("Pods.Now", p.Now, "must be finite and not negative")
	}
	if !(p.Measured >= 0) || math.IsInf(p.Measured, 0) {
		return refuse("Pods.Measured", p.Measured, "must be finite and not negative")
	}
	return nil
}

func (c *Channel) validate(i int) error {
	switch {
	case !(c.Usage >= 0) || math.IsInf(c.Usage, 0):
		return refuseElement("Usage", i, c.Usage, "must be finite and not negative")
	case !(c.Capacity >= 0) || math.IsInf(c.Capacity, 0):
		return refuseElement("Capacity", i, c.Capacity, "must be finite and not negative")
	case !(c.Cost > 0) || math.IsInf(c.Cost, 0):
		return refuseElement("Cost", i, c.Cost, "must be finite and positive")
	case !(c.CostSD >= 0) || math.IsInf(c.CostSD, 0):
		return refuseElement("CostSD", i, c.CostSD, "must be finite and not negative")
	case !(c.PodSD >= 0) || math.IsInf(c.PodSD, 0):
		return refuseElement("PodSD", i, c.PodSD, "must be finite and not negative")
	case !(c.Slots >= 0) || math.IsInf(c.Slots, 0):
		return refuseElement("Slots", i, c.Slots, "must be finite and not negative")
	case !(c.Reserve >= 0 && c.Reserve < 1):
		return refuseElement("Reserve", i, c.Reserve, "must be in [0, 1)")
	case math.IsNaN(c.Profiled.PendingUsage) || math.IsInf(c.Profiled.PendingUsage, 0):
		return refuseElement("Profiled.PendingUsage", i, c.Profiled.PendingUsage, "must be finite")
	}
	for _, f := range [...]struct {
		name  string
		value float64
	}{{"Profiled.Now", c.Profiled.Now}, {"Profiled.Measured", c.Profiled.Measured}, {"Profiled.Usage", c.Profiled.Usage}} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return refuseElement(f.name, i, f.value, "must be finite and not negative")
		}
	}
	return nil
}
