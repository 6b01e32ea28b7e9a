package svd_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

// scaled returns the samples times 2^e.
func scaled(samples [][]float64, e int) [][]float64 {
	out := make([][]float64, len(samples))
	for j, y := range samples {
		out[j] = make([]float64, len(y))
		for i, v := range y {
			out[j][i] = math.Ldexp(v, e)
		}
	}
	return out
}

// TestScale: what is 2^e times as large has singular values 2^e times as large
// and the same vectors, however large or small it is; the models of two nodes may
// be of very different size.
func TestScale(t *testing.T) {
	options := map[string]svd.Options{
		"plain":   {Block: 5},
		"rank 2":  {Block: 5, Rank: 2},
		"energy":  {Block: 5, EnergyLow: .9, EnergyHigh: .97},
		"centred": {Block: 5, Centre: true},
	}
	for name, opt := range options {
		for _, d := range []int{2, 3, 5, 9} {
			rng := rand.New(rand.NewPCG(uint64(d), 77))
			var streams [2][][][]float64
			for n := range streams {
				for range 4 {
					var block [][]float64
					for range 5 {
						y := make([]float64, d)
						for i := range y {
							y[i] = rng.Float64()
						}
						block = append(block, y)
					}
					streams[n] = append(streams[n], block)
				}
			}
			build := func(n, e int) svd.Model {
				var m svd.Model
				for i, block := range streams[n] {
					// The second block is a thousandth of the others.
					shift := -10 * (i % 2)
					next, err := svd.Update(m, scaled(block, e+shift), opt)
					if err != nil {
						t.Fatal(err)
					}
					m = next
				}
				return m
			}
			merge := func(e, apart int) svd.Model {
				m, err := svd.Merge(build(0, e), build(1, e+apart))
				if err == nil {
					m, err = svd.Blend(m, build(0, e), .3)
				}
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			for _, e := range []int{-1000, -700, -300, -150, -70, 70, 150, 300} {
				if opt.EnergyLow > 0 && e < -500 {
					continue // squares underflow, and with them the share explained
				}
				at := fmt.Sprintf("%s, d=%d, 2^%d", name, d, e)
				sameButScale(t, at, build(0, 0), build(0, e), e)
				sameButScale(t, at+", merged", merge(0, -9), merge(e, -9), e)
				sameButScale(t, at+", merged the other way", merge(-9, 9), merge(e-9, 9), e)
			}
		}
	}
}

func sameButScale(t *testing.T, at string, want, got svd.Model, e int) {
	t.Helper()
	if got.Rank() != want.Rank() {
		t.Fatalf("%s: rank %d, want %d", at, got.Rank(), want.Rank())
	}
	for i := range want.Rank() {
		if diff := math.Abs(math.Ldexp(got.Sigma(i), -e) - want.Sigma(i)); !(diff <= 1e-13*want.Sigma(0)) {
			t.Fatalf("%s: σ[%d] = %g·2^%d, want %g", at, i, math.Ldexp(got.Sigma(i), -e), e, want.Sigma(i))
		}
		u, v := got.VectorTo(nil, i), want.VectorTo(nil, i)
		for k := range u {
			if !(math.Abs(u[k]-v[k]) <= 1e-9) {
				t.Fatalf("%s: u[%d] = %v, want %v", at, i, u, v)
			}
		}
	}
}

// TestLeastNumbers: samples of the least float make a model of finite numbers.
func TestLeastNumbers(t *testing.T) {
	const least = math.SmallestNonzeroFloat64
	for _, opt := range []svd.Options{{}, {Centre: true}} {
		m, err := svd.Update(svd.Model{}, [][]float64{{least, 0}, {0, 3 * least}, {least, least}}, opt)
		if err == nil {
			m, err = svd.Merge(m, m)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := m.State().Validate(); err != nil {
			t.Errorf("%+v: %v", opt, err)
		}
		if d := m.DirectionTo(nil); !(math.Abs(d[0]*d[0]+d[1]*d[1]-1) < 1e-12) {
			t.Errorf("%+v: direction %v", opt, d)
		}
	}
}
