package agent

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// DefaultStartup stands for the start-up time until one was measured: the
	// median that the thesis gives (§3.4.1).
	DefaultStartup = time.Second
	// startupGain forgets a start-up after some ten others, and startupMost, in
	// multiples of the mean, keeps one pull of an image from counting as a
	// hundred starts.
	startupGain = .1
	startupMost = 4
	// wayMost and wayForget bound the pods whose start is awaited.
	wayMost   = 1024
	wayForget = time.Minute
)

// paceLog measures how pods come and go.
type paceLog struct {
	at      time.Time // Ends and Lived are as of then
	pace    capacity.Pace
	running int
	way     []BoundPod // by time
}

// advance brings the decaying sums to the given time. Ends and time lived fade
// alike: a node that rests keeps its run time and gets less sure of it.
func (l *paceLog) advance(at time.Time, halfLife time.Duration) {
	if dt := at.Sub(l.at); !l.at.IsZero() && dt > 0 {
		halves := dt.Seconds() / halfLife.Seconds()
		left := math.Exp2(-halves)
		l.pace.Ends *= left
		// The time lived in dt fades, too, from when it was lived.
		l.pace.Lived = l.pace.Lived*left + float64(l.running)*(1-left)*halfLife.Seconds()/math.Ln2
	}
	if at.After(l.at) {
		l.at = at
	}
}

// changed takes the pods that ran and those that run, both ascending.
func (l *paceLog) changed(at time.Time, before, after []reserve.PodKey) {
	l.running = len(after)
	for _, pod := range before {
		if _, runs := slices.BinarySearch(after, pod); !runs {
			l.pace.Ends++
		}
	}
	l.way = slices.DeleteFunc(l.way, func(b BoundPod) bool {
		_, runs := slices.BinarySearch(after, b.Pod)
		if runs {
			l.started(at.Sub(b.At).Seconds())
		}
		return runs || at.Sub(b.At) >= wayForget
	})
}

func (l *paceLog) started(startup float64) {
	mean := l.startup()
	l.pace.Startup = mean + startupGain*(min(max(startup, 0), startupMost*mean)-mean)
}

// startup is L in seconds.
func (l *paceLog) startup() float64 {
	if l.pace.Startup == 0 {
		return DefaultStartup.Seconds()
	}
	return l.pace.Startup
}

// Bound says that a scheduler has bound the pod to this node: a container is
// about to start, and how long that takes is measured. A pod that runs already
// is no news.
func (p *Pipeline) Bound(at time.Time, pod reserve.PodKey) {
	if _, runs := slices.BinarySearch(p.pods.keys, pod); runs {
		return
	}
	p.Churn(at)
	l := &p.pace
	if len(l.way) < wayMost && !slices.ContainsFunc(l.way, func(b BoundPod) bool { return b.Pod == pod }) {
		l.way = append(l.way, BoundPod{pod, at})
	}
}

// pacing is the pace with the start-up time that holds.
func (p *Pipeline) pacing() capacity.Pace {
	pace := p.pace.pace
	pace.Startup = p.pace.startup()
	return pace
}

// allow returns the allowance for p.channels and marks the CPU where its load is
// fleeting.
func (p *Pipeline) allow(pods capacity.Pods) (float64, error) {
	pace, bounds := p.pacing(), p.bounds(pods)
	p.slots = bounds.Slots
	for i := range p.channels {
		c := &p.channels[i]
		c.Fleeting = p.config.Channels[i].Name == CPU && p.config.Allowance.MostPerSlot >= 0 && pace.Fleeting()
	}
	allowance, err := capacity.StartupAllowance(pace, bounds, p.config.Allowance)
	if err != nil {
		return 0, fmt.Errorf("agent: allowance: %w", err)
	}
	return allowance, nil
}

// bounds says what an allowance has to fit in. Pods share the CPU as they come
// and go; what they take of other channels they hold, so there the allowance gets
// what the offer leaves.
func (p *Pipeline) bounds(pods capacity.Pods) capacity.Bounds {
	// No more slots than cores: as long as cores are idle pressure is missing,
	// which makes up half of the channel, and a pod seems to take half a core.
	b := capacity.Bounds{Slots: p.config.Cores, Room: math.Inf(1), Free: 1}
	offer := math.Inf(1)
	for i, c := range p.channels {
		room := c.Room(pods, p.config.Avail)
		b.Slots = min(b.Slots, max(room.Model+pods.Now, 0))
		offer = min(offer, room.Pods())
		if p.config.Channels[i].Name == CPU {
			continue
		}
		b.Free = min(b.Free, max(1-c.Usage, 0))
		if p.known[i] {
			b.Room = min(b.Room, room.Pods())
		}
	}
	b.Room -= offer
	return b
}
