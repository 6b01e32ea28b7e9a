package agent

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// defaultStartup stands for the start-up time until one was measured: the
	// median that the thesis gives (§3.4.1).
	defaultStartup = time.Second
	// startupGain forgets a start-up after some ten others, and startupMost, in
	// multiples of the mean, keeps one pull of an image from counting as a
	// hundred starts.
	startupGain = .1
	startupMost = 4
	// wayMost and wayForget bound the pods whose start is awaited.
	wayMost   = 1024
	wayForget = time.Minute
	// teardownMost in seconds keeps a sandbox that stays from counting.
	teardownMost = 10
	// leadMost is the longest that init containers are taken to need: a container
	// that starts again after that is one that crashed. leadDecay forgets a lead
	// after some ten pods that needed none.
	leadMost  = time.Minute
	leadDecay = .7
	// nearlyCore is the mean of cores from which pods are taken for such of a core
	// each. In the mean of half of them and half that wait (experiments memory and mixed-io)
	// .75 has nodes at times that leave cores idle.
	nearlyCore = .85
)

// paceLog measures how pods come and go.
type paceLog struct {
	at       time.Time // Ends and Lived are as of then
	pace     capacity.Pace
	teardown float64 // mean time from a pod's last container to its end in seconds
	loading  int
	way      []boundPod // by time
	// lead is how long pods run before a container of their own does, where no
	// notice gives the number of their init containers.
	lead time.Duration
	// predicted is the demand predicted of the pods of Ends, and fades as these do.
	predicted predictedDemand
	// allowance is the last, before any veto.
	allowance float64
}

// advance brings the decaying sums to the given time. Ends and time lived fade
// alike: a node that rests keeps its run time and gets less sure of it.
func (l *paceLog) advance(at time.Time, halfLife time.Duration) {
	if dt := at.Sub(l.at); !l.at.IsZero() && dt > 0 {
		halves := dt.Seconds() / halfLife.Seconds()
		left := math.Exp2(-halves)
		l.pace.Ends *= left
		l.predicted.fade(left)
		// The time lived in dt fades, too, from when it was lived.
		l.pace.Lived = l.pace.Lived*left + float64(l.loading)*(1-left)*halfLife.Seconds()/math.Ln2
	}
	if at.After(l.at) {
		l.at = at
	}
}

// expect keeps the notice of a bind until the pod comes.
func (l *paceLog) expect(at time.Time, b Bind) {
	l.forget(at)
	if len(l.way) < wayMost && !slices.ContainsFunc(l.way, func(o boundPod) bool { return o.Pod == b.Pod }) {
		l.way = append(l.way, boundPod{b, at})
	}
}

func (l *paceLog) forget(at time.Time) {
	l.way = slices.DeleteFunc(l.way, func(b boundPod) bool { return at.Sub(b.At) >= wayForget })
}

// began learns from a pod whose own containers have begun to run how long that
// took from its bind.
func (l *paceLog) began(at time.Time, r *podRecord) {
	if !r.InitsKnown {
		at = r.RanAt // what follows is the lead
	}
	if startup := at.Sub(r.BoundAt); !r.BoundAt.IsZero() && startup < wayForget {
		mean := l.startup()
		l.pace.Startup = mean + startupGain*(min(max(startup.Seconds(), 0), startupMost*mean)-mean)
	}
}

// observe learns the lead from the pods there are.
func (l *paceLog) observe(records []podRecord) {
	for i := range records {
		if r := &records[i]; !r.InitsKnown && !r.Earlier {
			l.lead = max(l.lead, r.resumed())
		}
	}
}

// ended learns from pods that have ended for good.
func (l *paceLog) ended(at time.Time, gone []podRecord) {
	for i := range gone {
		r := &gone[i]
		if !r.counts() || r.InitsKnown && !r.Loaded {
			continue
		}
		l.pace.Ends++
		l.predicted.add(r)
		stopped := at
		if r.State == PodStopped {
			stopped = r.StoppedAt
		}
		l.teardown += startupGain * (min(at.Sub(stopped).Seconds(), teardownMost) - l.teardown)
		if !r.Loaded { // too short for the lead: all of it was the pod's own
			l.began(at, r)
			l.pace.Lived += max(stopped.Sub(r.RanAt).Seconds(), 0)
		}
		if !r.InitsKnown && !r.Earlier {
			l.lead = max(r.resumed(), time.Duration(leadDecay*float64(l.lead)))
		}
	}
}

// startup is L in seconds.
func (l *paceLog) startup() float64 {
	return cmp.Or(l.pace.Startup, defaultStartup.Seconds())
}

// pacing is the pace with the start-up time that holds.
func (p *Pipeline) pacing() capacity.Pace {
	pace := p.pace.pace
	pace.Startup = p.pace.startup()
	return pace
}

// allow returns the allowance for p.channels, computes their room and marks the CPU
// where its load is short-lived.
func (p *Pipeline) allow(at time.Time, pods capacity.Pods) (float64, error) {
	avail, churning := &p.config.Avail, p.churning(at)
	for i := range p.channels {
		c := &p.channels[i]
		c.Slots = p.coreSlots(i)
		p.room[i] = avail.Rule.Room(c.Room(pods, avail.AvailOptions), churning)
	}
	pace, bounds := p.pacing(), p.bounds(pods)
	p.slots = bounds.Slots
	for i := range p.channels {
		c := &p.channels[i]
		c.ShortLived = p.config.Channels[i].Name == CPU && !p.allowsNone() && pace.ShortLived()
	}
	pace.Startup += p.pace.teardown // a slot is seen to be free that much late
	allowance, err := capacity.StartupAllowance(pace, bounds, p.config.Allowance)
	if err != nil {
		return 0, fmt.Errorf("agent: allowance: %w", err)
	}
	p.pace.allowance = allowance
	return allowance, nil
}

// allowsNone reports whether the configuration lets no pod be on its way ahead of a free slot.
func (p *Pipeline) allowsNone() bool { return p.config.Allowance.MostPerSlot == capacity.NoAllowance }

// coreSlots is the number of pods that keep all cores busy at once where a pod is
// known to take about a core, and of those besides that idle, and 0 elsewhere. With
// all cores busy and no task waiting the CPU's usage is a half, for the other half is
// waiting tasks, so it would take as many pods again, which share what there is. Half a
// √cores is kept waiting: with fewer a core idles as often as pods end together.
func (p *Pipeline) coreSlots(i int) float64 {
	c, cores := p.channels[i], p.config.Cores
	capacity := max(c.Capacity-c.Profiled.Usage, 0)
	room := 2*capacity - 1
	if p.config.NoPressure {
		room = capacity
	}
	if p.config.NoCoreSlots || p.config.Channels[i].Name != CPU || !p.costKnown[i] || c.Cost < nearlyCore*p.coreShare() {
		return 0
	}
	free := math.Ceil(cores * min(max(room, 0), 1)) // other load takes whole ones
	return free + max(1, math.Sqrt(free)/2) + p.idle(capacity, c.Cost)
}

// idle is how many of the pods that ran before the agent take nothing of a channel of
// which one that was seen to come takes c: the daemons of a real node. There is no
// headroom at zero pods beyond the whole of a channel; C = 1 + c·idle is where the line
// through what pods left ends if idle ones are counted among them. Pods that came later
// have been seen to take what they take, in c.
func (p *Pipeline) idle(capacity, cost float64) float64 {
	return min(max(math.Round((capacity-1)/cost), 0), float64(p.pods.earlier))
}

// bounds returns what an allowance has to fit in. Pods share the CPU as they come
// and go; what they take of other channels they hold, so there the allowance gets
// what the offer leaves.
func (p *Pipeline) bounds(pods capacity.Pods) capacity.Bounds {
	// No more slots than cores: as long as cores are idle no task waits,
	// which makes up half of the channel, and a pod seems to take half a core.
	b := capacity.Bounds{Slots: p.config.Cores, Room: math.Inf(1), Free: 1}
	offer := math.Inf(1)
	for i, c := range p.channels {
		room := p.room[i]
		b.Slots = min(b.Slots, max(room.Model+pods.Now, 0))
		offer = min(offer, room.Pods())
		if p.config.Channels[i].Name == CPU {
			continue
		}
		b.Free = min(b.Free, max(1-c.Usage, 0))
		if p.costKnown[i] {
			b.Room = min(b.Room, room.Pods())
		}
	}
	b.Room -= offer
	return b
}

// shortLife is the allowance a core from which the CPU that starts take counts, where a
// pod takes a quarter of its life to start: a profile holds what a workload's pods take,
// not what a node does to start and to stop them. On four cores that is any allowance.
const shortLife = .25

// predictedDemand is what was predicted of the CPU of pods that ended, weighted towards recent ones:
// how many had a confidence of at least a half, and the sums of their cores and of the squares of
// these.
type predictedDemand struct {
	Pods, Cores, Squares float64
}

func (t *predictedDemand) fade(left float64) {
	t.Pods *= left
	t.Cores *= left
	t.Squares *= left
}

func (t *predictedDemand) add(r *podRecord) {
	predicted := r.Demand.CPU
	if predicted.Confidence < .5 {
		return
	}
	cores := min(predicted.Amount, reserve.MaxCores)
	t.Pods++
	t.Cores += cores
	t.Squares += cores * cores
}

// typicalCPU returns how many cores such a pod takes if they take alike, and 0 if they don't, or
// one alone has ended.
func (t *predictedDemand) typicalCPU() float64 {
	if !(t.Pods > 1) {
		return 0
	}
	mean := t.Cores / t.Pods
	if sd := math.Sqrt(max(t.Squares/t.Pods-mean*mean, 0)); sd > reserve.TypicalCPUTolerance*mean {
		return 0
	}
	return mean
}

// livesShort reports whether pods live so short that starts count.
func (p *Pipeline) livesShort() bool {
	a := p.pace.allowance
	return a > 0 && a >= shortLife*p.config.Cores
}

// typicalCPU returns the next report's TypicalCPU.
func (p *Pipeline) typicalCPU() float64 {
	if !p.livesShort() || p.rejection != nil {
		return 0
	}
	return p.pace.predicted.typicalCPU()
}

// takes reports whether the pod takes typical CPU, as far as is known.
func (r *podRecord) takes(typicalCPU float64) bool {
	predicted := r.Demand.CPU
	return typicalCPU > 0 && (predicted.Confidence == 0 || reserve.IsTypicalCPU(predicted.Amount, typicalCPU))
}
