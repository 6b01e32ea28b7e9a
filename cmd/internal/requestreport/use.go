package requestreport

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// spanLength is what use is averaged over: long enough that one short task is no peak, and short
// enough that an hour has a p99.
const spanLength = 10 * time.Second

// useSample is what was measured of a node at one moment.
type useSample struct {
	At time.Time
	// CPU are the cores that are busy and the tasks that wait for one, Memory the bytes that are
	// not available.
	CPU, Memory Measured
	// NoPressure reports that tasks that wait are not counted.
	NoPressure bool
	Room       nodeRoom
}

// nodeRoom is what still fits on a node; it may be negative.
type nodeRoom struct {
	// Pods is in typical pods, unknown where what a pod takes was not measured.
	Pods Measured `json:"pods"`
	resourceAmounts
}

// nodeUse collects the samples of a node. The zero value has none. It is not safe for concurrent use.
type nodeUse struct {
	spans []span // ascending
	room  [3]sum // of typical pods, cores and bytes
	// noPressure reports that a sample was without waiting tasks.
	noPressure bool
}

// span is what was measured in one span; index counts spans since 1970, so that those of all nodes
// are of the same times. It is small: an hour of the largest clusters has two million.
type span struct {
	index                 int32
	cpu, memory           float32 // means
	cpuCount, memoryCount uint16
}

// cpuOf and memoryOf are the means of a span.
func cpuOf(s *span) Measured    { return Measured{float64(s.cpu), s.cpuCount > 0} }
func memoryOf(s *span) Measured { return Measured{float64(s.memory), s.memoryCount > 0} }

// addToMean adds a number to a mean, unless it is unknown or not finite.
func addToMean(mean *float32, count *uint16, m Measured) {
	if m.Known && math.Abs(m.Value) <= math.MaxFloat32 && *count < math.MaxUint16 {
		*count++
		*mean += float32((m.Value - float64(*mean)) / float64(*count))
	}
}

// sum adds up known numbers.
type sum struct {
	total float64
	count int32
}

func (s *sum) add(m Measured) {
	if m.Known && !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
		s.total += m.Value
		s.count++
	}
}

func (s sum) mean() Measured {
	if s.count == 0 {
		return Measured{}
	}
	return Is(s.total / float64(s.count))
}

// add takes in a sample. What is not finite is unknown. Samples may come in any order.
func (u *nodeUse) add(s useSample) {
	u.noPressure = u.noPressure || s.NoPressure
	index := int32(s.At.Unix() / int64(spanLength/time.Second))
	at := len(u.spans) - 1
	if at < 0 || u.spans[at].index != index {
		var found bool
		at, found = slices.BinarySearchFunc(u.spans, index, func(s span, index int32) int { return cmp.Compare(s.index, index) })
		if !found {
			u.spans = slices.Insert(u.spans, at, span{index: index})
		}
	}
	addToMean(&u.spans[at].cpu, &u.spans[at].cpuCount, s.CPU)
	addToMean(&u.spans[at].memory, &u.spans[at].memoryCount, s.Memory)
	for i, room := range [...]Measured{s.Room.Pods, s.Room.CPU, s.Room.Memory} {
		u.room[i].add(room)
	}
}

// means returns the known means of spans of a resource, and their mean.
func (u *nodeUse) means(of func(*span) Measured) (all []float64, mean Measured) {
	if u == nil {
		return nil, Measured{}
	}
	var whole sum
	for i := range u.spans {
		if m := of(&u.spans[i]); m.Known {
			all = append(all, m.Value)
			whole.add(m)
		}
	}
	return all, whole.mean()
}

// averageRoom is the mean room.
func (u *nodeUse) averageRoom() nodeRoom {
	if u == nil {
		return nodeRoom{}
	}
	return nodeRoom{Pods: u.room[0].mean(), resourceAmounts: resourceAmounts{u.room[1].mean(), u.room[2].mean()}}
}

// usageSummary is the use of a node or of all.
type usageSummary struct {
	Mean resourceAmounts `json:"mean"`
	P95  resourceAmounts `json:"p95"`
	P99  resourceAmounts `json:"p99"`
}

// typical is the p95, or the mean where there are too few samples for one.
func (u usageSummary) typical() resourceAmounts {
	high := func(p95, mean Measured) Measured {
		if p95.Known {
			return p95
		}
		return mean
	}
	return resourceAmounts{high(u.P95.CPU, u.Mean.CPU), high(u.P95.Memory, u.Mean.Memory)}
}

// usage summarises what was measured of a node.
func (u *nodeUse) usage() (all usageSummary) {
	cpu, mean := u.means(cpuOf)
	all.Mean.CPU = mean
	all.P95.CPU, all.P99.CPU = percentiles(cpu)
	memory, mean := u.means(memoryOf)
	all.Mean.Memory = mean
	all.P95.Memory, all.P99.Memory = percentiles(memory)
	return all
}

// least95 and least99 are how many spans a percentile takes: with fewer it would be the largest.
const least95, least99 = 20, 100

// percentiles are the 95th and the 99th by nearest rank, of values that may be reordered. They are
// unknown where there are too few.
func percentiles(values []float64) (p95, p99 Measured) {
	if len(values) < least95 {
		return Measured{}, Measured{}
	}
	slices.Sort(values)
	rank := func(hundredths int) Measured { return Is(values[(len(values)*hundredths+99)/100-1]) }
	if len(values) < least99 {
		return rank(95), Measured{}
	}
	return rank(95), rank(99)
}

// coverage is the share of the measured nodes, in tenths, that a span needs to count for the total.
const coverage = 9

// totalUsage is the use of all nodes together.
func totalUsage(nodes []clusterNode) (all usageSummary) {
	all.Mean.CPU, all.P95.CPU, all.P99.CPU = totalOf(nodes, cpuOf)
	all.Mean.Memory, all.P95.Memory, all.P99.Memory = totalOf(nodes, memoryOf)
	return all
}

// totalOf adds up a resource: in each span the means of all nodes, and how far those with a value are
// off them.
func totalOf(nodes []clusterNode, of func(*span) Measured) (mean, p95, p99 Measured) {
	spans := map[int32]*sum{}
	measured := int32(0)
	for i := range nodes {
		_, average := nodes[i].Use.means(of)
		if !average.Known {
			continue
		}
		measured++
		mean = mean.plus(average)
		for k := range nodes[i].Use.spans {
			s := &nodes[i].Use.spans[k]
			if m := of(s); m.Known {
				if spans[s.index] == nil {
					spans[s.index] = &sum{}
				}
				spans[s.index].add(Is(m.Value - average.Value))
			}
		}
	}
	var sums []float64
	for _, s := range spans {
		if 10*s.count >= coverage*measured {
			sums = append(sums, mean.Value+s.total)
		}
	}
	p95, p99 = percentiles(sums)
	return mean, p95, p99
}

// period is when the first span began and the last one ended; both are zero without spans.
func period(nodes []clusterNode) (from, to time.Time) {
	first, last := int32(math.MaxInt32), int32(math.MinInt32)
	for i := range nodes {
		if u := nodes[i].Use; u != nil && len(u.spans) > 0 {
			first, last = min(first, u.spans[0].index), max(last, u.spans[len(u.spans)-1].index)
		}
	}
	if first > last {
		return from, to
	}
	begin := func(index int32) time.Time { return time.Unix(int64(index)*int64(spanLength/time.Second), 0).UTC() }
	return begin(first), begin(last + 1)
}
