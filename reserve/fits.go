package reserve

import "math"

// Room is what a node has left of a resource, in shares of what it has. The zero
// value is a resource that the node does not measure, and so has room for any pod.
type Room struct {
	// Left is what the pods that the report lists leave, what is kept free taken
	// off; it may be negative. Ahead is what is granted beyond it ahead of
	// confirmation, ≥ 0.
	Left, Ahead float64
	// Unit is the share that a core or a byte is; 0 says that the node can count
	// in typical pods alone.
	Unit float64
	// Cost is the share that a typical pod takes, with the node's caution, and SD
	// the standard deviation between pods, 0 where exceeding the room does no harm
	// that a pod's end would not mend.
	Cost, SD float64
	// Most is what is left where no pod runs; 0 says that nobody knows.
	Most float64
}

// total is all that the node's pods in flight may take.
func (r *Room) total() float64 { return r.Left + r.Ahead }

// mean and variance are what a number of typical pods and an amount take.
func (r *Room) mean(typical, amount float64) float64 { return r.Cost*typical + r.Unit*amount }

func (r *Room) variance(typical, variance float64) float64 {
	return r.SD*r.SD*typical + r.Unit*r.Unit*variance
}

// Known is what those of a node's pods in flight ask for whose workloads are
// known.
type Known struct {
	// Pods is their number.
	Pods float64
	// Typical, Amount and Var are the sums of their demands'.
	Typical, Amount, Var [Resources]float64
}

// typical is Σ(1−λ) of all pods in flight, and what is held.
func (f *Flight) typical(i Resource) float64 { return f.taken() - f.Known.Pods + f.Known.Typical[i] }

// With is the flight with n pods more of a demand.
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

// nearlyAlone: a pod that is expected to take more than this part of an empty node
// is admitted by one that is as empty.
const nearlyAlone = .9

// counted says whether a pod is to be counted in resources rather than in typical
// pods. Where nobody in flight is known, nor the pod, it need not be, and where the
// node does not say what a core or a byte is to it, it can't be.
func counted(s *Signal, f *Flight, d *Demand) bool {
	return (d.known() || f.Known != Known{}) && (s.Rooms[CPU].Unit > 0 || s.Rooms[Memory].Unit > 0)
}

// fits decides by the resources whether the node has room for one more pod.
func fits(s *Signal, f *Flight, d *Demand, r *Rules) Reason {
	if s.Floored && f.taken() == 0 && d.confidence(CPU) < .5 && d.confidence(Memory) < .5 {
		return Admitted
	}
	if s.usual(d) {
		switch {
		case !(Free(s.Avail, *f) >= r.least(d)):
			return NoRoom
		case !(slack(s, f, d, r, Memory) >= 0):
			return NoMemory
		}
		return Admitted
	}
	for i := range Resource(Resources) {
		if !(slack(s, f, d, r, i) >= 0) {
			return noRoom[i]
		}
	}
	if !(s.Rest.total() >= s.Rest.needs(f.taken(), r.least(d), r)) {
		return NoRoom
	}
	return Admitted
}

var noRoom = [Resources]Reason{CPU: NoCPU, Memory: NoMemory}

// needs is what so many pods, one of them new, take of a resource that is counted
// in typical pods alone.
func (r *Room) needs(flight, pods float64, rules *Rules) float64 {
	pods += flight
	return r.Cost*pods + rules.Caution*r.SD*math.Sqrt(pods)
}

// least is what is left for a pod at least, in typical pods.
func (r *Rules) least(d *Demand) float64 { return math.Max(d.Pods(), r.Epsilon) }

// slack is what a resource has left beyond what the pod needs, negative where it
// does not fit:
//
//	left + ahead − λf − Σq − q − g·√(Σv + v)    q = κ·λa + (1−λ)·c    v = κ²·λ(s²+φ²a²) + (1−λ)·σ²
//
// A known pod needs no more than nearlyAlone of an empty node beyond those in
// flight.
func slack(s *Signal, f *Flight, d *Demand, r *Rules, i Resource) float64 {
	room := &s.Rooms[i]
	if *room == (Room{}) {
		return math.Inf(1)
	}
	if room.Unit == 0 {
		return room.total() - room.needs(f.taken(), r.least(d), r)
	}
	typical := d.Typical[i]
	if !d.known() {
		typical = r.least(d)
	}
	flying := room.mean(f.typical(i), f.Known.Amount[i])
	mean := room.mean(typical, d.Amount[i])
	variance, more := room.variance(f.typical(i), f.Known.Var[i]), room.variance(typical, d.Var[i])
	if i == CPU { // it has give
		variance, more = 0, 0
	}
	kept := d.confidence(i) * r.kept(s, i)
	needs := mean + r.Caution*math.Sqrt(variance+more)
	alone := r.Caution*math.Sqrt(variance) + nearlyAlone*(room.Most-kept)
	if d.confidence(i) > 0 && room.Most > kept && needs > alone {
		needs = alone
	}
	return room.total() - kept - flying - needs
}

// kept is the share of a resource that pods leave free on a node as far as they are known.
func (r *Rules) kept(s *Signal, i Resource) float64 {
	if i != CPU || s.blind() {
		return 0
	}
	return r.unfilled(s.Rooms[CPU].Unit)
}

// blind says that the node does not see who waits for a core, so that all cores busy are
// all of the CPU: pods that are known fill these, and no more.
func (s *Signal) blind() bool { return s.Cores*s.Rooms[CPU].Unit > 1.5/fullCores }

// unfilled is the share of the CPU that is left where it is as full as known pods fill it,
// a core being such a share of it.
func (r *Rules) unfilled(core float64) float64 {
	if r.CPUFill > 0 {
		return 1 - r.CPUFill/fullCores
	}
	return math.Max(0, .5-math.Max(leastWaiting*core, waitingRoot*math.Sqrt(core/fullCores)))
}

// fullCores is how many cores' worth of demand a core is read to be full at: half
// of what the CPU's channel measures is use, half is waiting.
const fullCores = 2

// RankFor returns the room that a node is ranked by for pods of the demand, in typical pods. Where
// all is counted in these, or the pod takes what is usual on the node ([Signal].Usual), and where
// pods live so short that some are let in ahead of confirmation, for what starts there takes more
// than is known of any pod, it is the room that was measured, and the last pod of that spread over
// what is granted ahead:
//
//	max(free − ahead, free/(1 + ahead))
//
// So a node on which many end does not draw them all: the others have as much room, without
// knowing. Otherwise it is the least over the resources of
//
//	(left + ahead − Σq − q)/c + 1
func RankFor(s Signal, f Flight, d Demand) float64 {
	if s.ahead() || s.usual(&d) || !counted(&s, &f, &d) {
		free := Free(s.Avail, f)
		if s.ahead() {
			free = math.Max(free-s.Ahead, free/(1+s.Ahead))
		}
		return free
	}
	free := math.Inf(1)
	for i := range Resource(Resources) {
		free = math.Min(free, s.Rooms[i].free(&f, &d, i))
	}
	if s.Rest.Cost > 0 {
		free = math.Min(free, s.Rest.total()/s.Rest.Cost-f.taken()-d.Pods()+1)
	}
	return free
}

// ahead says that pods live so short that the node lets some in ahead of confirmation.
func (s *Signal) ahead() bool { return s.Ahead > 0 }

// Unusual is the part of what pods usually take by which one takes more or less that is
// not like them.
const Unusual = .25

// Usual says whether a pod that is known to take so many cores takes about what is usual.
func Usual(cores, usual float64) bool { return math.Abs(cores-usual) <= Unusual*usual }

// usual says whether the pod is held against Avail even where it is known: what starting
// it takes is in what a typical pod was measured to take, and in nothing that is known of
// its workload. Its memory is counted as it is known besides.
func (s *Signal) usual(d *Demand) bool {
	confidence := d.confidence(CPU)
	return s.Usual > 0 && (confidence == 0 || Usual(d.Amount[CPU]/confidence, s.Usual))
}

// free is what is left of a resource beside a pod, and that pod, in typical pods.
func (r *Room) free(f *Flight, d *Demand, i Resource) float64 {
	if !(r.Cost > 0) {
		return math.Inf(1)
	}
	left := r.total() - r.mean(f.typical(i), f.Known.Amount[i]) - r.mean(d.Typical[i], d.Amount[i])
	if r.Unit == 0 {
		left = r.total() - r.Cost*(f.taken()+d.Pods())
	}
	return left/r.Cost + 1
}

// Shares returns what a pod takes of each resource of a node, in typical pods, and
// which resource has the least left beside it. A resource that the node can't count
// in has a share of 0; ok is false where that is so of both.
func Shares(s Signal, f Flight, d Demand) (shares [Resources]float64, binding Resource, ok bool) {
	least := math.Inf(1)
	for i := range Resource(Resources) {
		room := &s.Rooms[i]
		if !(room.Unit > 0 && room.Cost > 0) {
			continue
		}
		shares[i] = room.mean(d.Typical[i], d.Amount[i]) / room.Cost
		if free := room.free(&f, &d, i); !ok || free < least {
			least, binding, ok = free, i, true
		}
	}
	return shares, binding, ok
}

// Spare is what the pods in flight and held room leave of a resource, in cores or bytes, 0 where the
// node does not count in these. It may be negative. The room of the CPU goes on beyond the node's
// cores, up to as many tasks again that wait for them; Spare leaves that part out, and what is
// granted ahead of pods that are to end, so that it never exceeds what the node has.
func Spare(s Signal, f Flight, i Resource) float64 {
	room := &s.Rooms[i]
	if !(room.Unit > 0) {
		return 0
	}
	left := (room.Left - room.mean(f.typical(i), f.Known.Amount[i])) / room.Unit
	if i == CPU && s.Cores > 0 {
		left -= max(1/room.Unit-s.Cores, 0)
	}
	return left
}
