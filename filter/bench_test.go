package filter_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/filter"
)

func TestNoAllocations(t *testing.T) {
	bank, err := filter.NewBank(4, filter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	x, dst := []float64{0.1, 0.2, 0.3, 0.4}, make([]float64, 4)
	states := make([]filter.State, 4)
	var s filter.State
	var d filter.Dynamic
	for name, f := range map[string]func(){
		"Bank.StepTo":   func() { _, _ = bank.StepTo(dst, x) },
		"Bank.StatesTo": func() { states = bank.StatesTo(states) },
		"Step":          func() { s, _ = filter.Step(s, x[0], filter.Config{N: 3}) },
		"Dynamic.Step":  func() { s, _ = d.Step(s, x[0]) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s makes %g allocations", name, n)
		}
	}
}

// steady is a noisy level with a spike now and then, as a node's telemetry
// is; signal jumps so often that the branches cannot be predicted.
func steady(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 8))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 0.4 + 0.02*rng.NormFloat64()
		if rng.IntN(40) == 0 {
			xs[i] += 0.3
		}
	}
	return xs
}

var inputs = []struct {
	name string
	xs   []float64
}{
	{"steady", steady(4096)},
	{"jumping", signal(rand.New(rand.NewPCG(1, 5)), 4096)},
}

func BenchmarkStep(b *testing.B) {
	custom, err := filter.NewDynamic(filter.Config{N: 3})
	if err != nil {
		b.Fatal(err)
	}
	for _, in := range inputs {
		xs := in.xs
		b.Run("default/"+in.name, func(b *testing.B) {
			benchmarkStep(b, xs, func(s filter.State, x float64) (filter.State, error) {
				return filter.Step(s, x, filter.Config{})
			})
		})
		b.Run("config/"+in.name, func(b *testing.B) {
			benchmarkStep(b, xs, func(s filter.State, x float64) (filter.State, error) {
				return filter.Step(s, x, filter.Config{N: 3})
			})
		})
		b.Run("dynamic/"+in.name, func(b *testing.B) {
			var s filter.State
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s, _ = custom.Step(s, xs[i%4096])
				i++
			}
		})
	}
}

func benchmarkStep(b *testing.B, xs []float64, step func(filter.State, float64) (filter.State, error)) {
	var s filter.State
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s, _ = step(s, xs[i%4096])
		i++
	}
	if !s.Started {
		b.Fatal("no sample was taken")
	}
}

func BenchmarkBankStepTo(b *testing.B) {
	for _, in := range inputs {
		for _, d := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("%s/d=%d", in.name, d), func(b *testing.B) {
				bank, err := filter.NewBank(d, filter.Config{})
				if err != nil {
					b.Fatal(err)
				}
				benchmarkBank(b, bank, in.xs)
			})
		}
	}
}

// benchmarkBank feeds the channels of a bank with xs, each shifted in time.
func benchmarkBank(b *testing.B, bank *filter.Bank, xs []float64) {
	d := bank.Channels()
	rows := make([][]float64, len(xs))
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			rows[i][j] = xs[(i+251*j)%len(xs)]
		}
	}
	dst := make([]float64, d)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := bank.StepTo(dst, rows[i%4096]); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(d), "ns/channel")
}
