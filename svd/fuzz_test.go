package svd_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

// source turns fuzzed bytes into arguments; it yields zeros when it is empty.
type source []byte

func (s *source) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// below returns an integer in [0, n).
func (s *source) below(n int) int { return int(s.byte()) % n }

// float returns a number in [0,1], a number of mixed sign and magnitude, or
// any bit pattern at all.
func (s *source) float(kind int) float64 {
	switch kind {
	case 0:
		return float64(s.byte()) / 255
	case 1:
		return math.Ldexp(float64(int8(s.byte())), int(int8(s.byte()))*3)
	}
	var bits [8]byte
	for i := range bits {
		bits[i] = s.byte()
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(bits[:]))
}

func (s *source) samples(d, n int) [][]float64 {
	kind := s.below(3)
	out := make([][]float64, n)
	for j := range out {
		out[j] = make([]float64, d)
		for i := range out[j] {
			out[j][i] = s.float(kind)
		}
	}
	return out
}

func (s *source) options() svd.Options {
	kind := s.below(3)
	opt := svd.Options{Rank: s.below(10) - 1, Block: s.below(12) - 1, Unit: s.below(2) == 1}
	if s.below(2) == 1 {
		opt.Alpha, opt.Beta = s.float(kind), s.float(kind)
	}
	if s.below(4) == 1 {
		opt.HalfLife = s.float(kind)
	}
	if s.below(3) == 1 {
		opt.EnergyLow, opt.EnergyHigh = s.float(kind), s.float(kind)
	}
	opt.Centre = s.below(3) == 1
	return opt
}

// state returns a state that is valid in shape, and often in content.
func (s *source) state() svd.State {
	d := s.below(8)
	r := s.below(d + 2)
	out := svd.State{Dim: d, Block: s.below(20), Mass: s.float(s.below(3))}
	kind := s.below(3)
	for range r {
		out.Sigma = append(out.Sigma, s.float(kind))
	}
	for i := 1; i < r && kind < 2; i++ { // descending
		out.Sigma[i] = out.Sigma[i-1] * math.Abs(s.float(0))
	}
	identity := s.below(3) > 0
	for j := range r {
		for i := range d {
			v := 0.0
			if identity && i == j {
				v = 1
			} else if !identity {
				v = s.float(kind)
			}
			out.U = append(out.U, v)
		}
	}
	if s.below(3) == 1 {
		out.Residual = s.float(kind)
	}
	if s.below(2) == 1 {
		for range d {
			out.Mean = append(out.Mean, s.float(kind))
		}
	}
	return out
}

// sound fails unless m could be sent to another node and taken there.
func sound(t *testing.T, m svd.Model) {
	t.Helper()
	s := m.State()
	if s.Dim == 0 && m.Equal(svd.Model{}) {
		return
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("an invalid model: %v", err)
	}
	if o := orthonormality(s); !(o <= 1e-13) {
		t.Fatalf("|UᵀU − I| = %g", o)
	}
	for _, list := range [][]float64{m.DemandTo(nil), m.DirectionTo(nil), m.MomentsTo(nil)} {
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("not finite: %v", list)
			}
		}
	}
	var norm float64
	for _, v := range m.DirectionTo(nil) {
		norm += v * v
	}
	if !near(norm, 1, 1e-12) {
		t.Fatalf("‖u₁‖² = %g", norm)
	}
	before := 0.0
	for r := range m.Rank() + 1 {
		e := m.Explained(r)
		if !(e >= before && e <= 1) && (r > 0 || e != 1) {
			t.Fatalf("Explained(%d) = %g after %g", r, e, before)
		}
		before = min(e, before+1)
	}
	back, err := svd.FromState(s)
	if err != nil || !identical(back, m) {
		t.Fatalf("the model has changed on its way (%v)", err)
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte("\x03\x00\x00\x05\x00\x00\x00\x00\x00\x04\x00abcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte("\x03\x00\x05\x0b\x01\x00\x00\x00\x00\x04\x02abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte("\x07\x01\x00\x00\x00\x01\x01\x01\x01\x09\x01zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA"))
	f.Fuzz(func(t *testing.T, data []byte) {
		src := source(data)
		d := 1 + src.below(20)
		opt := src.options()
		var m svd.Model
		var ws svd.Workspace
		for range 3 {
			samples := src.samples(d, src.below(12))
			before := m.Clone()
			pure, err := svd.Update(m, samples, opt)
			if errTo := svd.UpdateTo(&m, m, samples, opt, &ws); (err == nil) != (errTo == nil) {
				t.Fatalf("Update: %v; UpdateTo: %v", err, errTo)
			}
			if err != nil {
				if !identical(m, before) {
					t.Fatalf("changed by a rejected block: %v", err)
				}
				continue
			}
			if !identical(m, pure) {
				t.Fatal("Update and UpdateTo differ")
			}
			sound(t, m)
		}
	})
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("\x03\x03\x0a\x00\xff\x00\xff\x80\x40\x80\x80\x80\x01\x03\x03\x0a\x00\xff\x00\xff\x80\x40\x80\x80\x80\x01\x80"))
	f.Add([]byte("\x02\x01\x0a\x00\xff\x01\xff\x80\x40\x80\x02\x02\x05\x00\x10\x00\xff\x80\x40\x80\x80\x80\x01\x80"))
	f.Fuzz(func(t *testing.T, data []byte) {
		src := source(data)
		var ms [3]svd.Model
		for i := range ms {
			m, err := svd.FromState(src.state())
			if err != nil {
				m = svd.Model{}
			}
			ms[i] = m
		}
		a, b, c := ms[0], ms[1], ms[2]
		beforeA, beforeB := a.Clone(), b.Clone()
		if m, err := svd.Blend(a, b, src.float(0)); err == nil {
			sound(t, m)
		}
		ab, err := svd.Merge(a, b)
		if !identical(a, beforeA) || !identical(b, beforeB) {
			t.Fatal("Merge has modified an operand")
		}
		if err != nil {
			return
		}
		sound(t, ab)
		ba, err := svd.Merge(b, a)
		if err != nil {
			t.Fatalf("commuted: %v", err)
		}
		if a.Mass() > 0 && b.Mass() > 0 {
			if x := distance(ab, ba); !(x <= 1e-12) {
				t.Fatalf("the merges of a and b differ by %g", x)
			}
		}
		left, err := svd.Merge(ab, c)
		if err != nil {
			return
		}
		bc, err := svd.Merge(b, c)
		if err != nil {
			t.Fatalf("associated: %v", err)
		}
		right, err := svd.Merge(a, bc)
		if err != nil {
			t.Fatalf("associated: %v", err)
		}
		// A mass that underflows when it is restated makes a model empty.
		if least := min(a.Mass(), b.Mass(), c.Mass()); least > 1e-290 {
			if x := distance(left, right); !(x <= 1e-12) {
				t.Fatalf("the ways to merge a, b and c differ by %g", x)
			}
		}
	})
}

func FuzzFromState(f *testing.F) {
	f.Add([]byte("\x03\x03\x0a\x00\xff\x00\xff\x80\x40\x80\x80\x80\x01"))
	f.Add([]byte("\x01\x01\x0a\x00\xff\x02\xff\x80\x40\x80\x80\x80\x01\x03\x03\x0a\x00\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		src := source(data)
		s := src.state()
		m, err := svd.FromState(s)
		if (err == nil) != (s.Validate() == nil) {
			t.Fatalf("FromState: %v; Validate: %v", err, s.Validate())
		}
		if err != nil {
			return
		}
		sound(t, m)
		samples := src.samples(m.Dim(), 1+src.below(10))
		if next, err := svd.Update(m, samples, svd.Options{Centre: m.Centred()}); err == nil {
			sound(t, next)
		}
	})
}

func FuzzFromMoments(f *testing.F) {
	f.Add([]byte("\x02\x0a\x00\xff\x00\xff\x10\x10\xff"))
	f.Add([]byte("\x02\x0a\x00\xff\x01\x7f\x00\x01\x80\x01\x80\x7f\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		src := source(data)
		d := src.below(7)
		block, mass := src.below(20), src.float(src.below(3))
		kind := src.below(3)
		g := make([]float64, d*d)
		for i := range d {
			for j := range i + 1 {
				g[i*d+j] = src.float(kind)
				g[j*d+i] = g[i*d+j]
			}
			if src.below(2) == 1 { // diagonally dominant: semidefinite
				g[i*d+i] += float64(d)
			}
		}
		m, err := svd.FromMoments(d, block, mass, g)
		if err != nil {
			return
		}
		sound(t, m)
		var largest float64
		for _, v := range g {
			largest = max(largest, math.Abs(v))
		}
		for i, v := range m.MomentsTo(nil) {
			if !near(v/largest, g[i]/largest, 1e-8) && largest > 1e-300 {
				t.Fatalf("moment %d is %g, was %g", i, v, g[i])
			}
		}
	})
}
