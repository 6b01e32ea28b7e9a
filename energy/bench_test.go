package energy_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

func BenchmarkMeterAdd(b *testing.B) {
	m := newMeter(b, energy.MeterConfig{})
	var readings []energy.Reading
	for i := range 4 {
		readings = append(readings, energy.Reading{Zone: "package-" + strconv.Itoa(i), Range: 262143328850, At: start})
	}
	_, _ = m.Add(readings)
	b.ReportAllocs()
	for b.Loop() {
		for i := range readings {
			r := &readings[i]
			r.Counter = (r.Counter + 50e6) % r.Range
			r.At = r.At.Add(time.Second)
		}
		if _, err := m.Add(readings); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	a := energy.Account{Joules: 500, SD: 1, Idle: 200, IdleKnown: true, Busy: 20, Tree: 15, Capacity: 40, Residual: .03}
	for i := range 110 {
		a.Consumers = append(a.Consumers, energy.Consumer{Key: uint64(i), CPU: .1, Weight: 1})
	}
	for _, idle := range []energy.IdlePolicy{energy.Unattributed, energy.ByWeight} {
		b.Run("idle="+string(idle), func(b *testing.B) {
			var dst []energy.Share
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, _, err = (energy.Split{Idle: idle}).AttributeTo(dst, &a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCurve(b *testing.B) {
	k := newCurve(b, energy.CurveConfig{})
	b.Run("Learn", func(b *testing.B) {
		b.ReportAllocs()
		u := 0.0
		for b.Loop() {
			if u += .0137; u > 1 {
				u--
			}
			if err := k.Learn(u, 40+80*u); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("At", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = k.Learn(.5, 80) // so that it is fitted anew
			_, _ = k.At(.55)
		}
	})
}

func BenchmarkGoodness(b *testing.B) {
	n := energy.Power{Quality: energy.Measured, Watts: 100, Max: 200, Idle: 40, Marginal: 20, Busy: 3, Cores: 8}
	b.ReportAllocs()
	sum := 0.0
	for b.Loop() {
		sum += energy.Goodness(&n, 3, .5, 1, energy.Marginal, true)
	}
	if sum <= 0 {
		b.Fatal(sum)
	}
}

func BenchmarkBookObserve(b *testing.B) {
	book := energy.NewBookOf(energy.BookConfig{})
	names := make([]string, 1000)
	for i := range names {
		names[i] = "default/Deployment/w" + strconv.Itoa(i)
	}
	at := start
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i++; i%len(names) == 0 {
			at = at.Add(5 * time.Second)
		}
		if err := book.Observe(names[i%len(names)], energy.Observation{Pod: uint64(i % len(names)), At: at, Cores: 1, Watts: 10, Metered: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBookMean reads the mean of all workloads after each observation.
func BenchmarkBookMean(b *testing.B) {
	book, observe := fullBook(b)
	b.ReportAllocs()
	for b.Loop() {
		observe()
		if e := book.Estimate("new"); !(e.Watts > 0) {
			b.Fatal(e)
		}
	}
}

func BenchmarkBookLargest(b *testing.B) {
	book, observe := fullBook(b)
	var dst []energy.WorkloadEstimate
	b.ReportAllocs()
	for b.Loop() {
		if dst = book.LargestTo(dst, 100, observe()); len(dst) != 100 {
			b.Fatal(len(dst))
		}
	}
}

// fullBook returns a full book; observe adds an observation and returns its time.
func fullBook(b *testing.B) (book *energy.Book, observe func() time.Time) {
	book = energy.NewBookOf(energy.BookConfig{})
	names := make([]string, energy.DefaultWorkloads)
	for i := range names {
		names[i] = "default/Deployment/w" + strconv.Itoa(i)
	}
	i := 0
	observe = func() time.Time {
		at := start.Add(time.Duration(i/len(names)) * 10 * time.Second)
		o := energy.Observation{Pod: uint64(i % len(names)), At: at, Cores: 1, Watts: 1 + float64(i*7919%1000), Metered: true}
		if err := book.Observe(names[i%len(names)], o); err != nil {
			b.Fatal(err)
		}
		i++
		return at
	}
	for range 3 * len(names) {
		observe()
	}
	return book, observe
}
