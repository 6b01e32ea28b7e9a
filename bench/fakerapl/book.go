package main

import (
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
)

// truth is what the machine knows at a time, since it began.
type truth struct {
	at    time.Time
	node  float64         // joules
	pods  []float64       // joules for their load
	cpu   []time.Duration // of all consumers
	loads []fakerapl.Load // of the packages
}

// book is what was charged at a load, and what is true.
type book struct {
	first, last truth
	busy        time.Duration // by the agent
	meter       float64       // joules by the agent
	refused     int
	cores       float64

	charged     []float64 // joules of each pod
	caused      []float64 // of each pod, in truth
	inside, all int
	// Sums of squares, over pods and intervals, in joules, and of errors by their deviations.
	size, doubt, missed, ratio float64
	causes                     causes
}

// causes are what makes a pod's joules wrong, which add up to the error.
type causes struct {
	// Counters have told other joules than the machine took, Idle is idle power that is
	// not as learnt, Packages that a core-second costs more on one than on the other,
	// Time that it cost more when the pod ran than when others did.
	Counters float64 `json:"counters"`
	Idle     float64 `json:"idle"`
	Packages float64 `json:"packages"`
	Time     float64 `json:"time"`
}

func newBook(pods int, now truth, a *agent) *book {
	return &book{
		first: now, last: now, busy: -a.usage.Node.Busy, meter: -a.joules(), refused: -a.refused,
		cores: a.cores, charged: make([]float64, pods), caused: make([]float64, pods),
	}
}

// close takes what the agent has read by the end.
func (b *book) close(a *agent) {
	b.busy += a.usage.Node.Busy
	b.meter += a.joules()
	b.refused += a.refused
}

// enter takes what pods were charged for the interval that ends now.
func (b *book) enter(s *site, charged charge, now truth) {
	defer func() { b.last = now }()
	if charged.broken {
		return
	}
	var all fakerapl.Load
	prices := make([]float64, len(now.loads)) // of a core-second
	for i, l := range now.loads {
		l.Busy, l.Joules = l.Busy-b.last.loads[i].Busy, l.Joules-b.last.loads[i].Joules
		prices[i] = ratio(l.Joules, l.Busy)
		all.Busy, all.Joules = all.Busy+l.Busy, all.Joules+l.Joules
	}
	price, metered := ratio(all.Joules, all.Busy), ratio(charged.joules-(now.node-b.last.node), all.Busy)
	for i, uid := range s.pods {
		share := charged.pods[uid]
		cpu, caused := (now.cpu[i] - b.last.cpu[i]).Seconds(), now.pods[i]-b.last.pods[i]
		missed := share.Joules - caused
		b.charged[i] += share.Joules
		b.caused[i] += caused
		if math.Abs(missed) <= 2*share.SD {
			b.inside++
		}
		b.all++
		b.doubt += share.SD * share.SD
		b.missed += missed * missed
		b.ratio += square(ratio(missed, share.SD))
		b.size += share.Joules * share.Joules

		own, pooled := cpu*prices[s.consumers[i].socket], cpu*price
		b.causes.Counters += square(cpu * metered)
		b.causes.Idle += square(share.Joules - pooled - cpu*metered)
		b.causes.Packages += square(pooled - own)
		b.causes.Time += square(own - caused)
	}
}

// ratio is that to a whole that may be 0.
func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

func square(x float64) float64 { return x * x }

// newRow is what came out of a load in all runs.
func newRow(load int, books []*book) row {
	r := row{Load: load}
	var all book
	var busy, capacity float64
	for _, b := range books {
		truth := b.last.node - b.first.node
		r.Joules, r.Truth = r.Joules+b.meter, r.Truth+truth
		r.NodeError = max(r.NodeError, 100*math.Abs(b.meter/truth-1))
		for i, joules := range b.charged {
			r.PodError = max(r.PodError, 100*math.Abs(ratio(joules, b.caused[i])-1))
		}
		r.Intervals, r.Inside, r.Refused = r.Intervals+b.all, r.Inside+b.inside, r.Refused+b.refused
		busy, capacity = busy+b.busy.Seconds(), capacity+b.cores*b.last.at.Sub(b.first.at).Seconds()
		all.size, all.doubt, all.missed, all.ratio = all.size+b.size, all.doubt+b.doubt, all.missed+b.missed, all.ratio+b.ratio
		all.causes.Counters += b.causes.Counters
		all.causes.Idle += b.causes.Idle
		all.causes.Packages += b.causes.Packages
		all.causes.Time += b.causes.Time
	}
	part := func(squares float64) float64 { return 100 * math.Sqrt(ratio(squares, all.size)) }
	r.Reached = 100 * busy / capacity
	r.SD, r.RMS, r.Ratio = part(all.doubt), part(all.missed), math.Sqrt(ratio(all.ratio, float64(r.Intervals)))
	r.Causes = causes{part(all.causes.Counters), part(all.causes.Idle), part(all.causes.Packages), part(all.causes.Time)}
	return r
}
