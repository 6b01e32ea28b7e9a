package energy

import (
	"cmp"
	"math"
)

// curveKnots is how many points a Curve has, at utilisations 0, .1, … 1.
const curveKnots = 11

const (
	// defaultGain is how much of an error a reading mends.
	defaultGain = .1
	// knownWeight is how many readings at a knot make it known.
	knownWeight = 5
	// guessed is the least relative deviation of what no reading was near.
	guessed = .2
	// maxPower bounds a power in watts.
	maxPower = 1e6
)

// CurveConfig is what is known of a node before it was measured. The zero value is
// nothing.
type CurveConfig struct {
	// Idle and Max are the power at no load and at full, in watts; both 0 means
	// unknown.
	Idle, Max float64
	// Gain is how much of an error a reading mends once the curve is known, in
	// (0, 1]; 0 means .1.
	Gain float64
}

// Validate returns a *field.Error for the first field that is out of range.
func (c CurveConfig) Validate() error {
	if err := amount("Max", c.Max, maxPower); err != nil {
		return err
	}
	if err := amount("Idle", c.Idle, c.Max); err != nil {
		return err
	}
	return amount("Gain", c.Gain, 1)
}

// Level is a power by a Curve.
type Level struct {
	// Watts is the power and SD the standard deviation of a reading about it.
	Watts, SD float64
	// Extrapolated reports that no reading was near: SD is then at least a fifth.
	Extrapolated bool
}

// Curve learns a node's power by its utilisation, the busy share of its cores: a
// piecewise linear function, fitted by normalised least mean squares, that does not
// fall. A knot's first ten readings count alike, later ones by Gain.
//
// A Curve is for one goroutine.
type Curve struct {
	gain  float64
	prior [2]float64 // power at 0 and 1; both 0: none
	state curveState
	fit   curveFit
	dirty bool
}

// NewCurve returns a curve that has learnt nothing. The error is that of
// [CurveConfig.Validate].
func NewCurve(c CurveConfig) (*Curve, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Curve{gain: cmp.Or(c.Gain, defaultGain), prior: [2]float64{c.Idle, c.Max}, dirty: true}, nil
}

// Learn takes the mean power of an interval and the utilisation of the same interval,
// u ∈ [0, 1] and watts ∈ [0, 1e6]; else it is a *field.Error and learns nothing.
func (k *Curve) Learn(u, watts float64) error {
	if err := amount("u", u, 1); err != nil {
		return err
	}
	if err := amount("watts", watts, maxPower); err != nil {
		return err
	}
	j, high := position(u)
	low := 1 - high
	s := &k.state
	k.begin(j, watts)
	norm := low*low + high*high
	if j == 0 {
		k.learnIdle(u, watts, low*low/norm)
	}
	w, n, v := s.Watts[j:j+2], s.Weight[j:j+2], s.Variance[j:j+2]
	miss := watts - (low*w[0] + high*w[1])
	for i, h := range [2]float64{low, high} {
		gain := max(k.gain, 1/(1+n[i]))
		w[i] = min(max(w[i]+gain*h*miss/norm, 0), maxPower)
		if n[i] >= 1 { // before a whole reading it misses by what the knot began at
			v[i] += gain * h * h / norm * (miss*miss - v[i])
		}
		n[i] = min(n[i]+h*h, maxWeight)
	}
	k.dirty = true
	return nil
}

// learnIdle takes a reading near no load, of which the first knot has a part, into the
// means. That is its part of the deviation: by its share of the power, long load near the
// second knot would make the readings without load forgotten, of which it shows nothing.
func (k *Curve) learnIdle(u, watts, part float64) {
	s := &k.state
	gain := part * max(k.gain, 1/(1+s.Weight[0]))
	if s.IdleWatts == 0 {
		gain = 1
	}
	s.IdleAt += gain * (u - s.IdleAt)
	s.IdleWatts += gain * (watts - s.IdleWatts)
}

// idleBias is how far the idle power is from what the readings near it say, now that it is
// known how power rises from there. Those of a machine that was never wholly idle were
// taken to be the idle power itself as long as nothing was known of any load, and are not
// looked at again.
func (k *Curve) idleBias() float64 {
	s := &k.state
	x := s.IdleAt * (curveKnots - 1)
	if s.IdleWatts == 0 || x > mostIdle || s.Weight[1] < knownWeight {
		return 0
	}
	k.read()
	return math.Abs(k.fit.watts[0] - (s.IdleWatts-x*k.fit.watts[1])/(1-x))
}

// mostIdle is how far on the way to the next knot the readings may be that show the idle
// power: beyond it what they say is noise.
const mostIdle = .5

// curveState is what a Curve has learnt: at each knot the power, the
// weight of the readings there and the variance of a reading about it; and the mean
// utilisation and power of the readings that the knot without load has learnt of, 0 W for
// none.
type curveState struct {
	Watts, Weight, Variance [curveKnots]float64
	IdleAt, IdleWatts       float64
}

// maxWeight is where a knot's weight stops: beyond 1/Gain it changes nothing.
const maxWeight = 1e6

// begin gives knots j and j+1 a value, if they have none yet, to which the first
// reading is an error: the prior's, the other knot's, or the reading itself.
func (k *Curve) begin(j int, watts float64) {
	s := &k.state
	for i := j; i <= j+1; i++ {
		other := 2*j + 1 - i
		switch {
		case s.Weight[i] > 0:
		case k.prior[1] > 0:
			s.Watts[i] = k.prior[0] + (k.prior[1]-k.prior[0])*float64(i)/(curveKnots-1)
		case s.Weight[other] > 0:
			s.Watts[i] = s.Watts[other]
		default:
			s.Watts[i] = watts
		}
	}
}

// position returns the knot at or below u and how far above it u is, in [0, 1].
func position(u float64) (int, float64) {
	x := u * (curveKnots - 1)
	j := min(int(x), curveKnots-2)
	return j, x - float64(j)
}

// At returns the power at utilisation u, which is taken to be in [0, 1]; known is
// false while there is neither a reading nor a prior.
func (k *Curve) At(u float64) (level Level, known bool) {
	k.read()
	if !k.fit.known {
		return Level{}, false
	}
	return k.fit.at(clamp(u)), true
}

// Marginal returns the watts that a whole machine's load would add at the rate at
// which the load from u to u+du does, where it ends at 1; by a node's cores that is
// watts a core. Nothing to add, du = 0, gives the slope at u.
func (k *Curve) Marginal(u, du float64) (slope Level, known bool) {
	k.read()
	if !k.fit.known {
		return Level{}, false
	}
	from, to := clamp(u), clamp(u+max(du, 0))
	if to-from < minStep {
		to = min(from+minStep, 1)
		from = to - minStep
	}
	a, b := k.fit.at(from), k.fit.at(to)
	// A knot is known better than a reading about it, by what its gain averages.
	sharp := math.Sqrt(k.gain / (2 - k.gain))
	return Level{
		Watts:        max(b.Watts-a.Watts, 0) / (to - from),
		SD:           sharp * math.Hypot(a.SD, b.SD) / (to - from),
		Extrapolated: a.Extrapolated || b.Extrapolated,
	}, true
}

// PowerAt returns what the curve gives for a machine of so many cores, more than 0, of
// which the part u ∈ [0, 1] is busy: Idle, Max, Marginal, Busy, Cores and Extrapolated;
// the rest of it is the caller's. known is false until load is known to raise the power: by
// [Goodness] a node would look as if pods took nothing there.
func (k *Curve) PowerAt(u, cores float64) (p Power, known bool) {
	idle, known := k.At(0)
	most, _ := k.At(1)
	slope, _ := k.Marginal(u, 1/cores)
	p = Power{
		Idle: idle.Watts, Max: most.Watts, Marginal: min(slope.Watts/cores, MaxWatts), Busy: clamp(u) * cores, Cores: cores,
	}
	if idle.Extrapolated || most.Extrapolated || slope.Extrapolated {
		p.Flags |= Extrapolated
	}
	return p, known && p.Marginal > 0
}

// minStep is the least change of utilisation that a slope is given for.
const minStep = .01

// Idle returns the power without load; known is false while no reading was near.
func (k *Curve) Idle() (watts float64, known bool) { return k.end(0) }

// Residual returns how far a reading at utilisation u deviates from the curve, and the idle
// power from what is known by now, by the part of the power there that load causes: what an
// [Account] doubts the shares of load by. It is at most 1, and 1 where nothing is known.
// [Curve.Uneven] is doubt besides.
func (k *Curve) Residual(u float64) float64 {
	l, known := k.At(u)
	if !known {
		return 1
	}
	dynamic, sd := l.Watts, l.SD
	if idle, known := k.Idle(); known {
		dynamic -= idle
		sd = hypotenuse(sd, k.idleBias())
	}
	if sd >= dynamic {
		return 1
	}
	return sd / dynamic
}

// Uneven returns how far a core-second on one of a machine's packages is from costing what
// one costs on the whole machine, by root mean square and relative, in [0, 1]: packages is
// what each took in joules, in so many seconds in which the part u of all cores was busy.
// Control groups count no CPU time by package ([Account] pools them), and where power is
// not linear in load a core-second costs less, or more, on the package that is fuller. The
// packages are taken to be alike, so that each one's load can be read off the curve, which
// between two knots shows no difference; one that took nothing is none. Of fewer than two,
// and where the idle power is not known, it is 0: nothing is known of it. A curve that was
// learnt while packages differed much is flatter than one of a package, and shows less:
// BENCHMARKS.md has how much less.
func (k *Curve) Uneven(u, seconds float64, packages []float64) float64 {
	n := 0
	for _, joules := range packages {
		if joules > 0 {
			n++
		}
	}
	idle, known := k.Idle()
	if n < 2 || !(seconds > 0) || !known {
		return 0
	}
	// Sums over packages, by their loads: of these, of prices and of prices' squares.
	var loads, prices, squares float64
	for _, joules := range packages {
		if !(joules > 0) {
			continue
		}
		watts := min(joules/seconds*float64(n), maxPower)
		load := k.fit.reach(clamp(u), watts)
		if load < minStep { // no load to charge there
			continue
		}
		price := max(min(watts, k.fit.watts[curveKnots-1])-idle, 0) / load
		loads += load
		prices += load * price
		squares += load * price * price
	}
	if prices == 0 {
		return 0
	}
	mean := prices / loads
	return min(math.Sqrt(max(squares/loads-mean*mean, 0))/mean, 1)
}

func (k *Curve) end(u float64) (float64, bool) {
	l, known := k.At(u)
	return l.Watts, known && !l.Extrapolated
}

func (k *Curve) read() {
	if k.dirty {
		k.fit = k.fitted()
		k.dirty = false
	}
}

func clamp(u float64) float64 {
	if !(u > 0) {
		return 0
	}
	return min(u, 1)
}
