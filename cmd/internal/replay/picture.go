package replay

import (
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
)

// picture gathers what is drawn, in bounded memory. Times are seconds from the
// recording's start.
type picture struct {
	rerun  bool // with other options
	config agent.Config
	start  time.Time

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
func (p *picture) begin(c agent.Config) {
	p.config = c
	p.churn.hold, p.churn.limit = c.ChurnHold.Seconds(), c.ChurnCap.Seconds()
	if c.ChurnHold == 0 {
		p.churn.hold = agent.DefaultChurnHold.Seconds()
	}
	if c.ChurnCap == 0 {
		p.churn.limit = agent.DefaultChurnCap.Seconds()
	}
	for i := len(p.channels); i < len(c.Channels); i++ {
		p.channels = append(p.channels, channelTraces{name: c.Channels[i].Name})
	}
}

func (p *picture) since(at, start time.Time) float64 {
	p.start = start
	return at.Sub(start).Seconds()
}

// record takes what is drawn as it was recorded.
func (p *picture) record(rec recording.Record, start time.Time) {
	x := 0. // before the first sample
	if !rec.At.IsZero() && !start.IsZero() {
		x = p.since(rec.At, start)
	}
	switch rec.Kind {
	case recording.KindPods:
		p.pods.add(x, float64(len(rec.Pods)), float64(len(rec.Pods)))
	case recording.KindSnapshot:
		p.pods.add(x, float64(len(rec.State.Pods)), float64(len(rec.State.Pods)))
	case recording.KindChurn, recording.KindBound:
		p.churn.event(x)
	case recording.KindGap:
		p.gaps = append(p.gaps, interval{p.last, x})
	}
	p.last = max(p.last, x)
}

// sample takes a sample and what the filter made of it.
func (p *picture) sample(rec recording.Record, filtered []float64, start time.Time) {
	x := p.since(rec.At, start)
	for i := range min(len(rec.Values), len(filtered), len(p.channels)) {
		c := &p.channels[i]
		c.raw.add(x, rec.Values[i], rec.Values[i])
		c.filtered.add(x, filtered[i], filtered[i])
	}
}

// report takes the signal as recorded and as replayed, the rest as replayed.
func (p *picture) report(pair recording.Pair, start time.Time) {
	for i, r := range []*agent.Report{pair.Recorded, pair.Replayed} {
		if r != nil {
			x := p.since(r.SampledAt, start)
			p.avail[i].add(x, r.Avail, r.Avail)
			if !r.Flags.WarmingUp { // k is its bound then, for want of a model
				p.k[i].add(x, r.K, r.K)
			}
		}
	}
	r := pair.Replayed
	if r == nil {
		return
	}
	x := p.since(r.SampledAt, start)
	for i := range min(len(r.Channels), len(p.channels)) {
		c, from := &p.channels[i], r.Channels[i]
		c.capacity.add(x, from.Capacity, from.Capacity)
		c.cost.add(x, from.Cost, from.Cost)
		c.band.add(x, max(from.Cost-from.CostSD, 0), from.Cost+from.CostSD)
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
