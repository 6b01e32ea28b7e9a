package continuous_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/continuous"
)

var update = flag.Bool("update", false, "write the golden files")

var start = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

func step(t testing.TB, c continuous.Config, at time.Time, services ...continuous.Service) []continuous.Factors {
	t.Helper()
	factors, err := c.Step(nil, at, services)
	if err != nil {
		t.Fatal(err)
	}
	return factors
}

// limited returns a service that a limit throttles for a share of its periods, whose target is four
// times its median.
func limited(throttled float64) continuous.Service {
	return continuous.Service{Throttled: throttled, Limited: true, Target: .4, Median: .1}
}

var near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 })

func TestRules(t *testing.T) {
	with := func(s continuous.Service, change func(*continuous.Service)) continuous.Service {
		change(&s)
		return s
	}
	for _, test := range []struct {
		name     string
		services []continuous.Service
		want     []float64 // factors of CPU
	}{
		{name: "nobody is held up", services: []continuous.Service{limited(0), limited(0)}, want: []float64{1, 1}},
		{name: "one is", services: []continuous.Service{limited(.02), limited(0), limited(0), limited(0)}, want: []float64{1.2, .9, .9, .9}},
		{name: "too little to matter", services: []continuous.Service{limited(.0069), limited(0)}, want: []float64{1, .9}},
		{name: "just enough to matter, all alike", services: []continuous.Service{limited(.007), limited(.007)}, want: []float64{1.2, 1.2}},
		{name: "no median known", services: []continuous.Service{with(limited(0), func(s *continuous.Service) { s.Median = 0 }), limited(.02)}, want: []float64{1, 1.2}},
		{name: "one badly", services: []continuous.Service{limited(.05), limited(.0009)}, want: []float64{1.5, .9}},
		{name: "all alike", services: []continuous.Service{limited(.02), limited(.02)}, want: []float64{1.2, 1.2}},
		{name: "healthy, within the band", services: []continuous.Service{limited(.0009), limited(.001)}, want: []float64{1, 1}},
		{name: "not healthy, below the band", services: []continuous.Service{limited(.001), limited(.02)}, want: []float64{1, 1.2}},
		{name: "no limit", services: []continuous.Service{with(limited(0), func(s *continuous.Service) { s.Limited = false }), limited(.02)}, want: []float64{1, 1.2}},
		{name: "nothing known", services: []continuous.Service{{Limited: true}, limited(.02)}, want: []float64{1, 1.2}},
		{
			name:     "no less than it uses",
			services: []continuous.Service{with(limited(0), func(s *continuous.Service) { s.Median = .38 }), limited(.02)}, want: []float64{.95, 1.2},
		},
		{
			name:     "it uses more than its target",
			services: []continuous.Service{with(limited(0), func(s *continuous.Service) { s.Median = .5 }), limited(.02)}, want: []float64{1, 1.2},
		},
		{
			name: "what it uses has grown above what it was lowered to",
			services: []continuous.Service{with(limited(.005), func(s *continuous.Service) {
				s.Factors, s.Median = continuous.Factors{CPU: .5, Memory: 1, At: start}, .3
			})}, want: []float64{.75},
		},
		{
			name:     "the least",
			services: []continuous.Service{with(limited(0), func(s *continuous.Service) { s.Factors = continuous.Factors{CPU: .51, At: start} }), limited(.02)}, want: []float64{.5, 1.2},
		},
		{
			name:     "the most",
			services: []continuous.Service{with(limited(.5), func(s *continuous.Service) { s.Factors = continuous.Factors{CPU: 7.9, At: start} })}, want: []float64{8},
		},
	} {
		for i, f := range step(t, continuous.Config{}, start, test.services...) {
			if diff := cmp.Diff(continuous.Factors{CPU: test.want[i], Memory: 1, At: start}, f, near); diff != "" {
				t.Errorf("%s, service %d: %s", test.name, i, diff)
			}
		}
	}
}

func TestMemoryIsRaisedAlone(t *testing.T) {
	killed, stalled, well := limited(0), limited(0), limited(0)
	killed.Killed, stalled.Stalled, well.Stalled = true, .01, .0099
	well.Factors = continuous.Factors{CPU: 1, Memory: .5, At: start}
	for i, want := range []float64{1.2, 1.2, 1} {
		if got := step(t, continuous.Config{}, start, killed, stalled, well)[i]; math.Abs(got.Memory-want) > 1e-9 || got.CPU != 1 {
			t.Errorf("service %d: %+v, want %v", i, got, want)
		}
	}
	killed.Factors = continuous.Factors{Memory: 7, At: start}
	if got := step(t, continuous.Config{}, start, killed)[0].Memory; got != 8 {
		t.Errorf("raised to %v", got)
	}
}

// A factor that was raised decays to 1, half of the way in 24 hours.
func TestDecays(t *testing.T) {
	s := limited(0)
	s.Factors = continuous.Factors{CPU: 3, Memory: 2, At: start}
	got := step(t, continuous.Config{}, start.Add(24*time.Hour), s)[0]
	if diff := cmp.Diff(continuous.Factors{CPU: 2, Memory: 1.5, At: start.Add(24 * time.Hour)}, got, near); diff != "" {
		t.Error(diff)
	}
	if got := step(t, continuous.Config{}, start.Add(24*24*time.Hour), s)[0]; got.CPU != 1 || got.Memory != 1 {
		t.Errorf("after 24 half-lives %+v", got)
	}
	if got := step(t, continuous.Config{}, start.Add(-time.Hour), s)[0]; got.CPU != 3 {
		t.Errorf("by a clock set back %+v", got)
	}
	s.Factors.At = time.Time{}
	if got := step(t, continuous.Config{}, start, s)[0]; got.CPU != 1 {
		t.Errorf("of no time %+v", got)
	}
}

func TestOn(t *testing.T) {
	a := profile.Amounts{CPU: 2, Memory: 1e9}
	if got := (continuous.Factors{}).On(a); got != a {
		t.Errorf("the zero value makes it %+v", got)
	}
	if got, want := (continuous.Factors{CPU: 1.5, Memory: 2}).On(a), (profile.Amounts{CPU: 3, Memory: 2e9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestGolden runs an application for a day and a half.
func TestGolden(t *testing.T) {
	var trace strings.Builder
	factors := make([]continuous.Factors, 3)
	needs := []float64{1.9, 1, .6} // the factor below which a limit holds it up
	for i := range 40 {
		at := start.Add(time.Duration(i) * 10 * time.Minute)
		if i >= 20 {
			at = at.Add(time.Duration(i-20) * 90 * time.Minute)
		}
		if i == 20 {
			needs = []float64{.4, .4, .4}
		}
		var services []continuous.Service
		for n, f := range factors {
			s := limited(0)
			s.Factors = f
			if of := max(f.CPU, 0); i == 0 || of < needs[n] {
				s.Throttled = min(.3*max(needs[n]-max(of, .5), 0), 1)
			}
			s.Killed = n == 1 && i == 5
			services = append(services, s)
		}
		factors = step(t, continuous.Config{}, at, services...)
		fmt.Fprintf(&trace, "%s", at.Format("02 15:04"))
		for n, f := range factors {
			fmt.Fprintf(&trace, "  %.4f → %.3f %.3f", services[n].Throttled, f.CPU, f.Memory)
		}
		trace.WriteByte('\n')
	}
	golden := filepath.Join("testdata", "trace.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(trace.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), trace.String()); diff != "" {
		t.Error(diff)
	}
}

// With constant input a factor ends in a fixed point, or in a cycle of one step; and none is
// lowered below use, or out of bounds.
func TestConstantInputSettles(t *testing.T) {
	for seed := range uint64(90) {
		rng := rand.New(rand.NewPCG(seed, 2))
		const most = 8.
		services := make([]continuous.Service, 1+rng.IntN(8))
		for i := range services {
			services[i] = continuous.Service{
				Throttled: []float64{0, 0, .0005, .005, .02, .3}[rng.IntN(6)], Limited: rng.IntN(4) > 0, Target: rng.Float64(), Median: rng.Float64(),
				Killed: rng.IntN(9) == 0, Stalled: rng.Float64() / 50,
				Factors: continuous.Factors{CPU: .5 + 7.5*rng.Float64(), Memory: 1 + 7*rng.Float64(), At: start},
			}
		}
		var last [3][]continuous.Factors
		for n := range 1500 {
			at := start.Add(time.Duration(n) * 10 * time.Minute)
			factors := step(t, continuous.Config{}, at, services...)
			for i, f := range factors {
				s := services[i]
				if !(f.CPU >= .5) || f.CPU > most || !(f.Memory >= 1) || f.Memory > most {
					t.Fatalf("seed %d: %+v of %+v", seed, f, s)
				}
				if use := f.CPU * s.Target; f.CPU < min(s.Factors.CPU, 1) && use < min(s.Median, s.Target)*(1-1e-9) {
					t.Fatalf("seed %d: lowered to %v, uses %v", seed, use, s.Median)
				}
				services[i].Factors = f
			}
			last[n%3] = factors
		}
		// A decaying value is within a thousandth of its limit by now.
		for i := range services {
			a, b, c := last[0][i].CPU, last[1][i].CPU, last[2][i].CPU
			if math.Abs(a-b) > 2e-3 && math.Abs(b-c) > 2e-3 && math.Abs(a-c) > 2e-3 {
				t.Fatalf("seed %d, service %d goes on: %v %v %v of %+v", seed, i, a, b, c, services[i])
			}
			if ratio := max(a, b, c) / min(a, b, c); ratio > 1.5+1e-9 {
				t.Fatalf("seed %d, service %d: more than a step: %v %v %v", seed, i, a, b, c)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	good := limited(.1)
	for name, change := range map[string]func(*continuous.Service){
		"Service[1].Throttled":      func(s *continuous.Service) { s.Throttled = 1.1 },
		"Service[1].Stalled":        func(s *continuous.Service) { s.Stalled = math.NaN() },
		"Service[1].Target":         func(s *continuous.Service) { s.Target = -1 },
		"Service[1].Median":         func(s *continuous.Service) { s.Median = math.Inf(1) },
		"Service[1].Factors.CPU":    func(s *continuous.Service) { s.Factors.CPU = math.Inf(1) },
		"Service[1].Factors.Memory": func(s *continuous.Service) { s.Factors.Memory = -1 },
	} {
		bad := good
		change(&bad)
		dst := []continuous.Factors{{CPU: 3}}
		got, err := continuous.Config{}.Step(dst, start, []continuous.Service{good, bad})
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, profile.ErrInvalid) || len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := (continuous.Config{Every: -1}).Step(nil, start, nil); !errors.Is(err, profile.ErrInvalid) {
		t.Error(err)
	}
	for _, c := range []continuous.Config{{}, {Every: time.Second}} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// For any numbers, factors are within bounds or refused.
func FuzzStep(f *testing.F) {
	f.Add(.02, .3, .1, .0, 1.2, int64(time.Hour))
	f.Add(0., 0., 0., .5, 9., int64(-1))
	f.Add(math.NaN(), math.Inf(1), -1., 2., 0., int64(0))
	f.Fuzz(func(t *testing.T, throttled, target, median, stalled, factor float64, age int64) {
		s := continuous.Service{
			Throttled: throttled, Limited: age%2 == 0, Target: target, Median: median, Stalled: stalled, Killed: age%3 == 0,
			Factors: continuous.Factors{CPU: factor, Memory: factor, At: start},
		}
		factors, err := continuous.Config{}.Step(nil, start.Add(time.Duration(age)), []continuous.Service{s, limited(.02)})
		if err != nil {
			if !errors.Is(err, profile.ErrInvalid) {
				t.Error(err)
			}
			return
		}
		for _, got := range factors {
			if !(got.CPU >= .5) || got.CPU > 8 || !(got.Memory >= 1) || got.Memory > 8 {
				t.Errorf("%+v of %+v", got, s)
			}
		}
	})
}

func ExampleConfig_Step() {
	application := []continuous.Service{
		{Throttled: .03, Limited: true, Target: .2, Median: .15},
		{Throttled: 0, Limited: true, Target: .2, Median: .05},
	}
	factors, err := continuous.Config{}.Step(nil, start, application)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, f := range factors {
		fmt.Printf("%.2f cores\n", f.On(profile.Amounts{CPU: application[i].Target}).CPU)
	}
	// Output:
	// 0.24 cores
	// 0.18 cores
}
