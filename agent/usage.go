package agent

import (
	"cmp"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// PodReading is what a pod, or one of its containers, has taken by the time of a
// reading. Times and counts are sums since its cgroup was made.
type PodReading struct {
	Pod reserve.PodKey
	// Container is the key of the container's ID, 0 for the pod as a whole.
	Container uint64
	// Age is the time since the cgroup appeared. If AgeUnknown, it was there before the
	// reader, and Age is the time since it was first seen.
	Age        time.Duration
	AgeUnknown bool
	// Ended: this is the pod's last reading.
	Ended bool
	// NoCPU: CPU, Stalled, Throttled and their periods are not known, and NoMemory: neither
	// are Memory, MemoryPeak and OOMKills. They are 0 then.
	NoCPU, NoMemory bool
	// Cores are those of the machine, by which times are bounded; 0 is not known.
	Cores float64
	// CPU is the time used, Stalled that in which a task waited for a CPU, known only
	// if Pressure, Throttled that in which a limit held it up, summed over CPUs.
	CPU, Stalled, Throttled   time.Duration
	Pressure                  bool
	Periods, ThrottledPeriods uint64
	// Memory and MemoryPeak are in bytes.
	Memory, MemoryPeak uint64
	OOMKills           uint64
	// MemoryStalled is the time in which a task waited for memory, known only if
	// MemoryPressure; it may be older than the reading.
	MemoryStalled  time.Duration
	MemoryPressure bool
}

// Window is what a pod, or one of its containers, took in a span of time. Container is
// the key of the container's ID, 0 for the pod as a whole.
type Window struct {
	Pod       reserve.PodKey
	Container uint64
	profile.Usage
}

// UsageBatch are windows on their way to a profiler. (Incarnation, Sequence) identifies one
// that was sent twice.
type UsageBatch struct {
	Node                  string
	Incarnation, Sequence uint64
	Windows               []Window
}

// Bounds of windows and batches.
const (
	// MaxWindows is how many a batch may hold. A UsageLog puts at most half as many into
	// one, for what travels is bounded in bytes too.
	MaxWindows = 512
	// MaxWindowCores bounds CPU, stalled and throttled time over the span.
	MaxWindowCores = 4096
	// DemandBuckets is the number of buckets of profile.DemandTime.
	DemandBuckets = 176
)

const (
	// windowEvery is the length of a window, except for a pod's first four and the one that
	// follows these, which lasts from half to one and a half of it.
	windowEvery = time.Minute
	// batchGap is the least time from one batch to the next. A pod's first window waits for as
	// long at most, and what it shows is to be used within 2 s.
	batchGap = time.Second
	// longestWindow is how long a window grows while the profiler is away. Then it begins anew.
	longestWindow = 10 * time.Minute
	// mostWindows bounds the pods and containers with a window. The one that was read least
	// lately goes.
	mostWindows = 4096
)

// UsageLog turns readings of pods into windows for one profiler. A window is a minute
// long, but a pod's first four are as long as it takes to the first four readings, by
// which most have all their memory, and its last one goes at once. The minutes of all
// pods end together, so that a node whose pods stay reports once a minute; when in the
// minute that is differs from node to node. One batch is under way at a time; until it
// is acknowledged the windows of each pod that follow grow together, for they are sums:
// what is kept is bounded by the pods and not by the time.
//
// It reads no clock. It is for one goroutine.
type UsageLog struct {
	node        string
	incarnation uint64
	most        int // of entries
	entries     map[windowKey]*usageEntry
	sequence    uint64
	sent        *UsageBatch   // until it is acknowledged
	next        time.Time     // no batch before
	turn        time.Time     // when the windows of all pods are due; zero before the first Take
	some        bool          // windows may be due
	due         []*usageEntry // those that are listed
	dropped     UsageDropped
}

// earlyReadings is how many of a pod go at once: at 1, 2, 5 and 10 s, as it is read.
// With fewer what it held at 2 s would stand for it until it is a minute old.
const earlyReadings = 4

// UsageDropped counts what a UsageLog has lost.
type UsageDropped struct {
	// Windows were never sent; Readings made no sense beside those before.
	Windows, Readings uint64
}

type windowKey struct {
	pod       reserve.PodKey
	container uint64
}

// usageEntry is a pod's or container's last reading and the window since.
type usageEntry struct {
	last     PodReading
	at       time.Time
	window   Window
	began    time.Time // of the window
	readings int
	// memoryStalledAt is when MemoryStalled last changed: between two readings of the
	// kernel it stays.
	memoryStalledAt time.Time
	// due: the window is to be sent. listed: the log has it among those that are, or were.
	due, listed bool
}

// NewUsageLog returns an empty log of a node's pods, whose batches have its name and the
// incarnation.
func NewUsageLog(node string, incarnation uint64) *UsageLog {
	return &UsageLog{node: node, incarnation: incarnation, most: mostWindows, entries: map[windowKey]*usageEntry{}}
}

// Dropped counts what was lost so far.
func (l *UsageLog) Dropped() UsageDropped { return l.dropped }

// Take adds the readings made at a time. One that contradicts the reading of the pod
// before, as when a counter ran backwards, is counted and makes a new beginning.
func (l *UsageLog) Take(at time.Time, readings []PodReading) {
	for i := range readings {
		l.take(at, readings[i])
	}
	if l.turn.IsZero() {
		l.turn = at.Add(l.phase())
	}
	if at.Before(l.turn) {
		return
	}
	l.turn = l.turn.Add((at.Sub(l.turn)/windowEvery + 1) * windowEvery)
	for _, p := range l.entries {
		if p.window.Span >= windowEvery/2 {
			l.setDue(p)
		}
	}
	l.some = true
}

// phase is when the node's first minute ends: agents that start together don't send
// together.
func (l *UsageLog) phase() time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(l.node))
	return time.Duration(h.Sum64() % uint64(windowEvery))
}

func (l *UsageLog) take(at time.Time, reading PodReading) {
	r := &reading
	key := windowKey{r.Pod, r.Container}
	p := l.entries[key]
	if p == nil {
		p = l.add(key, at, r)
	}
	if r.NoMemory {
		r.OOMKills = p.last.OOMKills
	}
	span := at.Sub(p.at)
	p.readings++
	if p.readings == 1 && (r.AgeUnknown || span > longestWindow) {
		// Since when it took that is not known.
		span, p.last = 0, *r
		p.restart(at)
	}
	if r.NoCPU && !p.last.NoCPU { // the next that is known covers the time since the last
		p.window.observe(r)
		l.finish(key, p, r)
		return
	}
	if p.last.NoCPU && !r.NoCPU { // since when it took that is not known
		span, p.last = 0, *r
		p.restart(at)
	}
	if !p.last.leadsTo(r, span) {
		l.dropped.Readings++
		kills := min(p.last.OOMKills, r.OOMKills)
		span, p.last = 0, *r
		p.last.OOMKills = kills
	}
	if p.window.Span+span > longestWindow {
		l.dropped.Windows++
		p.restart(p.at)
	}
	if span > longestWindow { // it was not read for that long
		span, p.last = 0, *r
	}
	p.boundMemoryStall(at, r)
	p.window.add(&p.last, r, span)
	p.last, p.at = *r, at
	l.finish(key, p, r)
}

// boundMemoryStall makes how long tasks waited for memory unknown where it runs backwards or
// grows by more than the time since it changed.
func (p *usageEntry) boundMemoryStall(at time.Time, r *PodReading) {
	if p.last.MemoryPressure && r.MemoryPressure && r.MemoryStalled == p.last.MemoryStalled {
		return
	}
	p.last.MemoryPressure = p.last.MemoryPressure && grows(p.last.MemoryStalled, r.MemoryStalled, at.Sub(p.memoryStalledAt), 1)
	p.memoryStalledAt = at
}

// finish determines when the window that a reading was added to is sent.
func (l *UsageLog) finish(key windowKey, p *usageEntry, r *PodReading) {
	if r.Ended && p.window.Span == 0 {
		delete(l.entries, key)
	}
	if p.readings <= earlyReadings || r.Ended {
		l.setDue(p)
	}
	l.some = l.some || p.due
}

// setDue has a window sent with the next batch.
func (l *UsageLog) setDue(p *usageEntry) {
	if p.due = true; !p.listed {
		p.listed, l.due = true, append(l.due, p)
	}
}

// add begins the log of a pod: with nothing taken, at its beginning.
func (l *UsageLog) add(key windowKey, at time.Time, r *PodReading) *usageEntry {
	if len(l.entries) >= l.most {
		l.forget()
	}
	born := at.Add(-max(0, r.Age))
	p := &usageEntry{at: born, last: PodReading{Pod: r.Pod, Container: r.Container, NoCPU: r.NoCPU, Pressure: true}}
	p.restart(born)
	l.entries[key] = p
	return p
}

// forget drops the pod that was read least lately.
func (l *UsageLog) forget() {
	oldest := slices.MinFunc(slices.Collect(maps.Values(l.entries)), func(a, b *usageEntry) int {
		return cmp.Or(a.at.Compare(b.at), a.compareKey(b))
	})
	delete(l.entries, oldest.key())
	l.dropped.Windows++
}

func (p *usageEntry) key() windowKey { return windowKey{p.last.Pod, p.last.Container} }

func (p *usageEntry) compareKey(q *usageEntry) int {
	return cmp.Or(cmp.Compare(p.last.Pod, q.last.Pod), cmp.Compare(p.last.Container, q.last.Container))
}

// restart begins a window.
func (p *usageEntry) restart(at time.Time) {
	p.window = Window{Pod: p.last.Pod, Container: p.last.Container, Usage: profile.Usage{Demand: p.window.Demand[:0]}}
	p.began, p.due = at, false
}

// leadsTo reports whether r may follow p after a span: CPU time doesn't run backwards, and
// grows no faster than on all of the machine's cores.
func (p *PodReading) leadsTo(r *PodReading, span time.Duration) bool {
	return span >= 0 && r.Age >= 0 && grows(p.CPU, r.CPU, span, r.cores())
}

// cores are the most that a pod can have kept busy.
func (r *PodReading) cores() float64 {
	if r.Cores > 0 {
		return min(r.Cores, MaxWindowCores)
	}
	return MaxWindowCores
}

// grows reports whether a sum of time, of so many tasks or cores at once, may grow so in a
// span.
func grows(before, after, span time.Duration, most float64) bool {
	_, err := energy.GrownTime(before, after, span, most)
	return err == nil
}

// waited reports whether it is known how long a task waited for a CPU between two readings.
// That is wall time, which cannot grow by more than the span. What a limit held up is part
// of it and is taken off, so that has to be known too.
func (r *PodReading) waited(from *PodReading, span time.Duration) bool {
	return r.Pressure && from.Pressure && grows(from.Stalled, r.Stalled, span, 1) && r.limited(from, span)
}

// shortestPeriod is the shortest period of a CPU limit that the kernel allows.
const shortestPeriod = time.Millisecond

// limited reports whether it is known what a limit held up between two readings.
func (r *PodReading) limited(from *PodReading, span time.Duration) bool {
	most := uint64((span + energy.Lateness) / shortestPeriod)
	return grows(from.Throttled, r.Throttled, span, r.cores()) &&
		r.Periods >= from.Periods && r.Periods-from.Periods <= most &&
		r.ThrottledPeriods >= from.ThrottledPeriods && r.ThrottledPeriods-from.ThrottledPeriods <= most
}

// observe takes what a reading shows whatever the one before.
func (w *Window) observe(r *PodReading) {
	w.Age, w.Ended = r.Age, r.Ended
	w.Memory, w.MemoryPeak = max(w.Memory, bytesOf(r.Memory)), max(w.MemoryPeak, bytesOf(r.MemoryPeak), bytesOf(r.Memory))
}

// add makes the window longer by what was taken between two readings.
func (w *Window) add(from, to *PodReading, span time.Duration) {
	w.observe(to)
	first := w.Span == 0
	w.Span += span
	if w.NoCPU = to.NoCPU; w.NoCPU {
		return
	}
	cpu := (to.CPU - from.CPU).Seconds()
	w.CPU += min(cpu, to.cores()*span.Seconds())
	w.OOMKills = addCount(w.OOMKills, to.OOMKills-min(from.OOMKills, to.OOMKills))
	stalled, throttled, held := 0., 0., uint32(0)
	if to.limited(from, span) {
		throttled, held = min((to.Throttled-from.Throttled).Seconds(), to.cores()*span.Seconds()), uint32(to.ThrottledPeriods-from.ThrottledPeriods)
		w.Periods, w.ThrottledPeriods = addCount(w.Periods, to.Periods-from.Periods), addCount(w.ThrottledPeriods, uint64(held))
	}
	known := span == 0 && to.Pressure || to.waited(from, span)
	if known {
		stalled = min(max(to.Stalled-from.Stalled, 0), span).Seconds()
	}
	w.Pressure = known && (first || w.Pressure)
	w.Stalled, w.Throttled = w.Stalled+stalled, w.Throttled+throttled
	if from.MemoryPressure && to.MemoryPressure {
		w.MemoryStalled, w.MemoryPressure = w.MemoryStalled+min((to.MemoryStalled-from.MemoryStalled).Seconds(), MaxWindowCores*span.Seconds()), true
	}
	if millis := span.Milliseconds(); millis > 0 {
		w.addDemand(DemandBucket((cpu+profile.Waited(stalled, throttled, held))/span.Seconds()), uint32(millis))
	}
}

// addDemand counts a span in which the demand was in a bucket.
func (w *Window) addDemand(bucket, millis uint32) {
	i, found := slices.BinarySearchFunc(w.Demand, bucket, func(d profile.DemandTime, b uint32) int { return cmp.Compare(d.Bucket, b) })
	if !found {
		w.Demand = slices.Insert(w.Demand, i, profile.DemandTime{Bucket: bucket})
	}
	w.Demand[i].Millis = addCount(w.Demand[i].Millis, uint64(millis))
}

// DemandBucket is the bucket of a demand in cores.
func DemandBucket(cores float64) uint32 {
	const first, ratio = .01, 1.05
	if !(cores >= first) {
		return 0
	}
	return uint32(min(math.Log(cores*(ratio-1)/first+1)/math.Log(ratio), DemandBuckets-1))
}

// addCount adds up to the largest number.
func addCount(a uint32, b uint64) uint32 {
	return uint32(min(uint64(a)+min(b, math.MaxUint32), math.MaxUint32))
}

// bytesOf bounds what the wire does.
func bytesOf(b uint64) float64 { return float64(min(b, 1<<50)) }

// Batch returns the batch to send at a time; ok is false while there is none, or one
// waits to be acknowledged. The windows in it are the receiver's.
func (l *UsageLog) Batch(at time.Time) (b UsageBatch, ok bool) {
	if !l.some || l.sent != nil || at.Before(l.next) {
		return UsageBatch{}, false
	}
	due, empty := l.allDue()
	fit := batchable(due)
	l.due = append(due[fit:len(due):len(due)], empty...)
	if l.some = fit < len(due); fit == 0 {
		return UsageBatch{}, false
	}
	due = due[:fit]
	l.sequence++
	b = UsageBatch{Node: l.node, Incarnation: l.incarnation, Sequence: l.sequence, Windows: windowsOf(due)}
	for _, p := range due {
		p.listed = false
		if p.window.Ended {
			delete(l.entries, p.key())
			continue
		}
		p.restart(p.at)
	}
	l.sent, l.next = &b, at.Add(batchGap)
	return b, true
}

// allDue returns the entries with a window that is due, those that began first ahead, and those of
// which it is empty: the others are no longer listed.
func (l *UsageLog) allDue() (due, empty []*usageEntry) {
	for _, p := range l.due {
		switch {
		case !p.due || l.entries[p.key()] != p:
			p.listed = false
		case p.window.Span > 0:
			due = append(due, p)
		default:
			empty = append(empty, p)
		}
	}
	slices.SortFunc(due, func(a, b *usageEntry) int { return cmp.Or(a.began.Compare(b.began), a.compareKey(b)) })
	return due, empty
}

// windowsOf returns the windows of entries, with copies of their demands that are one object.
func windowsOf(due []*usageEntry) []Window {
	demands := 0
	for _, p := range due {
		demands += len(p.window.Demand)
	}
	windows, demand := make([]Window, len(due)), make([]profile.DemandTime, 0, demands)
	for i, p := range due {
		begin := len(demand)
		demand = append(demand, p.window.Demand...)
		windows[i] = p.window
		windows[i].Demand = demand[begin:len(demand):len(demand)]
	}
	return windows
}

const (
	// mostBatchBytes is less than the 64 KiB that a batch may have on the wire.
	mostBatchBytes = 60 << 10
	// windowBytes and demandBytes are the most that a window takes there, and each of
	// its demands.
	windowBytes, demandBytes = 146, 7
)

// batchable is how many of the first windows a batch has room for.
func batchable(due []*usageEntry) int {
	bytes := 0
	for i, p := range due {
		if bytes += windowBytes + demandBytes*len(p.window.Demand); bytes > mostBatchBytes || i >= MaxWindows/2 {
			return i
		}
	}
	return len(due)
}

// Unacknowledged returns the batch that was sent last and not acknowledged, for a new
// stream to begin with.
func (l *UsageLog) Unacknowledged() (b UsageBatch, ok bool) {
	if l.sent == nil {
		return UsageBatch{}, false
	}
	return *l.sent, true
}

// Acknowledge takes the profiler's word that it has a batch. It reports whether that was
// the one under way; any other is ignored.
func (l *UsageLog) Acknowledge(incarnation, sequence uint64) bool {
	if l.sent == nil || incarnation != l.sent.Incarnation || sequence != l.sent.Sequence {
		return false
	}
	l.sent = nil
	return true
}

// Quiet reports whether nothing is under way or due, nor will be when a pod that is known is
// read next: before the minute ends, only a pod that begins or ends has something to say.
func (l *UsageLog) Quiet() bool {
	if l.sent != nil {
		return false
	}
	for _, p := range l.entries {
		if p.readings < earlyReadings || p.due && p.window.Span > 0 {
			return false
		}
	}
	return true
}
