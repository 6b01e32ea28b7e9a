package telemetry_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// loaded is a machine of 128 CPUs with every channel and 200 pods' interfaces.
func loaded(t testing.TB) (*machine, telemetry.Config) {
	m, c := everything(t)
	m.stat(128, 1, 1)
	m.usage("", 1)
	m.interfaces(veths(200)...)
	return m, c
}

var sampled = []struct {
	name  string
	setup func(t testing.TB) (*machine, telemetry.Config)
}{
	{"cpus=2/counter=cgroup", func(t testing.TB) (*machine, telemetry.Config) {
		m := newMachine(t)
		m.stat(2, 1, 1)
		m.usage("", 1)
		return m, m.config()
	}},
	{"cpus=128/counter=cpuacct", func(t testing.TB) (*machine, telemetry.Config) {
		m := newMachine(t)
		m.stat(128, 1, 1)
		m.cpuacct("cpuacct", 1)
		return m, m.config()
	}},
	{"cpus=128/contention=pressure", func(t testing.TB) (*machine, telemetry.Config) {
		m := newMachine(t)
		m.stat(128, 1, 1)
		m.cpuacct("cpuacct", 1)
		c := m.config()
		c.Contention = telemetry.ContentionPressure
		return m, c
	}},
	{"cpus=128/channels=all", loaded},
}

// SampleTo allocates nothing while no interface is new, on scans of the links too.
func TestSampleToAllocatesNothing(t *testing.T) {
	for _, tc := range sampled {
		t.Run(tc.name, func(t *testing.T) {
			m, c := tc.setup(t)
			tick := m.ticking()
			r := m.reader(c)
			dst := make([]float64, len(r.Schema().Channels))
			at := start
			m.prime(r, at)
			if n := testing.AllocsPerRun(100, func() {
				at = at.Add(period)
				tick()
				if _, err := r.SampleTo(dst, at); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%v allocations a sample", n)
			}
		})
	}
}

func BenchmarkSampleTo(b *testing.B) {
	for _, bc := range sampled {
		b.Run(bc.name, func(b *testing.B) {
			m, c := bc.setup(b)
			tick := m.ticking()
			r := m.reader(c)
			dst := make([]float64, len(r.Schema().Channels))
			at := start
			m.prime(r, at)
			b.ReportAllocs()
			for b.Loop() {
				at = at.Add(period)
				tick()
				if _, err := r.SampleTo(dst, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMachine samples the machine it runs on, including the kernel's work.
func BenchmarkMachine(b *testing.B) {
	for _, counter := range []telemetry.CPUCounter{telemetry.CounterAuto, telemetry.CounterStat} {
		b.Run("counter="+string(counter), func(b *testing.B) {
			r, err := telemetry.NewReader(telemetry.Config{Counter: counter})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			at := start
			dst := make([]float64, 2)
			for b.Loop() {
				at = at.Add(period)
				// Between two samples there may be no tick, and few in the seconds that -benchtime
				// lasts.
				if _, err := r.SampleTo(dst, at); err != nil && !errors.Is(err, telemetry.ErrPriming) && !errors.Is(err, telemetry.ErrNoInterval) && !errors.Is(err, telemetry.ErrStuck) {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseStat(b *testing.B) {
	for _, cpus := range []int{2, 128, 256} {
		b.Run(fmt.Sprintf("cpus=%d", cpus), func(b *testing.B) {
			text := []byte(statText(cpus, 1, 1, 0, 1))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := telemetry.ParseStat(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseInterfaces(b *testing.B) {
	m := newMachine(b)
	m.interfaces(veths(200)...)
	text := m.read("net/dev")
	var names [][]byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if names, err = telemetry.ParseInterfaces(names, text); err != nil {
			b.Fatal(err)
		}
	}
}
