package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/kalman"
)

// Replayer runs records through a pipeline. It is not safe for concurrent use.
//
// Without an override the pipeline is the one recorded: it starts from the
// first snapshot, and after a gap from the one that follows it. With an
// override it starts from the first snapshot as far as the options agree (what
// an option shapes, such as the filter, the estimator or the size of a block,
// starts over where the option changes) and then learns for itself: after a gap
// it takes the pods, the churn and the fleet from the snapshot and keeps the
// rest.
type Replayer struct {
	override func(*agent.Config)
	recorded agent.Config
	config   agent.Config // recorded with the override
	pipeline *agent.Pipeline
	part     int
	gap      bool // the next snapshot does not follow what was fed
}

// NewReplayer returns a Replayer that has been fed nothing. A nil override
// replays what was recorded.
func NewReplayer(override func(*agent.Config)) *Replayer {
	return &Replayer{override: override}
}

// Cut notes that records are missing after the last one fed, as after a torn
// file: the next snapshot counts as one after a gap.
func (r *Replayer) Cut() { r.gap = true }

// Feed takes the next record of one recording. ok reports that the pipeline made a
// report of it. What the pipeline refuses it refused when it was recorded, so
// that is no error; only a fleet of the other kind is refused, too, where an override sets
// or clears Pronto, so that such a replay has none. The error is a *DriftError if a snapshot that follows what
// was fed is not the state arrived at; the replay then goes on from the
// snapshot. Any other error is that of agent.FromState.
func (r *Replayer) Feed(rec Record) (report agent.Report, ok bool, err error) {
	switch rec.Kind {
	case KindHeader:
		r.header(rec.Header)
		return agent.Report{}, false, nil
	case KindGap:
		r.gap = true
		return agent.Report{}, false, nil
	case KindSnapshot:
		return agent.Report{}, false, r.snapshot(*rec.State)
	}
	if r.pipeline == nil {
		return agent.Report{}, false, nil
	}
	switch rec.Kind {
	case KindSample:
		report, ok, err = r.pipeline.Sample(rec.At, rec.Values)
	case KindPods:
		report, ok, err = r.pipeline.Pods(rec.At, rec.Pods)
	case KindChurn:
		r.pipeline.Churn(rec.At)
	case KindBound:
		r.pipeline.Bound(rec.At, rec.Bind)
	case KindPlaceholders:
		report, ok, err = r.pipeline.Placeholders(rec.At, rec.Placeholders)
	case KindUsage:
		r.pipeline.Usage(rec.At, rec.Readings)
	case KindPower:
		err = r.pipeline.Power(rec.At, rec.Power)
	case KindPodPower:
		err = r.pipeline.PodPower(rec.At, rec.PodPower)
	case KindFleet:
		err = r.pipeline.SetFleet(rec.At, *rec.Fleet)
	case KindSizes:
		err = r.pipeline.Resize(rec.Values)
	}
	return report, ok && err == nil, nil
}

func (r *Replayer) header(h *Header) {
	switch {
	case h.Part == 1: // of another Recorder, so of another pipeline
		r.pipeline = nil
	case h.Part != r.part+1:
		r.gap = true
	}
	r.part, r.recorded = h.Part, h.Config
	r.config = h.Config
	r.config.Channels = append([]agent.Channel(nil), h.Config.Channels...)
	if r.override != nil {
		r.override(&r.config)
	}
}

func (r *Replayer) snapshot(s agent.State) error {
	gap := r.gap
	r.gap = false
	var drift error
	switch {
	case r.pipeline == nil:
		s = shaped(s, r.recorded, r.config)
	case r.override != nil && !gap:
		return nil
	case r.override != nil:
		s = joined(r.pipeline.State(), s)
	case !gap && !equal(s, r.pipeline.State()):
		drift = &DriftError{s.At}
	}
	p, err := agent.FromState(r.config, s)
	if err != nil {
		return err
	}
	r.pipeline = p
	return drift
}

// equal compares two states by what is stored of them.
func equal(a, b agent.State) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

// shaped drops from a state what the options of next shape otherwise.
func shaped(s agent.State, last, next agent.Config) agent.State {
	if last.Filter != next.Filter {
		states := make([]filter.State, len(s.Filter))
		for i, f := range s.Filter {
			states[i] = filter.State{Level: f.Level, Started: f.Started}
		}
		s.Filter = states
	}
	if last.Model.Block != next.Model.Block {
		s.Block = nil
	}
	if !reflect.DeepEqual(last.Pronto, next.Pronto) {
		s.Pronto = nil
	}
	for i := range min(len(last.Channels), len(next.Channels), len(s.Sizes)) {
		if size := next.Channels[i].Size; size != last.Channels[i].Size {
			s.Sizes = slices.Clone(s.Sizes)
			s.Sizes[i] = size
		}
	}
	same := last.Estimator == next.Estimator && last.PodsPerCore == next.PodsPerCore && last.Cores == next.Cores
	for i := range min(len(last.Channels), len(next.Channels)) {
		same = same && last.Channels[i].Prior == next.Channels[i].Prior
	}
	if !same {
		s.Estimator = make([]kalman.State, len(s.Estimator))
		s.Verdicts = make([]kalman.Verdict, len(s.Verdicts))
		s.Innovations = make([]kalman.Innovation, len(s.Innovations))
	}
	return s
}

// joined is what own has learnt, with what was recorded of a gap.
func joined(own, heard agent.State) agent.State {
	own.Fleet = heard.Fleet
	own.Pods, own.History, own.Pending = heard.Pods, heard.History, heard.Pending
	own.Ended, own.Mispredictions, own.Placeholders = heard.Ended, heard.Mispredictions, heard.Placeholders
	own.ChurnFirst, own.ChurnLast = heard.ChurnFirst, heard.ChurnLast
	own.Pace, own.Power = heard.Pace, heard.Power
	return own
}

// Pair is a report as it was recorded and as replay made it.
type Pair struct {
	// Input is the record that caused the two. One of them is nil where only
	// the other was made of it.
	Input              Record
	Recorded, Replayed *agent.Report
}

// At is the time of the newest sample in either report.
func (p Pair) At() time.Time {
	switch {
	case p.Recorded != nil:
		return p.Recorded.SampledAt
	case p.Replayed != nil:
		return p.Replayed.SampledAt
	}
	return p.Input.At
}

// Identical reports whether both were made and agree bit for bit.
func (p Pair) Identical() bool {
	if p.Recorded == nil || p.Replayed == nil {
		return p.Recorded == p.Replayed
	}
	_, differs := Difference(*p.Recorded, *p.Replayed)
	return !differs
}

// Replay runs what is left in r through a Replayer and returns the reports, two
// and two. Errors stand among them: of Reader.Next and of Replayer.Feed, after
// all of which it goes on as far as it can. A report that was made just before
// a torn end or a gap, and so may not have been recorded, is left out.
func Replay(r *Reader, override func(*agent.Config)) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		m := Matcher{Replayer: NewReplayer(override)}
		for rec, err := range r.Records() {
			if err != nil {
				m.Cut()
				if !yield(Pair{}, err) {
					return
				}
				continue
			}
			pair, ok, err := m.Feed(rec)
			if err != nil && !yield(Pair{}, err) {
				return
			}
			if ok && !yield(pair, nil) {
				return
			}
		}
	}
}

// Matcher is a Replayer that pairs its reports with the recorded ones.
type Matcher struct {
	*Replayer
	last Pair // of the newest input
}

// Feed takes the next record. ok reports that a pair is complete: that of the
// input before, or with a recorded report that of the newest.
func (m *Matcher) Feed(rec Record) (pair Pair, ok bool, err error) {
	if rec.Kind == KindReport {
		pair = m.last
		pair.Recorded = rec.Report
		m.last = Pair{}
		return pair, true, nil
	}
	if rec.Kind == KindHeader && rec.Header.Part == m.part+1 {
		// Whether a twin is lost is known from what follows the header.
		_, _, err = m.Replayer.Feed(rec)
		return Pair{}, false, err
	}
	pair, m.last = m.last, Pair{}
	if rec.Kind == KindGap || rec.Kind == KindHeader {
		pair = Pair{} // the twin may be lost
	}
	report, made, err := m.Replayer.Feed(rec)
	if made {
		m.last = Pair{Input: rec, Replayed: &report}
	} else if rec.Kind == KindSample || rec.Kind == KindPods || rec.Kind == KindPlaceholders {
		m.last = Pair{Input: rec}
	}
	return pair, pair.Replayed != nil, err
}

// Cut is that of the Replayer, and forgets a report whose twin may be missing.
func (m *Matcher) Cut() {
	m.last = Pair{}
	m.Replayer.Cut()
}

// Difference names the first field in which two reports differ, with both
// values: "Avail: 3.25 and 3.5". Floats are compared bit for bit, times as
// moments.
func Difference(a, b agent.Report) (text string, differs bool) {
	for _, f := range [...]struct {
		name string
		same bool
		a, b any
	}{
		{"Node", a.Node == b.Node, a.Node, b.Node},
		{"Incarnation", a.Incarnation == b.Incarnation, a.Incarnation, b.Incarnation},
		{"Sequence", a.Sequence == b.Sequence, a.Sequence, b.Sequence},
		{"SampledAt", a.SampledAt.Equal(b.SampledAt), a.SampledAt, b.SampledAt},
		{"Schema", a.Schema == b.Schema, a.Schema, b.Schema},
		{"Avail", same(a.Avail, b.Avail), a.Avail, b.Avail},
		{"Allowance", same(a.Allowance, b.Allowance), a.Allowance, b.Allowance},
		{"Pods", slices.Equal(a.Pods, b.Pods), len(a.Pods), len(b.Pods)},
		{"Saturated", a.Saturated == b.Saturated, a.Saturated, b.Saturated},
		{"K", same(a.K, b.K), a.K, b.K},
		{"Limiting", a.Limiting == b.Limiting, a.Limiting, b.Limiting},
		{"Flags", a.Flags == b.Flags, a.Flags, b.Flags},
		{"Floored", a.Floored == b.Floored, a.Floored, b.Floored},
		{"Mispredictions", slices.Equal(a.Mispredictions, b.Mispredictions), a.Mispredictions, b.Mispredictions},
		{"Power", samePower(a.Power, b.Power), a.Power, b.Power},
		{"PodCores", slices.EqualFunc(a.PodCores, b.PodCores, same32), a.PodCores, b.PodCores},
		{"PodWatts", slices.EqualFunc(a.PodWatts, b.PodWatts, same32), a.PodWatts, b.PodWatts},
		{"len(Channels)", len(a.Channels) == len(b.Channels), len(a.Channels), len(b.Channels)},
	} {
		if !f.same {
			return fmt.Sprintf("%s: %v and %v", f.name, f.a, f.b), true
		}
	}
	for i, c := range a.Channels {
		d := b.Channels[i]
		if c.Name != d.Name || !same(c.Usage, d.Usage) || !same(c.Capacity, d.Capacity) ||
			!same(c.Cost, d.Cost) || !same(c.CostSD, d.CostSD) || !same(c.Room, d.Room) || !same(c.StartupAllowance, d.StartupAllowance) ||
			!same(c.Unit, d.Unit) || !same(c.PodSD, d.PodSD) || !same(c.Most, d.Most) {
			return fmt.Sprintf("Channels[%d]: %+v and %+v", i, c, d), true
		}
	}
	return "", false
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func same32(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func samePower(a, b energy.Power) bool {
	return a.Quality == b.Quality && a.Flags == b.Flags && same(a.Watts, b.Watts) && same(a.SD, b.SD) &&
		same(a.Max, b.Max) && same(a.Idle, b.Idle) && same(a.Marginal, b.Marginal) &&
		same(a.Busy, b.Busy) && same(a.Cores, b.Cores) && same(a.Joules, b.Joules)
}
