package recording

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Kind is what a Record is.
type Kind uint8

// The kinds of records; the package doc has their bodies.
const (
	KindHeader Kind = iota + 1
	KindSnapshot
	KindSample
	KindPods
	KindChurn
	KindFleet
	KindReport
	KindDropped
	KindGap
	KindMark
	KindBound
	KindSizes
	KindUsage
	KindPower
	KindPodPower
	KindPlaceholders
)

var kinds = [...]string{
	KindHeader: "header", KindSnapshot: "snapshot", KindSample: "sample", KindPods: "pods", KindChurn: "churn",
	KindFleet: "fleet", KindReport: "report", KindDropped: "dropped", KindGap: "gap", KindMark: "mark", KindBound: "bound", KindSizes: "sizes",
	KindUsage: "usage", KindPower: "power", KindPodPower: "pod-power", KindPlaceholders: "placeholders",
}

func (k Kind) String() string {
	if k > 0 && int(k) < len(kinds) {
		return kinds[k]
	}
	return "unknown"
}

// Record is one entry of a recording. Kind determines which fields mean anything. Its
// slices may be shared with later records and must not be modified.
type Record struct {
	Kind Kind
	// At is the time of every kind but header; of a report the time of its
	// newest sample, of a snapshot that of the newest sample before it.
	At time.Time
	// Header and State are set for a header and a snapshot.
	Header *Header
	State  *agent.State
	// Values is the sample, or the sizes, one value a channel.
	Values []float64
	// Pods are all pods on the node, ascending; Bind is the notice of one.
	Pods []agent.Pod
	Bind agent.Bind
	// Placeholders are the pods that a scheduler named as such.
	Placeholders []reserve.PodKey
	// Readings are those of pods, of which a pipeline takes no more than is kept: no
	// containers, and neither throttling nor kills.
	Readings []agent.PodReading
	// Power is the node's, and PodPower what pods took of it.
	Power    energy.Power
	PodPower []agent.PodPower
	// Fleet and Report are set for these kinds.
	Fleet  *agent.Fleet
	Report *agent.Report
	// Text is the reason of a dropped sample or the remark of a mark.
	Text string
	// Lost is how many records are missing in a gap.
	Lost uint64
}

// maxText bounds the text of dropped and mark.
const maxText = 256

func appendText(dst []byte, k Kind, at time.Time, text string) []byte {
	return appendString(appendTime(append(dst, byte(k)), at), text[:min(len(text), maxText)])
}

func appendValues(dst []byte, k Kind, at time.Time, v []float64) []byte {
	return appendFloats(appendTime(append(dst, byte(k)), at), v)
}

// appendPods encodes what distinguishes next from last; both ascend.
func appendPods(dst []byte, at time.Time, last, next []agent.Pod) []byte {
	dst = appendTime(append(dst, byte(KindPods)), at)
	gone, new := uint64(0), uint64(0)
	differ(last, next, func(agent.Pod) { gone++ }, func(agent.Pod) { new++ })
	dst = appendUint(dst, gone)
	differ(last, next, func(p agent.Pod) { dst = appendKey(dst, p.Key) }, func(agent.Pod) {})
	dst = appendUint(dst, new)
	differ(last, next, func(agent.Pod) {}, func(p agent.Pod) {
		dst = appendUint(append(appendKey(dst, p.Key), byte(p.State)), uint64(p.Starts))
	})
	return dst
}

// differ visits the pods of last that next lacks, and those of next that last
// lacks or has otherwise.
func differ(last, next []agent.Pod, gone, changed func(agent.Pod)) {
	for _, p := range next {
		for len(last) > 0 && last[0].Key < p.Key {
			gone(last[0])
			last = last[1:]
		}
		if len(last) > 0 && last[0].Key == p.Key {
			if last[0] != p {
				changed(p)
			}
			last = last[1:]
			continue
		}
		changed(p)
	}
	for _, p := range last {
		gone(p)
	}
}

func appendBind(dst []byte, at time.Time, b agent.Bind) []byte {
	dst = appendKey(appendTime(append(dst, byte(KindBound)), at), b.Pod)
	dst = appendUint(appendBool(dst, b.InitsKnown && b.Inits >= 0), uint64(max(b.Inits, 0)))
	if b.Demand == (profile.Demand{}) {
		return dst
	}
	for _, s := range [...]profile.Share{b.Demand.CPU, b.Demand.Memory} {
		dst = appendFloat(appendFloat(appendFloat(dst, s.Amount), s.SD), s.Confidence)
	}
	return dst
}

// Bits of a reading.
const (
	bitOlder = 1 << iota
	bitEnded
	bitPressure
	bitNoCPU
	bitNoMemory
)

func appendUsage(dst []byte, at time.Time, readings []agent.PodReading) []byte {
	dst = appendTime(append(dst, byte(KindUsage)), at)
	pods := uint64(0)
	for i := range readings {
		if readings[i].Container == 0 {
			pods++
		}
	}
	dst = appendUint(dst, pods)
	for i := range readings {
		r := &readings[i]
		if r.Container != 0 {
			continue
		}
		bits := byte(0)
		for i, set := range [...]bool{r.AgeUnknown, r.Ended, r.Pressure, r.NoCPU, r.NoMemory} {
			if set {
				bits |= 1 << i
			}
		}
		dst = append(appendKey(dst, r.Pod), bits)
		for _, d := range [...]time.Duration{r.Age, r.CPU, r.Stalled} {
			dst = appendUint(dst, uint64(d))
		}
		dst = appendUint(appendUint(dst, r.Memory), r.MemoryPeak)
	}
	return dst
}

func (b *body) readings() []agent.PodReading {
	return list(b, 14, func() agent.PodReading {
		r := agent.PodReading{Pod: b.key()}
		bits := b.byte()
		r.AgeUnknown, r.Ended, r.Pressure = bits&bitOlder != 0, bits&bitEnded != 0, bits&bitPressure != 0
		r.NoCPU, r.NoMemory = bits&bitNoCPU != 0, bits&bitNoMemory != 0
		r.Age, r.CPU, r.Stalled = time.Duration(b.uint()), time.Duration(b.uint()), time.Duration(b.uint())
		r.Memory, r.MemoryPeak = b.uint(), b.uint()
		return r
	})
}

func appendPower(dst []byte, p energy.Power) []byte {
	for _, f := range [...]float64{p.Watts, p.SD, p.Max, p.Idle, p.Marginal, p.Busy, p.Cores, p.Joules} {
		dst = appendFloat(dst, f)
	}
	return appendUint(append(dst, byte(p.Quality)), uint64(p.Flags))
}

func (b *body) power() (p energy.Power) {
	for _, f := range [...]*float64{&p.Watts, &p.SD, &p.Max, &p.Idle, &p.Marginal, &p.Busy, &p.Cores, &p.Joules} {
		*f = b.float()
	}
	p.Quality = energy.Quality(b.byte())
	flags := b.uint()
	if flags > math.MaxUint32 {
		b.fail()
	}
	p.Flags = energy.Flags(flags)
	return p
}

func appendPodPower(dst []byte, at time.Time, pods []agent.PodPower) []byte {
	dst = appendUint(appendTime(append(dst, byte(KindPodPower)), at), uint64(len(pods)))
	for _, p := range pods {
		dst = appendFloat32(appendFloat32(appendKey(dst, p.Pod), p.Cores), p.Watts)
	}
	return dst
}

func (b *body) podPower() []agent.PodPower {
	return list(b, 16, func() agent.PodPower {
		return agent.PodPower{Pod: b.key(), Cores: b.float32(), Watts: b.float32()}
	})
}

func (b *body) demand() (d profile.Demand) {
	for _, s := range [...]*profile.Share{&d.CPU, &d.Memory} {
		s.Amount, s.SD, s.Confidence = b.float(), b.float(), b.float()
	}
	return d
}

// Bits of a report.
const (
	bitSaturated = 1 << iota
	bitChurn
	bitCostUnknown
	bitNoPressure
	bitWarmingUp
	bitAbsorbed
	bitFloored
	bitRooms
)

// appendReport encodes r; known are the pods that the reader expects in it.
func appendReport(dst []byte, r *agent.Report, known []reserve.PodKey) []byte {
	dst = appendString(append(dst, byte(KindReport)), r.Node)
	dst = appendTime(appendUint(appendUint(dst, r.Incarnation), r.Sequence), r.SampledAt)
	dst = appendFloat(appendFloat(appendString(dst, r.Schema), r.Avail), r.Allowance)
	dst = appendUint(appendString(appendFloat(dst, r.K), r.Limiting), uint64(len(r.Channels)))
	for i := range r.Channels {
		c := &r.Channels[i]
		dst = appendFloat(appendFloat(appendString(dst, c.Name), c.Usage), c.Capacity)
		dst = appendFloat(appendFloat(dst, c.Cost), c.CostSD)
	}
	absorbed := !slices.Equal(r.Pods, known)
	bits := byte(0)
	for i, set := range [...]bool{
		r.Saturated, r.Flags.Churn, r.Flags.CostUnknown, r.Flags.NoPressure, r.Flags.WarmingUp, absorbed, r.Floored, true,
	} {
		if set {
			bits |= 1 << i
		}
	}
	dst = append(dst, bits)
	if absorbed {
		dst = appendKeys(dst, r.Pods)
	}
	for i := range r.Channels {
		c := &r.Channels[i]
		dst = appendFloat(appendFloat(appendFloat(appendFloat(appendFloat(dst, c.Room), c.StartupAllowance), c.Unit), c.PodSD), c.Most)
	}
	dst = appendUint(dst, uint64(len(r.Mispredictions)))
	for _, s := range r.Mispredictions {
		dst = appendFloat(appendFloat(appendKey(dst, s.Pod), s.CPURatio), s.MemoryRatio)
	}
	return appendReportPower(dst, r)
}

// appendReportPower adds a report's power, nothing where there is none.
func appendReportPower(dst []byte, r *agent.Report) []byte {
	n := min(len(r.PodCores), len(r.PodWatts))
	if r.Power == (energy.Power{}) && n == 0 {
		return dst
	}
	dst = appendUint(appendPower(dst, r.Power), uint64(n))
	for i := range n {
		dst = appendFloat32(appendFloat32(dst, r.PodCores[i]), r.PodWatts[i])
	}
	return dst
}

// reportPower decodes the same.
func (b *body) reportPower(r *agent.Report) {
	if len(b.rest) == 0 {
		return
	}
	r.Power = b.power()
	n := b.length(8)
	if n == 0 {
		return
	}
	r.PodCores, r.PodWatts = make([]float32, n), make([]float32, n)
	for i := range n {
		r.PodCores[i], r.PodWatts[i] = b.float32(), b.float32()
	}
}

// decode reads a payload; pods are those known before it.
func decode(payload []byte, pods []agent.Pod) (Record, error) {
	k := Kind(payload[0])
	var r Record
	var err error
	switch k {
	case KindHeader:
		r, err = decodeHeader(payload[1:])
	case KindSnapshot:
		r, err = decodeState(payload[1:])
	case KindFleet:
		r, err = decodeFleet(payload[1:])
	default:
		r, err = decodeBody(k, &body{rest: payload[1:]}, pods)
	}
	if err != nil {
		return Record{}, fmt.Errorf("%s: %w", k, err)
	}
	return r, nil
}

func decodeBody(k Kind, b *body, pods []agent.Pod) (Record, error) {
	r := Record{Kind: k}
	switch k {
	case KindSample, KindSizes:
		r.At, r.Values = b.time(), b.floats()
	case KindPods:
		r.At = b.time()
		r.Pods = b.pods(pods)
	case KindChurn:
		r.At = b.time()
	case KindBound:
		r.At, r.Bind.Pod = b.time(), b.key()
		r.Bind.InitsKnown, r.Bind.Inits = b.bool(), b.int(math.MaxInt32)
		if len(b.rest) > 0 {
			r.Bind.Demand = b.demand()
		}
	case KindPlaceholders:
		r.At, r.Placeholders = b.time(), b.keys()
	case KindUsage:
		r.At, r.Readings = b.time(), b.readings()
	case KindPower:
		r.At, r.Power = b.time(), b.power()
	case KindPodPower:
		r.At, r.PodPower = b.time(), b.podPower()
	case KindReport:
		r.Report = b.report(pods)
		r.At = r.Report.SampledAt
	case KindDropped, KindMark:
		r.At, r.Text = b.time(), b.string()
	case KindGap:
		r.At, r.Lost = b.time(), b.uint()
	default:
		return Record{}, fmt.Errorf("kind %d is not known", uint8(k))
	}
	return r, b.end()
}

// pods returns the pods known after a change.
func (b *body) pods(known []agent.Pod) []agent.Pod {
	gone := b.keys()
	changed := list(b, 10, func() agent.Pod {
		return agent.Pod{Key: b.key(), State: agent.PodState(b.byte()), Starts: b.int(math.MaxInt)}
	})
	keys := make([]reserve.PodKey, len(changed))
	for i, p := range changed {
		keys[i] = p.Key
	}
	if !ascends(gone) || !ascends(keys) {
		b.fail()
		return nil
	}
	left, missing := make([]agent.Pod, 0, len(known)+len(changed)), len(gone)
	for _, p := range known {
		if _, ok := slices.BinarySearch(gone, p.Key); ok {
			missing--
		} else if _, ok := slices.BinarySearch(keys, p.Key); !ok {
			left = append(left, p)
		}
	}
	left = append(left, changed...)
	if missing != 0 || len(left) > maxRecord/8 {
		b.fail()
	}
	slices.SortFunc(left, byKey)
	return left
}

func byKey(a, b agent.Pod) int { return cmp.Compare(a.Key, b.Key) }

func ascends(keys []reserve.PodKey) bool {
	for i := 1; i < len(keys); i++ {
		if keys[i] <= keys[i-1] {
			return false
		}
	}
	return true
}

// countedTo writes the pods that a report counts, as far as their states show, to
// dst and returns it.
func countedTo(dst []reserve.PodKey, pods []agent.Pod) []reserve.PodKey {
	dst = dst[:0]
	for _, p := range pods {
		if p.State != agent.PodPending {
			dst = append(dst, p.Key)
		}
	}
	return dst
}

func (b *body) report(pods []agent.Pod) *agent.Report {
	r := &agent.Report{Node: b.string(), Incarnation: b.uint(), Sequence: b.uint(), SampledAt: b.time()}
	r.Schema, r.Avail, r.Allowance = b.string(), b.float(), b.float()
	r.K, r.Limiting = b.float(), b.string()
	r.Channels = list(b, 33, func() agent.ChannelReport {
		return agent.ChannelReport{Name: b.string(), Usage: b.float(), Capacity: b.float(), Cost: b.float(), CostSD: b.float()}
	})
	bits := b.byte()
	r.Saturated = bits&bitSaturated != 0
	r.Flags = agent.Flags{
		Churn: bits&bitChurn != 0, CostUnknown: bits&bitCostUnknown != 0,
		NoPressure: bits&bitNoPressure != 0, WarmingUp: bits&bitWarmingUp != 0,
	}
	if bits&bitAbsorbed != 0 {
		r.Pods = b.keys()
	} else {
		r.Pods = countedTo(nil, pods)
	}
	r.Floored = bits&bitFloored != 0
	if bits&bitRooms == 0 {
		return r
	}
	for i := range r.Channels {
		c := &r.Channels[i]
		c.Room, c.StartupAllowance, c.Unit, c.PodSD, c.Most = b.float(), b.float(), b.float(), b.float(), b.float()
	}
	mispredictions := list(b, 24, func() agent.Misprediction {
		return agent.Misprediction{Pod: b.key(), CPURatio: b.float(), MemoryRatio: b.float()}
	})
	if len(mispredictions) > 0 {
		r.Mispredictions = mispredictions
	}
	b.reportPower(r)
	return r
}
