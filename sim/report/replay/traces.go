package replay

import (
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
)

// traces are what is drawn, in bounded memory. Times are seconds from the
// recording's start.
type traces struct {
	rerun bool // with other options
	start time.Time

	channels []channelTraces
	pods     trace
	avail    [2]trace // recorded, replayed
	k        [2]trace
	churn    intervals
	gaps     []interval
	last     float64 // time of the newest record
}

type channelTraces struct {
	name          string
	raw, filtered trace
	capacity      trace
	cost, band    trace
}

type interval struct{ from, to float64 }

// begin takes the configuration that replay runs by.
func (t *traces) begin(c agent.Config) {
	t.churn.hold, t.churn.limit = c.ChurnHold.Seconds(), c.ChurnCap.Seconds()
	if c.ChurnHold == 0 {
		t.churn.hold = pipeline.DefaultChurnHold.Seconds()
	}
	if c.ChurnCap == 0 {
		t.churn.limit = pipeline.DefaultChurnCap.Seconds()
	}
	for i := len(t.channels); i < len(c.Channels); i++ {
		t.channels = append(t.channels, channelTraces{name: c.Channels[i].Name})
	}
}

func (t *traces) since(at, start time.Time) float64 {
	t.start = start
	return at.Sub(start).Seconds()
}

// record takes what is drawn as it was recorded.
func (t *traces) record(rec recording.Record, start time.Time) {
	x := 0. // before the first sample
	if !rec.At.IsZero() && !start.IsZero() {
		x = t.since(rec.At, start)
	}
	switch rec.Kind {
	case recording.KindPods:
		t.pods.add(x, float64(len(rec.Pods)))
	case recording.KindSnapshot:
		t.pods.add(x, float64(len(rec.State.Pods)))
	case recording.KindChurn, recording.KindBound:
		t.churn.event(x)
	case recording.KindGap:
		t.gaps = append(t.gaps, interval{t.last, x})
	}
	t.last = max(t.last, x)
}

// sample takes a sample and what the filter made of it.
func (t *traces) sample(rec recording.Record, filtered []float64, start time.Time) {
	x := t.since(rec.At, start)
	for i := range min(len(rec.Values), len(filtered), len(t.channels)) {
		c := &t.channels[i]
		c.raw.add(x, rec.Values[i])
		c.filtered.add(x, filtered[i])
	}
}

// report takes the signal as recorded and as replayed, the rest as replayed.
func (t *traces) report(pair recording.Pair, start time.Time) {
	for i, r := range []*agent.Report{pair.Recorded, pair.Replayed} {
		if r != nil {
			x := t.since(r.SampledAt, start)
			t.avail[i].add(x, r.Avail)
			if !r.Flags.WarmingUp { // k is its bound then, for want of a model
				t.k[i].add(x, r.K)
			}
		}
	}
	r := pair.Replayed
	if r == nil {
		return
	}
	x := t.since(r.SampledAt, start)
	for i := range min(len(r.Channels), len(t.channels)) {
		c, from := &t.channels[i], r.Channels[i]
		c.capacity.add(x, from.Capacity)
		c.cost.add(x, from.Cost)
		c.band.addSpan(x, max(from.Cost-from.CostSD, 0), from.Cost+from.CostSD)
	}
}

// intervals are the churn windows that events open, as the pipeline sees them.
type intervals struct {
	hold, limit float64
	first, last float64
	windows     []interval
}

func (w *intervals) event(x float64) {
	n := len(w.windows)
	if n == 0 || x-w.last >= w.hold {
		w.first = x
		if n == most { // far more than can be seen
			w.windows = append(w.windows[:0], w.windows[1:]...)
			n--
		}
		w.windows = append(w.windows, interval{x, x})
		n++
	}
	w.last = x
	w.windows[n-1].to = min(x+w.hold, w.first+w.limit)
}
