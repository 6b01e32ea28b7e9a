package simnode_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/cmd/internal/simnode"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}

func newModel(t testing.TB, p simnode.Params) *simnode.Model {
	t.Helper()
	m, err := simnode.NewModel(p, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// quiet are parameters without anything random or beside the pods.
func quiet(cores int) simnode.Params {
	return simnode.Params{Cores: cores, Background: 1e-12, StartWork: 1, StopWork: 1, Noise: 1e-12}
}

func bind(t testing.TB, m *simnode.Model, pods int, work time.Duration, memory float64) {
	t.Helper()
	for i := range pods {
		p := simnode.Pod{UID: fmt.Sprint("pod-", i), Work: work, Memory: memory, Startup: time.Second}
		if err := m.Bind(m.Now(), p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPodsShareCores(t *testing.T) {
	tests := []struct {
		name   string
		cores  int
		pods   int
		memory float64
		want   float64 // seconds of run time
	}{
		{"alone", 4, 1, 0, 10},
		{"a core each", 4, 4, 0, 10},
		{"two a core", 4, 8, 0, 20},
		{"five on four", 4, 5, 0, 12.5},
		{"memory full to the brim", 4, 2, .47, 10},
		{"memory exceeded", 4, 2, .6, 50},
		{"memory and cores exceeded", 1, 10, .2, 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := quiet(test.cores)
			p.Memory = 1 << 30
			m := newModel(t, p)
			bind(t, m, test.pods, 10*time.Second, test.memory*p.Memory)
			var ends []float64
			for _, event := range m.AdvanceTo(nil, at(1000)) {
				if event.Phase == simnode.Succeeded {
					ends = append(ends, event.At.Sub(at(1)).Seconds())
				}
			}
			if len(ends) != test.pods {
				t.Fatalf("%d pods ended, want %d", len(ends), test.pods)
			}
			for _, end := range ends {
				if math.Abs(end-test.want) > 1e-3 {
					t.Errorf("a pod ran %.4f s, want %g", end, test.want)
				}
			}
		})
	}
}

func TestLifeOfAPod(t *testing.T) {
	m := newModel(t, simnode.Params{Background: 1e-12, Noise: 1e-12})
	pod := simnode.Pod{UID: "a", Work: 2 * time.Second, Startup: 1500 * time.Millisecond}
	if err := m.Bind(at(1), pod); err != nil {
		t.Fatal(err)
	}
	got := m.AdvanceTo(nil, at(10))
	want := []simnode.Transition{
		{At: at(2.2), UID: "a", Phase: simnode.Starting},
		{At: at(2.5), UID: "a", Phase: simnode.Running},
		{At: at(4.5), UID: "a", Phase: simnode.Succeeded},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(time.Microsecond)); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
	if _, ok := m.NextChange(); ok {
		t.Error("an empty node expects a change")
	}
}

// The reading over a window of ten seconds with n running pods.
func reading(t testing.TB, p simnode.Params, pods int) simnode.Reading {
	t.Helper()
	m := newModel(t, p)
	bind(t, m, pods, time.Hour, 0)
	m.AdvanceTo(nil, at(5))
	m.Read()
	m.AdvanceTo(nil, at(65))
	r, ok := m.Read()
	if !ok {
		t.Fatal("no reading")
	}
	return r
}

func TestPressureAgainstPodCount(t *testing.T) {
	tests := []struct {
		pods                     int
		minPressure, maxPressure float64
		utilisation              float64
	}{
		{0, 0, .01, .0075},
		{2, 0, .01, .5075},
		{3, 0, .02, .7575},
		{4, .02, .3, 1},
		{5, .99, 1, 1},
		{12, .99, 1, 1},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint("pods=", test.pods), func(t *testing.T) {
			r := reading(t, simnode.Params{Noise: 1e-12, Seed: 7}, test.pods)
			if r.Pressure < test.minPressure || r.Pressure > test.maxPressure {
				t.Errorf("pressure %.3f, want %g to %g", r.Pressure, test.minPressure, test.maxPressure)
			}
			if math.Abs(r.Utilisation-test.utilisation) > .01 {
				t.Errorf("utilisation %.3f, want %g", r.Utilisation, test.utilisation)
			}
		})
	}
}

func TestReadRoundsToJiffies(t *testing.T) {
	m := newModel(t, quiet(2))
	bind(t, m, 1, time.Hour, 0)
	m.AdvanceTo(nil, at(3))
	m.Read()
	for i := range 100 {
		m.AdvanceTo(nil, at(3.1+float64(i)/10+.0037))
		r, ok := m.Read()
		if !ok {
			t.Fatal("no reading")
		}
		if r.Utilisation < .4 || r.Utilisation > .6 {
			t.Fatalf("sample %d: utilisation %g is more than two jiffies from .5", i, r.Utilisation)
		}
	}
	if _, ok := m.Read(); ok {
		t.Error("a reading over no time")
	}
}

// Cutting a span into steps, reading in between, must not change what happens.
func TestStepsDoNotMatter(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		whole, cut := newModel(t, simnode.Params{Seed: seed}), newModel(t, simnode.Params{Seed: seed})
		for i := range 12 {
			p := simnode.Pod{
				UID:     fmt.Sprint(i),
				Work:    time.Duration(rng.ExpFloat64() * 5e9),
				Memory:  rng.Float64() * 4e9,
				Startup: simnode.StartupLatency(rng),
			}
			for _, m := range []*simnode.Model{whole, cut} {
				if err := m.Bind(epoch, p); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := whole.AdvanceTo(nil, at(300))
		var got []simnode.Transition
		for now := epoch; now.Before(at(300)); {
			now = now.Add(time.Duration(rng.Float64() * 2e8))
			got = cut.AdvanceTo(got, now)
			cut.Read()
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(10*time.Microsecond)); diff != "" {
			t.Fatalf("seed %d (-whole +cut):\n%s", seed, diff)
		}
		if len(want) != 36 {
			t.Fatalf("seed %d: %d transitions, want 36", seed, len(want))
		}
	}
}

func TestKill(t *testing.T) {
	m := newModel(t, quiet(4))
	bind(t, m, 2, time.Minute, 0)
	m.AdvanceTo(nil, at(2))
	if !m.Kill("pod-0") || m.Kill("pod-0") {
		t.Error("Kill does not say whether the pod was there")
	}
	if got := m.Running(nil); !slices.Equal(got, []string{"pod-1"}) {
		t.Errorf("running pods %v", got)
	}
}

func TestBindRejects(t *testing.T) {
	m := newModel(t, simnode.Params{})
	bind(t, m, 1, time.Second, 0)
	tests := []struct {
		name string
		pod  simnode.Pod
		want error
	}{
		{"no UID", simnode.Pod{}, simnode.ErrBadPod},
		{"negative work", simnode.Pod{UID: "b", Work: -1}, simnode.ErrBadPod},
		{"NaN memory", simnode.Pod{UID: "b", Memory: math.NaN()}, simnode.ErrBadPod},
		{"negative startup", simnode.Pod{UID: "b", Startup: -1}, simnode.ErrBadPod},
		{"twice", simnode.Pod{UID: "pod-0"}, simnode.ErrDuplicatePod},
	}
	for _, test := range tests {
		if err := m.Bind(epoch, test.pod); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
}

func TestParamsValidate(t *testing.T) {
	tests := []struct {
		field  string
		params simnode.Params
	}{
		{"", simnode.Params{}},
		{"Cores", simnode.Params{Cores: -1}},
		{"Memory", simnode.Params{Memory: math.Inf(1)}},
		{"BaseMemory", simnode.Params{BaseMemory: 1}},
		{"Background", simnode.Params{Background: 3}},
		{"Burst", simnode.Params{Burst: -1}},
		{"StartWork", simnode.Params{StartWork: -1}},
		{"StopWork", simnode.Params{StopWork: -1}},
		{"Slowdown", simnode.Params{Slowdown: .5}},
		{"Noise", simnode.Params{Noise: math.NaN()}},
	}
	for _, test := range tests {
		err := test.params.Validate()
		var field *simnode.FieldError
		if test.field == "" {
			if err != nil {
				t.Errorf("the zero value: %v", err)
			}
		} else if !errors.As(err, &field) || field.Field != test.field {
			t.Errorf("error %v, want one of %s", err, test.field)
		}
	}
}

func TestStartupLatencyQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	draws := make([]time.Duration, 20000)
	for i := range draws {
		draws[i] = simnode.StartupLatency(rng)
	}
	slices.Sort(draws)
	for _, q := range []struct{ p, want float64 }{{.5, 1}, {.99, 4}} {
		got := draws[int(q.p*float64(len(draws)))].Seconds()
		if math.Abs(got-q.want) > .1*q.want {
			t.Errorf("p%g = %.2f s, want %g", 100*q.p, got, q.want)
		}
	}
}

func BenchmarkAdvance(b *testing.B) {
	for _, pods := range []int{0, 4, 16} {
		b.Run(fmt.Sprint("pods=", pods), func(b *testing.B) {
			m := newModel(b, simnode.Params{})
			bind(b, m, pods, 1000*time.Hour, 0)
			b.ReportAllocs()
			now := epoch
			for b.Loop() {
				now = now.Add(100 * time.Millisecond)
				m.AdvanceTo(nil, now)
				m.Read()
			}
		})
	}
}
