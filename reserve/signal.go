package reserve

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Signal is what decisions need of a node's newest report.
type Signal struct {
	// Avail is a lower bound of the pods that still fit beyond the Pods already
	// counted; it may be negative.
	Avail float64
	// StartupAllowance is the part of Avail that is granted ahead of confirmation, ≥ 0, for pods
	// that are seen to end: it lets pods in, and hardly counts where nodes are ranked ([View.Rank]).
	StartupAllowance float64
	// Allowance is the number of unconfirmed pods that the node accepts, ≥ 0.
	Allowance float64
	// Pods is n, the pods that the report counts. Both it and Allowance raise
	// slow start's line, so they should pass [Account.Cap] first.
	Pods int
	// K is the capacity in typical loads, ≥ 0.
	K float64
	// Saturated reports whether a channel is full.
	Saturated bool
	// MemoryRoom is how many pods beyond the Pods memory alone would hold; it may
	// be negative. Only [OverdueAdmission] reads it.
	MemoryRoom float64
	// Cores are the node's, 0 where they are not known, which is as good as a few: slow
	// start's first step grows with them.
	Cores float64
	// Rooms are those of the resources in which pods of known workloads are counted,
	// Rest the scarcest of the channels in which all pods are typical. Avail follows
	// from them and from what else the node knows.
	Rooms [Resources]Room
	Rest  Room
	// Floored reports whether no channel is half full, and Avail was raised to one pod for
	// that alone.
	Floored bool
	// TypicalCPU is how many cores a pod takes on a node whose pods take about the same and live so
	// short that starting them is much of it; 0 on other nodes. A known pod that takes about so many
	// cores counts as a typical one, except in memory, because its profile leaves out the start.
	TypicalCPU float64
}

// TypicalCPUTolerance is the part of Signal.TypicalCPU by which a pod that takes more or less
// is not a typical one.
const TypicalCPUTolerance = .25

// IsTypicalCPU reports whether a pod that is known to take so many cores takes about what is typical.
func IsTypicalCPU(cores, typical float64) bool {
	return math.Abs(cores-typical) <= TypicalCPUTolerance*typical
}

// takesTypicalCPU reports whether the pod is held against Avail even where it is known.
func (s *Signal) takesTypicalCPU(d *Demand) bool {
	confidence := d.confidence(CPU)
	return s.TypicalCPU > 0 && (confidence == 0 || IsTypicalCPU(d.Amount[CPU]/confidence, s.TypicalCPU))
}

// Room is what a node has left of a resource, in shares of what it has. The zero
// value is a resource that the node does not measure, and so has room for any pod.
type Room struct {
	// Left is what the pods that the report lists leave, without what is kept free;
	// it may be negative. StartupAllowance is what is granted beyond it ahead of
	// confirmation, ≥ 0.
	Left, StartupAllowance float64
	// Unit is the share that a core or a byte is; 0 means that the node can count
	// in typical pods alone.
	Unit float64
	// Cost is the share that a typical pod takes, with the node's caution, and SD the
	// standard deviation of what single pods take, 0 where pods that take more than the
	// room only slow each other down.
	Cost, SD float64
	// Most is what is left where no pod runs; 0 means that it is not known.
	Most float64
}

// mean and variance return what a number of typical pods and an amount take.
func (r *Room) mean(typical, amount float64) float64 { return r.Cost*typical + r.Unit*amount }

func (r *Room) variance(typical, variance float64) float64 {
	return r.SD*r.SD*typical + r.Unit*r.Unit*variance
}

// Flight is what a node's pods in flight ask for, and what is held there.
type Flight struct {
	// Demand is that of all of them in pods. Free takes it off.
	Demand float64
	// Held is the room in pods that is kept free for pods to come ([Ledger.Hold]): Free
	// takes it off, too, and slow start leaves it out, because it delays no start.
	Held float64
	// Stalled is the part of the pods that wait for something other than the
	// node; see [Stalled]. Late is the part, of the others, that has been in
	// flight for longer than two minutes. Slow start leaves Stalled out,
	// and Late as long as reports come, because a report that does not list a pod
	// after that time shows that it does not run.
	Stalled, Late float64
	// Silent is by how much slow start counts more while no report arrives, or less if it
	// is negative: it then depends on the API's state of the pods. A pod no longer counts once it
	// has run for ten seconds; one that can't be started, or has crashed, counts for the
	// first ten ([Ledger.Stands]).
	Silent float64
	// Known is what the pods of known workloads ask for; Demand counts them too.
	Known Known
	// Cores is the sum of [Demand].Cores.
	Cores float64
}

// Known sums up what a node's pods in flight ask for, of those whose workloads are known.
type Known struct {
	// Pods is their number.
	Pods float64
	// Typical, Amount and Var are the sums of their demands'.
	Typical, Amount, Var [Resources]float64
}

// taken returns what no further pod may have.
func (f *Flight) taken() float64 { return f.Demand + f.Held }

// starting returns what slow start counts while reports come, unseen what it counts
// when they don't.
func (f *Flight) starting() float64 { return f.Demand - f.Stalled - f.Late }
func (f *Flight) unseen() float64   { return f.Demand - f.Stalled + f.Silent }

// typical returns Σ(1−λ) of all pods in flight, and what is held.
func (f *Flight) typical(i Resource) float64 { return f.taken() - f.Known.Pods + f.Known.Typical[i] }

// With returns the flight with n pods more of a demand.
func (f Flight) With(n float64, d Demand) Flight {
	f.Demand += n * d.Pods()
	f.Cores += n * d.Cores
	if !d.known() {
		return f
	}
	f.Known.Pods += n
	for i := range Resource(Resources) {
		f.Known.Typical[i] += n * d.Typical[i]
		f.Known.Amount[i] += n * d.Amount[i]
		f.Known.Var[i] += n * d.Var[i]
	}
	return f
}

// Free returns avail − inflight − held: the pods that still fit. It may be negative.
func Free(avail float64, f Flight) float64 { return avail - f.taken() }

// Rules are the constants of a View. The zero value of a field means its
// default.
type Rules struct {
	// MinFreePods is the room that must be left for any pod, in pods: default 1,
	// range (0, ∞). A pod that demands more needs its demand.
	MinFreePods float64
	// Burst and Growth are slow start's line: at most max(Burst·max(1, cores/2) +
	// Growth·n, allowance) pods in flight. Defaults 2 and ½, so that the first step
	// is a pod a core, which is what an agent takes a pod for that knows of none.
	// Without the line one wrong signal put 86 pods on a 4-core node in a fluid
	// simulation, and with a first step of 2 it put 12; steeper lines let them
	// through. Ranges (0, ∞).
	Burst, Growth float64
	// Spread is φ, how much what a known pod takes is taken to differ from what is
	// known, relative to it: default ½, range (0, ∞). It is for those who make a
	// Demand.
	Spread float64
	// Caution is g, the standard deviations by which pods may take more than
	// expected of a resource without give: default 1, range (0, ∞).
	Caution float64
	// CPUDemandPerCore is how many cores' worth of demand a core is filled to by pods that
	// are known, range (0, 2]. The default keeps all cores busy and few pods waiting:
	// 1 + max(1.35, .65·√cores)/cores, which is 1.34 on 4 cores and 1.08 on 64. Where
	// the node does not measure waiting it is 1, whatever is set.
	CPUDemandPerCore float64
}

const (
	// burstCores are the cores that Burst is meant for; larger nodes have as much
	// of it a core.
	burstCores = 2
	// MaxCPUDemandPerCore keeps nothing free for known pods.
	MaxCPUDemandPerCore = fullCores
	// fullCores is how many cores' worth of demand a core is read to be full at: half
	// of what the CPU's channel measures is use, half is waiting.
	fullCores = 2
	// leastWaiting and waitingRoot: see Rules.CPUDemandPerCore.
	leastWaiting = 1.35
	waitingRoot  = .65
)

// Validate returns an ErrInvalid for a field that is negative or not finite.
func (r Rules) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"MinFreePods", r.MinFreePods}, {"Burst", r.Burst}, {"Growth", r.Growth},
		{"Spread", r.Spread}, {"Caution", r.Caution}, {"CPUDemandPerCore", r.CPUDemandPerCore},
	} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return refuse(f.name, f.value, "a finite number above 0, or 0 for the default")
		}
	}
	if r.CPUDemandPerCore > fullCores {
		return refuse("CPUDemandPerCore", r.CPUDemandPerCore, "at most 2")
	}
	return nil
}

// WithDefaults returns r with its zero fields replaced.
func (r Rules) WithDefaults() Rules {
	return Rules{
		MinFreePods: cmp.Or(r.MinFreePods, 1), Burst: cmp.Or(r.Burst, 2), Growth: cmp.Or(r.Growth, .5),
		Spread: cmp.Or(r.Spread, .5), Caution: cmp.Or(r.Caution, 1), CPUDemandPerCore: r.CPUDemandPerCore,
	}
}

// limit returns slow start's bound on the pods in flight.
func (r *Rules) limit(s *Signal) float64 {
	return math.Max(r.Burst*math.Max(s.Cores/burstCores, 1)+r.Growth*float64(s.Pods), s.Allowance)
}

// kept returns the share of the CPU that pods leave free on a node as far as they are known. A node
// that does not measure waiting has all cores busy at a usage of 1, so known pods may fill it.
func (r *Rules) kept(s *Signal) float64 {
	core := s.Rooms[CPU].Unit
	switch {
	case s.Cores*core > 1.5/fullCores:
		return 0
	case r.CPUDemandPerCore > 0:
		return 1 - r.CPUDemandPerCore/fullCores
	}
	return math.Max(0, .5-math.Max(leastWaiting*core, waitingRoot*math.Sqrt(core/fullCores)))
}

// ErrInvalid is the cause of every refused field and argument; test for it with
// errors.Is. The error's text names the field, its value and what it must be.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse returns an ErrInvalid that names the field; want completes "must be".
func refuse(field string, value any, want string) error {
	return fmt.Errorf("reserve: %s = %v: %w: must be %s", field, value, ErrInvalid, want)
}
