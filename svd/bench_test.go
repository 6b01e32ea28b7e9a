package svd_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/spazio-scheduler/spazio/svd"
)

// cases are the sizes of the benchmarks: d channels and b samples a block.
var cases = []struct{ d, b int }{{2, 10}, {4, 10}, {8, 10}, {9, 10}, {10, 10}, {11, 10}, {12, 10}, {13, 10}, {14, 10}, {15, 10}, {16, 10}, {24, 10}, {32, 10}, {64, 10}}

// blocks returns enough blocks for the branch predictor not to learn them.
func blocks(d, b int) [][][]float64 {
	rng := rand.New(rand.NewPCG(1, uint64(d)))
	out := make([][][]float64, 64)
	for i := range out {
		out[i] = block(rng, d, b)
	}
	return out
}

func BenchmarkUpdateTo(b *testing.B) {
	for _, c := range cases {
		b.Run(fmt.Sprintf("d=%d/b=%d", c.d, c.b), func(b *testing.B) {
			data := blocks(c.d, c.b)
			opt := svd.Options{Rank: c.d}
			var m svd.Model
			var ws svd.Workspace
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := svd.UpdateTo(&m, m, data[i%len(data)], opt, &ws); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// BenchmarkOptions measures what the options cost at d = 4, b = 10.
func BenchmarkOptions(b *testing.B) {
	for _, c := range []struct {
		name string
		opt  svd.Options
	}{
		{"default", svd.Options{}},
		{"centred", svd.Options{Centre: true}},
		{"energy", svd.Options{EnergyLow: 0.9, EnergyHigh: 0.99}},
		{"rank=2", svd.Options{Rank: 2}},
	} {
		b.Run(c.name, func(b *testing.B) {
			data := blocks(4, 10)
			var m svd.Model
			var ws svd.Workspace
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := svd.UpdateTo(&m, m, data[i%len(data)], c.opt, &ws); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, c := range cases[:3] {
		b.Run(fmt.Sprintf("d=%d/b=%d", c.d, c.b), func(b *testing.B) {
			data := blocks(c.d, c.b)
			var m svd.Model
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				var err error
				if m, err = svd.Update(m, data[i%len(data)], svd.Options{}); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkMergeTo(b *testing.B) {
	for _, c := range cases[:3] {
		b.Run(fmt.Sprintf("d=%d", c.d), func(b *testing.B) {
			data := blocks(c.d, c.b)
			models := make([]svd.Model, len(data))
			for i := range models {
				models[i], _ = svd.Update(svd.Model{}, data[i], svd.Options{})
			}
			var m svd.Model
			var ws svd.Workspace
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := svd.MergeTo(&m, models[i%64], models[(i+7)%64], &ws); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkFromMoments(b *testing.B) {
	m, _ := svd.Update(svd.Model{}, blocks(4, 10)[0], svd.Options{})
	g := m.MomentsTo(nil)
	b.Run("d=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := svd.FromMoments(4, 10, 1, g); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDemandTo(b *testing.B) {
	m, _ := svd.Update(svd.Model{}, blocks(4, 10)[0], svd.Options{})
	dst := make([]float64, 4)
	b.Run("d=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.DemandTo(dst)
		}
	})
}

// concatenation writes [√½·UΣ √½·A], row-major, to a.
func concatenation(a []float64, s svd.State, samples [][]float64) {
	cols := len(s.Sigma) + len(samples)
	for j, sigma := range s.Sigma {
		for i, v := range s.U[j*s.Dim : (j+1)*s.Dim] {
			a[i*cols+j] = math.Sqrt2 / 2 * sigma * v
		}
	}
	for j, y := range samples {
		for i, v := range y {
			a[i*cols+len(s.Sigma)+j] = math.Sqrt2 / 2 * v
		}
	}
}

// BenchmarkRatio interleaves UpdateTo with gonum's mat.SVD and with LAPACK's
// Gesvd in preallocated buffers, both on the same concatenation, in rounds so
// short that whatever disturbs the machine disturbs all three or few of them.
// It reports the median time of each and the median, over the rounds, of the
// speed-up of UpdateTo over the other two.
func BenchmarkRatio(b *testing.B) {
	for _, c := range cases {
		b.Run(fmt.Sprintf("d=%d/b=%d", c.d, c.b), func(b *testing.B) { ratio(b, c.d, c.b) })
	}
}

func ratio(b *testing.B, d, n int) {
	const batch = 16 // calls of each contender in a round
	data := blocks(d, n)
	opt := svd.Options{Rank: d}
	var m svd.Model
	var ws svd.Workspace
	for _, samples := range data {
		if err := svd.UpdateTo(&m, m, samples, opt, &ws); err != nil {
			b.Fatal(err)
		}
	}
	// The contenders see the matrices of a stationary stream, ready made.
	cols := d + n
	inputs := make([][]float64, len(data))
	state := m.State()
	for i, samples := range data {
		inputs[i] = make([]float64, d*cols)
		concatenation(inputs[i], state, samples)
	}
	dense := mat.NewDense(d, cols, nil)
	var dec mat.SVD
	var u mat.Dense
	a := blas64.General{Rows: d, Cols: cols, Stride: cols, Data: make([]float64, d*cols)}
	left := blas64.General{Rows: d, Cols: d, Stride: d, Data: make([]float64, d*d)}
	none := blas64.General{Stride: 1}
	sigma := make([]float64, d)
	work := make([]float64, 1)
	lapack64.Gesvd(lapack.SVDStore, lapack.SVDNone, a, left, none, sigma, work, -1)
	work = make([]float64, int(work[0]))

	clock := func(f func(i int)) float64 {
		start := time.Now()
		for i := range batch {
			f(i * 5 % len(data))
		}
		return float64(time.Since(start).Nanoseconds()) / batch
	}
	var own, gonum, gesvd, overGonum, overGesvd []float64
	for b.Loop() {
		x := clock(func(i int) {
			if err := svd.UpdateTo(&m, m, data[i], opt, &ws); err != nil {
				b.Fatal(err)
			}
		})
		y := clock(func(i int) {
			copy(dense.RawMatrix().Data, inputs[i])
			dec.Factorize(dense, mat.SVDThinU)
			dec.Values(sigma)
			dec.UTo(&u)
		})
		z := clock(func(i int) {
			copy(a.Data, inputs[i])
			lapack64.Gesvd(lapack.SVDStore, lapack.SVDNone, a, left, none, sigma, work, len(work))
		})
		own, gonum, gesvd = append(own, x), append(gonum, y), append(gesvd, z)
		overGonum, overGesvd = append(overGonum, y/x), append(overGesvd, z/x)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(own), "ns/update")
	b.ReportMetric(median(gonum), "ns/gonum")
	b.ReportMetric(median(gesvd), "ns/gesvd")
	b.ReportMetric(median(overGonum), "x-gonum")
	b.ReportMetric(median(overGesvd), "x-gesvd")
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
