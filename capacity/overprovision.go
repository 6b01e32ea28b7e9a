package capacity

import "math"

const (
	// DefaultWindow is large enough for the mean square of mixed completion
	// times to settle, and small enough for a window a minute on a busy node.
	DefaultWindow = 16
	// DefaultThreshold lets the root mean square of the completion times grow by
	// a tenth.
	DefaultThreshold = 1.21
	// DefaultRecent is how many windows back the reference reaches: after as
	// many, work that has become longer is the new normal.
	DefaultRecent = 8
	// MaxRecent bounds OverprovisionConfig.Recent.
	MaxRecent = 16
	// DefaultMostPods bounds the allowances.
	DefaultMostPods = 8
)

// OverprovisionConfig tunes StepOverprovision. Zero fields mean the defaults.
type OverprovisionConfig struct {
	// Window is n, the completions of a window, at most 1e6; 0 means 16.
	Window int
	// Threshold is the factor of the least Σt² up to which a window counts as
	// good, in [1, 100]; 0 means 1.21.
	Threshold float64
	// Recent is the number of earlier windows compared with, at most MaxRecent;
	// 0 means 8.
	Recent int
	// Most bounds the allowance in pods, at most 1e6; 0 means 8.
	Most float64
}

// Validate reports the first field out of its range as a *FieldError.
func (c OverprovisionConfig) Validate() error {
	switch {
	case c.Window < 0 || c.Window > 1e6:
		return &FieldError{"Window", -1, float64(c.Window), "must be in [0, 1e6]"}
	case c.Threshold != 0 && !(c.Threshold >= 1 && c.Threshold <= 100):
		return &FieldError{"Threshold", -1, c.Threshold, "must be 0 or in [1, 100]"}
	case c.Recent < 0 || c.Recent > MaxRecent:
		return &FieldError{"Recent", -1, float64(c.Recent), "must be in [0, 16]"}
	case !(c.Most >= 0 && c.Most <= 1e6):
		return &FieldError{"Most", -1, c.Most, "must be in [0, 1e6]"}
	}
	return nil
}

func (c OverprovisionConfig) withDefaults() OverprovisionConfig {
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if c.Threshold == 0 {
		c.Threshold = DefaultThreshold
	}
	if c.Recent == 0 {
		c.Recent = DefaultRecent
	}
	if c.Most == 0 {
		c.Most = DefaultMostPods
	}
	return c
}

// Overprovision is the state of the TCP-like allowance, a plain value. The zero
// value has seen nothing and allows nothing.
type Overprovision struct {
	// Allowance is the number of pods allowed beyond the estimate, ≥ 0.
	Allowance float64
	// Squares is Σt² of the window being filled and Count its completions.
	Squares float64
	Count   int
	// Past holds Σt² of the recent full windows, a ring of which the first Full
	// are in use and Next is overwritten next.
	Past       [MaxRecent]float64
	Full, Next int
}

// Growth says what a step did to the allowance.
type Growth uint8

const (
	// Waiting: the window is not full.
	Waiting Growth = iota
	// Measured: the first window, which there is nothing to compare with.
	Measured
	// Grown: the window was good and the allowance grew by one pod.
	Grown
	// Halved: the window was worse and the allowance halved.
	Halved
)

var growths = [...]string{"waiting", "measured", "grown", "halved"}

func (g Growth) String() string {
	if int(g) < len(growths) {
		return growths[g]
	}
	return "unknown"
}

// maxTime bounds a completion time: some 30 years in seconds.
const maxTime = 1e9

// StepOverprovision takes the completion time t of a pod, in (0, 1e9] of any
// one unit, in O(1), after the first draft of the thesis (§3.7.2):
//
//	Σt² += t²;  every n completions, with m the least Σt² of the recent windows:
//	Σt² ≤ threshold·m : allowance += 1      otherwise : allowance /= 2
//
// The draft compares with the previous window alone; then times that grow by
// less than the threshold a window let the allowance creep up without end, so we
// compare with the least of the recent disjoint windows. It returns a
// *FieldError and then s as it was.
func StepOverprovision(s Overprovision, t float64, c OverprovisionConfig) (Overprovision, Growth, error) {
	if err := c.Validate(); err != nil {
		return s, Waiting, err
	}
	if err := s.Validate(); err != nil {
		return s, Waiting, err
	}
	if !(t > 0 && t <= maxTime) {
		return s, Waiting, &FieldError{"t", -1, t, "must be in (0, 1e9]"}
	}
	c = c.withDefaults()
	s.Squares += t * t
	if s.Count++; s.Count < c.Window {
		return s, Waiting, nil
	}
	g := s.judge(c)
	s.remember(c.Recent)
	return s, g, nil
}

// judge compares the full window with the recent ones.
func (s *Overprovision) judge(c OverprovisionConfig) Growth {
	least := math.Inf(1)
	for _, past := range s.Past[:min(s.Full, c.Recent)] {
		least = min(least, past)
	}
	switch {
	case s.Full == 0:
		return Measured
	case s.Squares <= c.Threshold*least:
		s.Allowance = min(s.Allowance+1, c.Most)
		return Grown
	}
	s.Allowance /= 2
	return Halved
}

// remember stores the full window and begins the next.
func (s *Overprovision) remember(recent int) {
	s.Next %= recent
	s.Past[s.Next] = s.Squares
	s.Next++
	s.Full = min(max(s.Full, s.Next), recent)
	s.Squares, s.Count = 0, 0
}

// Validate reports the first field that no step can have made, as a
// *FieldError: for a state that was stored or sent.
func (s Overprovision) Validate() error {
	const most = 1e6 * maxTime * maxTime // Σt² of the longest window
	switch {
	case !(s.Allowance >= 0 && s.Allowance <= 1e6):
		return &FieldError{"Allowance", -1, s.Allowance, "must be in [0, 1e6]"}
	case !(s.Squares >= 0 && s.Squares <= most):
		return &FieldError{"Squares", -1, s.Squares, "must be finite and not negative"}
	case s.Count < 0 || s.Count > 1e6:
		return &FieldError{"Count", -1, float64(s.Count), "must be in [0, 1e6]"}
	case s.Full < 0 || s.Full > MaxRecent:
		return &FieldError{"Full", -1, float64(s.Full), "must be in [0, 16]"}
	case s.Next < 0 || s.Next > MaxRecent:
		return &FieldError{"Next", -1, float64(s.Next), "must be in [0, 16]"}
	}
	for i, past := range s.Past {
		if !(past >= 0 && past <= most) {
			return &FieldError{"Past", i, past, "must be finite and not negative"}
		}
	}
	return nil
}

// StartupAllowance returns the pods that may be on their way so that a slot that
// frees up is filled at once:
//
//	(C/c)·(start-up latency/run time),  at most most (0 means 8)
//
// C/c pods that each run for run seconds free C/(c·run) slots a second, and one
// takes startup seconds to be filled. capacity ≥ 0 and cost > 0 are in the unit
// of a channel, startup ≥ 0 and run > 0 in one unit of time. Run time in it feeds
// back (slower pods, smaller allowance) but an error of the estimate feeds
// forward: hence the cap. The caller drops the allowance while a step of
// Overprovision returns Halved; Available drops it on a saturated node. It
// returns a *FieldError.
func StartupAllowance(capacity, cost, startup, run, most float64) (float64, error) {
	for _, f := range [...]struct {
		name  string
		value float64
		zero  bool
	}{
		{"capacity", capacity, true}, {"cost", cost, false}, {"startup", startup, true}, {"run", run, false}, {"most", most, true},
	} {
		if !(f.value >= 0 && f.value <= math.MaxFloat64) || f.value == 0 && !f.zero {
			return 0, &FieldError{f.name, -1, f.value, "out of range"}
		}
	}
	if most == 0 {
		most = DefaultMostPods
	}
	if capacity == 0 || startup == 0 {
		return 0, nil
	}
	// Quotients first: they overflow to +Inf, which the cap takes, or vanish.
	pods := (capacity / cost) * (startup / run)
	if !(pods <= most) { // also Inf·0
		return most, nil
	}
	return pods, nil
}
