package agent

import (
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Misprediction is a pod that was measured to take far more, or far less, than was predicted
// of it. A ratio is measured over predicted, 0 where nothing was predicted, where a young pod may
// take more yet, and where the same pod's was reported before as far off.
type Misprediction struct {
	Pod                   reserve.PodKey
	CPURatio, MemoryRatio float64
}

// Contradicts reports whether the pod would also have been a misprediction if another demand had been
// predicted of it. The ratios are of the predicted one. A prediction may be corrected while pods that it was
// made for still run; these say nothing against the correction.
func (m Misprediction) Contradicts(predicted, other profile.Demand) bool {
	return contradicts(m.CPURatio, predicted.CPU, other.CPU) || contradicts(m.MemoryRatio, predicted.Memory, other.Memory)
}

func contradicts(ratio float64, predicted, other profile.Share) bool {
	if !(ratio > 0 && predicted.Amount > 0 && other.Confidence > 0 && other.Amount > 0) {
		return false
	}
	measured := ratio * predicted.Amount
	by := measured / other.Amount
	more, less := min(ratio, by) >= mispredictedMore, max(ratio, by) <= mispredictedLess
	return (more || less) && math.Abs(measured-other.Amount) >= mispredictedSDs*other.SD
}

// madeMisprediction is a Misprediction and when it was found.
type madeMisprediction struct {
	At time.Time
	Misprediction
}

const (
	// firstReading is the age from which a reading shows what a pod takes.
	firstReading = time.Second
	// rememberedReadings is how many readings the mean of a pod's demand spans: a
	// minute of them.
	rememberedReadings = 6
	// memoryFade is in which half of what was predicted of a pod's memory is given up if it
	// is not seen to take it.
	memoryFade = 10 * time.Minute
	// mispredictedMore and mispredictedLess are the ratios of a misprediction, and settledAge the
	// age from which a pod that takes less is one, doneAge where it has ended: one that
	// lived for less has not shown what others take. What is less than mispredictedLeast
	// of the channel, or than mispredictedSDs predicted deviations between pods, is no
	// misprediction: where pods of a workload differ, one that does was to be expected.
	mispredictedMore  = 1.5
	mispredictedLess  = 2. / 3
	mispredictedSDs   = 2
	settledAge        = time.Minute
	doneAge           = 10 * time.Second
	mispredictedLeast = .01
	// killedRatio and killedBytes are by how much a pod that was killed for want of memory is
	// expected to exceed its peak: VPA's oom-bump-up-ratio and oom-min-bump-up-bytes.
	killedRatio = 1.2
	killedBytes = 100 << 20
	// mispredictedKept is for how long reports carry a misprediction: any may be lost.
	mispredictedKept = 5 * time.Second
	// MaxMispredictions bounds those of a report, MaxMisprediction the ratio of one.
	MaxMispredictions = 64
	MaxMisprediction  = 1e6
	// MaxRoom bounds a room, whatever pods are predicted to take, in times the channel.
	MaxRoom = 1000
)

// podUse is what a pod was measured to take.
type podUse struct {
	// Readings is the number of spans between readings so far, and Cores their mean
	// demand: time used and, where it is known, waited.
	Readings int
	Cores    float64
	// Peak is the most memory seen, in bytes. KilledAt is when the kernel was last seen to have ended a
	// process of the pod for want of memory: the pod may need more than Peak. It is zero if that never
	// happened, or once the pod has run for long since. Kills counts these processes.
	Peak     float64
	KilledAt time.Time `json:",omitzero"`
	Kills    uint64    `json:",omitzero"`
	// At is the newest reading's time, Total the CPU time used up to it and Stalled the
	// time waited, negative where that is not known.
	At      time.Time `json:",omitzero"`
	Total   time.Duration
	Stalled time.Duration `json:",omitzero"`
	// Mispredicted reports that it was a Misprediction, and Open of which resources it was none and may
	// be one yet: each is reported once.
	Mispredicted bool                    `json:"Surprised"`
	Open         [reserve.Resources]bool `json:",omitzero"`
}

// observe takes in a reading on a machine of so many cores; it reports whether there was
// news. A span in which the pod cannot have taken what a reading shows is not known.
func (u *podUse) observe(at time.Time, r *PodReading, cores float64) bool {
	if r.Age < firstReading && !r.Ended {
		return false
	}
	u.Peak = max(u.Peak, bytesOf(r.MemoryPeak), bytesOf(r.Memory))
	if !r.NoMemory {
		if r.OOMKills > u.Kills {
			u.KilledAt = at
		}
		u.Kills = r.OOMKills
	}
	if r.NoCPU {
		return true
	}
	span, before := at.Sub(u.At), *u
	if u.At.IsZero() {
		span = r.Age
		if r.AgeUnknown { // since when it took that is not known
			span = 0
		}
	}
	u.At, u.Total, u.Stalled = at, r.CPU, r.Stalled
	if !r.Pressure {
		u.Stalled = -1
	}
	if span <= 0 || !grows(before.Total, r.CPU, span, cores) {
		return true
	}
	used := r.CPU - before.Total
	if r.Pressure && before.Stalled >= 0 && grows(before.Stalled, r.Stalled, span, 1) {
		used += min(r.Stalled-before.Stalled, span)
	}
	u.Readings++
	demand := min(used.Seconds()/span.Seconds(), cores+1, MaxWindowCores)
	u.Cores += (demand - u.Cores) / float64(min(u.Readings, rememberedReadings))
	return true
}

// killed reports whether the pod may need more memory than its peak.
func (u *podUse) killed() bool { return !u.KilledAt.IsZero() }

// memory is what the pod is known to need, in bytes, by its peak. After a kill for want of
// memory it is more by the rule of VPA's recommender.
func (u *podUse) memory() float64 {
	if u.killed() && u.Peak > 0 {
		return max(killedRatio*u.Peak, u.Peak+killedBytes)
	}
	return u.Peak
}

// recovered reports whether the pod has run for long since a process of it was killed. If its own limit
// killed it, it cannot take more than its peak.
func (r *podRecord) recovered(at time.Time) bool {
	since := r.Use.KilledAt
	if r.ResumedAt.After(since) {
		since = r.ResumedAt
	}
	return r.State == PodRunning && at.Sub(since) >= memoryFade
}

// settled reports whether the pod would not have taken more, had it lived on: it was
// not killed, and old enough.
func (r *PodReading) settled() bool {
	return r.Age >= settledAge || r.Ended && r.Age >= doneAge && r.OOMKills == 0
}

// isOpen reports whether the pod may become a Misprediction of a resource.
func (u *podUse) isOpen(resource reserve.Resource) bool { return !u.Mispredicted || u.Open[resource] }

// misprediction finds the resources of which the pod takes something else than was predicted.
func (r *podRecord) misprediction(reading *PodReading, units [reserve.Resources]float64) (s Misprediction, of [reserve.Resources]bool) {
	s.Pod = r.Key
	ratio := func(resource reserve.Resource, predicted profile.Share, measured float64) float64 {
		if !(predicted.Confidence > 0 && predicted.Amount > 0) || !r.Use.isOpen(resource) {
			return 0
		}
		by := measured / predicted.Amount
		more := by >= mispredictedMore
		less := by <= mispredictedLess && reading.settled()
		off := math.Abs(measured - predicted.Amount)
		of[resource] = (more || less) && off*units[resource] >= mispredictedLeast && off >= mispredictedSDs*predicted.SD
		if by < 1 && !reading.settled() {
			return 0 // it may take more yet, so nothing contradicts the profile
		}
		return min(by, MaxMisprediction)
	}
	if r.Use.Readings > 0 {
		s.CPURatio = ratio(reserve.CPU, r.Demand.CPU, r.Use.Cores)
	}
	if r.Use.Peak > 0 {
		s.MemoryRatio = ratio(reserve.Memory, r.Demand.Memory, r.Use.Peak)
	}
	return s, of
}

// Usage takes readings of pods. What a pod takes follows from them, not from what
// was predicted of it, the more there are of them; those of containers are ignored.
func (p *Pipeline) Usage(at time.Time, readings []PodReading) {
	at = at.UTC()
	units := [reserve.Resources]float64{}
	for i := range p.config.Channels {
		if resource, unit := p.unit(i); unit > 0 {
			units[resource] = unit
		}
	}
	for i := range readings {
		reading := &readings[i]
		if reading.Container != 0 || reading.Age < 0 {
			continue
		}
		r := p.pods.find(reading.Pod)
		if r == nil {
			continue
		}
		killed := r.Use.killed()
		news := r.Use.observe(at, reading, p.config.Cores)
		if r.Use.killed() && r.recovered(at) {
			r.Use.KilledAt = time.Time{}
		}
		if r.Use.killed() != killed {
			p.pods.count()
		}
		if !news {
			continue
		}
		if s, of := r.misprediction(reading, units); of != [reserve.Resources]bool{} && len(p.mispredictions) < MaxMispredictions {
			for resource, is := range of {
				r.Use.Open[resource] = !is && r.Use.isOpen(reserve.Resource(resource))
			}
			r.Use.Mispredicted = true
			p.mispredictions = append(p.mispredictions, madeMisprediction{at, s})
		}
	}
}

// recentMispredictions returns the mispredictions of a report, nil for none.
func (p *Pipeline) recentMispredictions(at time.Time) []Misprediction {
	p.mispredictions = slices.DeleteFunc(p.mispredictions, func(s madeMisprediction) bool { return at.Sub(s.At) >= mispredictedKept })
	var recent []Misprediction
	for _, s := range p.mispredictions {
		recent = append(recent, s.Misprediction)
	}
	return recent
}

// unit is the share of a channel that a core, or a byte, is, and which of them; 0
// for a channel of neither.
func (p *Pipeline) unit(channel int) (reserve.Resource, float64) {
	switch ch := &p.config.Channels[channel]; ch.Name {
	case CPU:
		return reserve.CPU, p.coreShare()
	case Memory:
		return reserve.Memory, 1 / ch.Size
	}
	return 0, 0
}

// coreShare is what a busy core adds to the CPU's usage. With all cores busy and
// no task waiting it is a half, for the other half is waiting tasks.
func (p *Pipeline) coreShare() float64 {
	if p.config.NoPressure {
		return 1 / p.config.Cores
	}
	return 1 / (2 * p.config.Cores)
}

// predicted returns what was predicted of a pod in a channel.
func (r *podRecord) predicted(resource reserve.Resource, unit float64) profile.Share {
	switch {
	case unit == 0:
		return profile.Share{}
	case resource == reserve.CPU:
		return r.Demand.CPU
	}
	return r.Demand.Memory
}

// knows reports whether anything was predicted of the pod, or its memory found too little.
func (r *podRecord) knows() bool {
	return r.Demand.CPU.Confidence > 0 || r.Demand.Memory.Confidence > 0 || r.Use.killed()
}

// loaded reports whether the pod's load was in the usage at a time a moment ago.
func (r *podRecord) loaded(at time.Time) bool {
	if r.Since.After(at) {
		return !r.Loads
	}
	return r.Loads
}

// expected is the share that the pod is expected to take, where before any reading
// was predicted: measured as far as it was.
func (r *podRecord) expected(resource reserve.Resource, unit, predicted float64, at time.Time) float64 {
	switch {
	case unit == 0:
	case resource == reserve.CPU && r.Use.Readings > 0:
		n := float64(r.Use.Readings)
		return (predicted + n*unit*r.Use.Cores) / (1 + n)
	case resource == reserve.Memory && r.Use.Peak > 0:
		age := at.Sub(r.RanAt)
		return max(min(unit*r.Use.memory(), 1), predicted*math.Exp2(-age.Seconds()/memoryFade.Seconds()))
	}
	return predicted
}

// known sums up what is known of the pods in a channel, nothing where none is known:
// how many they are now and were when the usage was taken, and what they take. Those
// that take typical CPU count as typical ones, as if nothing were known of them, and to
// the CPU all do where pods live short: what starting them takes is known of none.
func (p *Pipeline) known(channel int, at time.Time) (k capacity.Profiled, measured float64) {
	if p.pods.known == 0 && len(p.pods.ended) == 0 {
		return capacity.Profiled{}, 0
	}
	resource, unit := p.unit(channel)
	if unit > 0 && resource == reserve.CPU && p.livesShort() {
		return capacity.Profiled{}, 0
	}
	then, typicalCPU := at.Add(-p.config.Settle), p.typicalCPU()
	add := func(r *podRecord, now bool) {
		share := r.predicted(resource, unit)
		switch {
		case unit > 0 && resource == reserve.Memory && r.Use.killed():
			share.Confidence = 1 // it needs what it was measured to, at least
		case !(share.Confidence > 0) || r.takes(typicalCPU):
			return
		}
		takes := share.Confidence * r.expected(resource, unit, unit*share.Amount, at)
		loaded := r.loaded(then)
		if now {
			k.Now += share.Confidence
			k.Usage += takes
		}
		if loaded {
			k.Measured += share.Confidence
			measured += takes
		}
		switch {
		case now && !loaded:
			k.PendingUsage += takes
		case loaded && !now:
			k.PendingUsage -= takes
		}
	}
	for i := range p.pods.records {
		if r := &p.pods.records[i]; r.knows() {
			add(r, r.counts())
		}
	}
	for i := range p.pods.ended {
		if e := &p.pods.ended[i]; e.At.After(then) {
			add(&e.podRecord, false)
		}
	}
	return k, measured
}

// rooms fills in a report's room in each channel. left is the less of
// what the usage leaves, with the pods that it does not show yet and those it shows
// still, and of what the estimate of the capacity leaves beside the pods that run.
func (p *Pipeline) rooms(at time.Time, allowance float64, channels []ChannelReport) {
	then := at.Add(-p.config.Settle)
	for i := range channels {
		c, room := &p.channels[i], &channels[i]
		resource, unit := p.unit(i)
		typical := c.Room(capacity.Pods{}, p.config.Avail.AvailOptions).Cost
		expected := func(r *podRecord) float64 {
			share := r.predicted(resource, unit)
			predicted := share.Confidence*unit*share.Amount + (1-share.Confidence)*typical
			return r.expected(resource, unit, predicted, at)
		}
		coming, running, mean := 0., 0., typical
		for j := range p.pods.records {
			r := &p.pods.records[j]
			if !r.counts() {
				continue
			}
			e := expected(r)
			running += e
			if !r.loaded(then) {
				coming += e
			}
		}
		for j := range p.pods.ended {
			if e := &p.pods.ended[j]; e.At.After(then) && e.loaded(then) {
				coming -= expected(&e.podRecord)
			}
		}
		if p.pods.counted > 0 {
			mean = running / float64(p.pods.counted)
		}
		most := max(c.Capacity-c.Reserve, 0)
		room.Most = min(most, 1-c.Reserve)
		left := min(1-c.Usage-c.Reserve-coming, most-running, room.Most)
		room.Room, room.StartupAllowance = max(min(left, MaxRoom), -MaxRoom), min(allowance*mean, MaxRoom)
		room.Unit, room.PodSD = unit, c.PodSD
	}
}

// DemandOf is what a pod asks a node for of which that much is known, with the
// rules' spread φ. A demand that does not validate is that of a typical pod.
func DemandOf(d profile.Demand, r reserve.Rules) reserve.Demand {
	if d.Validate() != nil {
		return reserve.TypicalPod()
	}
	spread := r.WithDefaults().Spread
	asks := reserve.TypicalPod()
	for i, of := range [reserve.Resources]struct {
		profile.Share
		least, most float64
	}{
		reserve.CPU:    {d.CPU, 1e-6, reserve.MaxCores},
		reserve.Memory: {d.Memory, 1, reserve.MaxBytes},
	} {
		if of.Confidence == 0 {
			continue
		}
		amount := min(of.Amount, of.most)
		asks.Typical[i] = 1 - of.Confidence
		asks.Amount[i] = max(of.Confidence*amount, of.least)
		asks.Var[i] = min(of.Confidence*(of.SD*of.SD+spread*spread*amount*amount), of.most*of.most)
	}
	if d.CPU.Confidence >= .5 {
		asks.Cores = min(d.CPU.Amount, reserve.MaxCores)
	}
	return asks
}
