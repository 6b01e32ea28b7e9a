package recording

import (
	"encoding/binary"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

func appendState(dst []byte, s agent.State) []byte {
	dst = appendUint(dst, uint64(s.Version))
	dst = appendFloats(appendTime(dst, s.At), s.Raw)
	dst = appendUint(dst, uint64(len(s.Filter)))
	for _, f := range s.Filter {
		dst = appendFloat(appendFloat(dst, f.Level), f.Scale)
		dst = appendBool(binary.AppendVarint(dst, int64(f.Run)), f.Started)
	}
	dst = appendUint(appendFloats(dst, s.Block), s.Blocks)
	dst = appendModel(appendModel(dst, s.Model), s.Effective)
	dst = appendFloats(appendFloat(dst, s.Blended), s.Demand)
	dst = appendUint(appendModel(dst, s.Fleet.Model), uint64(len(s.Fleet.Costs)))
	for _, c := range s.Fleet.Costs {
		dst = appendFloat(appendFloat(dst, c.Cost), c.SD)
	}
	dst = appendEstimators(appendTime(dst, s.Fleet.At), s)
	dst = appendKeys(dst, s.Pods)
	dst = appendUint(dst, uint64(len(s.History)))
	for _, h := range s.History {
		dst = appendUint(appendTime(dst, h.At), uint64(h.Count))
	}
	dst = appendTime(appendTime(dst, s.ChurnFirst), s.ChurnLast)
	dst = appendTime(appendUint(dst, s.Sequence), s.ReportedAt)
	return appendPace(appendBool(appendFloat(dst, s.Reported), s.Pending), s.Pace)
}

func appendPace(dst []byte, p agent.PaceState) []byte {
	dst = appendFloat(appendFloat(appendFloat(appendTime(dst, p.At), p.Ends), p.Lived), p.Startup)
	dst = appendUint(dst, uint64(len(p.Way)))
	for _, b := range p.Way {
		dst = appendTime(binary.LittleEndian.AppendUint64(dst, uint64(b.Pod)), b.At)
	}
	return dst
}

func appendEstimators(dst []byte, s agent.State) []byte {
	dst = appendUint(dst, uint64(len(s.Estimator)))
	for _, e := range s.Estimator {
		for _, v := range [...]float64{
			e.Level, e.LevelVar, e.Cost, e.CostVar, e.Cov, e.MeanPods, e.DiffVar, e.LastSignal, e.LastPods,
		} {
			dst = appendFloat(dst, v)
		}
		dst = appendBool(appendUint(dst, uint64(e.Outliers)), e.Started)
	}
	dst = appendUint(dst, uint64(len(s.Verdicts)))
	for _, v := range s.Verdicts {
		dst = append(dst, byte(v))
	}
	dst = appendUint(dst, uint64(len(s.Innovations)))
	for _, i := range s.Innovations {
		dst = appendFloat(appendFloat(dst, i.Value), i.Variance)
	}
	return dst
}

func appendModel(dst []byte, m svd.State) []byte {
	dst = appendUint(dst, uint64(m.Dim))
	if m.Dim == 0 {
		return dst
	}
	dst = appendFloat(appendUint(dst, uint64(m.Block)), m.Mass)
	dst = appendFloats(appendFloats(dst, m.U), m.Sigma)
	return appendFloats(appendFloat(dst, m.Residual), m.Mean)
}

func appendKeys(dst []byte, keys []reserve.PodKey) []byte {
	dst = appendUint(dst, uint64(len(keys)))
	for _, k := range keys {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(k))
	}
	return dst
}

// list decodes a list whose elements take at least size bytes each; an empty
// one is nil.
func list[T any](b *body, size int, element func() T) []T {
	n := b.length(size)
	if n == 0 {
		return nil
	}
	l := make([]T, n)
	for i := range l {
		l[i] = element()
	}
	return l
}

func (b *body) state() (s agent.State) {
	s.Version = b.int(1 << 16)
	s.At, s.Raw = b.time(), b.floats()
	s.Filter = list(b, 18, func() filter.State {
		f := filter.State{Level: b.float(), Scale: b.float()}
		f.Run = b.signed()
		f.Started = b.bool()
		return f
	})
	s.Block, s.Blocks = b.floats(), b.uint()
	s.Model, s.Effective = b.model(), b.model()
	s.Blended, s.Demand = b.float(), b.floats()
	s.Fleet.Model = b.model()
	s.Fleet.Costs = list(b, 16, func() kalman.Fleet { return kalman.Fleet{Cost: b.float(), SD: b.float()} })
	s.Fleet.At = b.time()
	s.Estimator = list(b, 74, b.estimator)
	s.Verdicts = list(b, 1, func() kalman.Verdict { return kalman.Verdict(b.byte()) })
	s.Innovations = list(b, 16, func() kalman.Innovation { return kalman.Innovation{Value: b.float(), Variance: b.float()} })
	s.Pods = b.keys()
	s.History = list(b, 9, func() agent.PodCount { return agent.PodCount{At: b.time(), Count: b.int(kalman.MaxPods)} })
	s.ChurnFirst, s.ChurnLast = b.time(), b.time()
	s.Sequence, s.ReportedAt = b.uint(), b.time()
	s.Reported, s.Pending = b.float(), b.bool()
	if s.Version == 1 { // knew nothing of the pace
		s.Version = agent.StateVersion
		return s
	}
	s.Pace = b.pace()
	return s
}

func (b *body) pace() (p agent.PaceState) {
	p.At = b.time()
	p.Ends, p.Lived, p.Startup = b.float(), b.float(), b.float()
	p.Way = list(b, 16, func() agent.BoundPod { return agent.BoundPod{Pod: reserve.PodKey(b.word()), At: b.time()} })
	return p
}

func (b *body) estimator() (e kalman.State) {
	for _, v := range [...]*float64{
		&e.Level, &e.LevelVar, &e.Cost, &e.CostVar, &e.Cov, &e.MeanPods, &e.DiffVar, &e.LastSignal, &e.LastPods,
	} {
		*v = b.float()
	}
	e.Outliers = b.int(1 << 16)
	e.Started = b.bool()
	return e
}

func (b *body) signed() int {
	v, n := binary.Varint(b.rest)
	if n <= 0 {
		b.fail()
		return 0
	}
	b.rest = b.rest[n:]
	return int(v)
}

func (b *body) model() (m svd.State) {
	if m.Dim = b.int(svd.MaxDim); m.Dim == 0 {
		return m
	}
	m.Block, m.Mass = b.int(svd.MaxBlock), b.float()
	m.U, m.Sigma = b.floats(), b.floats()
	m.Residual, m.Mean = b.float(), b.floats()
	return m
}

func (b *body) keys() []reserve.PodKey {
	return list(b, 8, func() reserve.PodKey { return reserve.PodKey(b.word()) })
}
