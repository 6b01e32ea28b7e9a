package tuning

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
)

// runOne runs one scenario, tuner and seed.
func runOne(c Config) (result, error) {
	c = c.withDefaults()
	rows, err := Run(context.Background(), []Scenario{c.Scenario}, []Tuner{c.Tuner}, []uint64{c.seed}, c, 1)
	if err != nil {
		return result{}, err
	}
	return rows[0].result, nil
}

func run(t testing.TB, c Config) result {
	t.Helper()
	r, err := runOne(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The bars apply to tuning seeds: held-out ones are the laboratory's.
func TestSpazioSettles(t *testing.T) {
	if testing.Short() {
		return // ExampleRun is its first hour
	}
	for _, scenario := range []Scenario{cut} {
		r := run(t, Config{Scenario: scenario, seed: 4})
		if r.Settled > 50 || r.Requests > 1.25*r.Clairvoyant || r.Throttled > .01 {
			t.Errorf("%s: settled after %d min, %.2f of the clairvoyant's requests, %.4f held up", scenario, r.Settled, r.Requests/r.Clairvoyant, r.Throttled)
		}
		if len(r.Minutes) != 180 || math.Abs(r.Limits-2*r.Requests) > 1e-9 {
			t.Errorf("%d minutes, limits %v of requests %v", len(r.Minutes), r.Limits, r.Requests)
		}
	}
}

// The thesis's text leaves services throttled; its components do nothing at all.
func TestTheThesissDoesNot(t *testing.T) {
	if testing.Short() {
		return // two hours of one goroutine's arithmetic
	}
	seed := run(t, Config{Tuner: seed, seed: 1, Minutes: 60})
	components := run(t, Config{Tuner: seedComponents, seed: 1, Minutes: 60})
	if seed.Throttled < .05 || components.Throttled < .05 {
		t.Errorf("held up %v and %v", seed.Throttled, components.Throttled)
	}
	if cmp.Equal(seed.Minutes, components.Minutes) {
		t.Error("the application makes no difference")
	}
}

func TestScenarios(t *testing.T) {
	if testing.Short() {
		return // four hours of one goroutine's arithmetic
	}
	var limits []float64
	for _, s := range Scenarios() {
		r := run(t, Config{Scenario: s, Tuner: none, seed: 2, Minutes: 60})
		limits = append(limits, r.Minutes[0].Limits)
		first := r.Minutes[0]
		if first.Requests != r.Requests || first.Limits != r.Limits {
			t.Errorf("%s: nobody changes anything, and it is %+v, then %v", s, first, r.Requests)
		}
		sum, most := 0., 0.
		for _, m := range first.Services {
			sum, most = sum+m.Request, max(most, m.Throttled)
		}
		if len(first.Services) != 10 || math.Abs(sum-first.Requests) > 1e-9 || most != first.Throttled {
			t.Errorf("%s: of each service %+v, of all %+v", s, first.Services, first)
		}
		// All of the memory is touched once, in the first ten minutes.
		touched, held := 0., 0.
		for minute, m := range r.Minutes {
			for _, s := range m.Services {
				touched += 60 * 4096 * s.Faults
				if held = s.Memory; minute >= 10 && s.Faults != 0 {
					t.Errorf("%s touches memory in minute %d", s.Service, minute)
				}
			}
		}
		if all := .4 * 912 * (1 << 20); math.Abs(touched/all-1) > 1e-9 || math.Abs(held/(.4*64*(1<<20))-1) > 1e-9 {
			t.Errorf("%s: %v bytes touched of %v, %v held by shipping", s, touched, all, held)
		}
		share := map[Scenario]float64{unlimited: 0, developers: 1, cut: 2. / 3}[s]
		if s != cutSome && (math.Abs(r.MemoryRequests-share*912*(1<<20)) > 1 || math.Abs(r.MemoryLimits-share*1774*(1<<20)) > 1) {
			t.Errorf("%s: memory requests %v, limits %v", s, r.MemoryRequests, r.MemoryLimits)
		}
		if r.P95 < r.Latency || r.P98 < r.P95 || r.P99 < r.P98 {
			t.Errorf("%s: latency %v, percentiles %v, %v, %v", s, r.Latency, r.P95, r.P98, r.P99)
		}
		if s == unlimited && (r.Throttled != 0 || r.Settled != 0) {
			t.Errorf("without limits %v held up, settled after %d", r.Throttled, r.Settled)
		}
	}
	// The developers' come to 2.2 cores without the cache and the load generator.
	if limits[0] != 0 || math.Abs(limits[1]-2.2) > 1e-9 || math.Abs(limits[2]-2.2*2/3) > 1e-9 || limits[3] < limits[2] || limits[3] >= limits[1] {
		t.Errorf("limits %v", limits)
	}
}

// A visit takes as many responses as there are calls: of two whole and half a one, which is 100 times
// as long, half of the visits have the long one. Those that call a service without responses have no time.
func TestVisitSeconds(t *testing.T) {
	services := []service{{calls: 2}, {calls: .5}, {calls: 0}}
	seconds := visitSeconds(rand.New(rand.NewPCG(1, 2)), []float64{7}, services, 100, [][]float64{{1, 2}, {100}, nil})
	if len(seconds) != 6001 || seconds[0] != 7 {
		t.Fatalf("%d visits, %v first", len(seconds), seconds[0])
	}
	count := map[float64]float64{}
	for _, s := range seconds[1:] {
		count[s] += 1. / 6000
	}
	want := map[float64]float64{2: .125, 3: .25, 4: .125, 102: .125, 103: .25, 104: .125}
	if d := cmp.Diff(want, count, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < .02 })); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	services[2].calls = .25
	known := visitSeconds(rand.New(rand.NewPCG(1, 2)), nil, services, 100, [][]float64{{1, 2}, {100}, nil})
	if n := float64(len(known)); math.Abs(n/6000-.75) > .02 || slices.Min(known) < 2 {
		t.Errorf("%v of 6000 visits have a time, want three quarters", n)
	}
}

// A minute without responses is not one of quick ones: a service that is held up nearly always has the
// response time of before.
func TestNoResponses(t *testing.T) {
	s, err := newServer(Config{}.withDefaults(), 0, service{calls: 1, work: .5}, 4, 4, memory{})
	if err != nil {
		t.Fatal(err)
	}
	before := s.serve()
	if err := s.model.Resize(pod, 1e-6); err != nil {
		t.Fatal(err)
	}
	s.serve()
	if after := s.serve(); len(s.responses) > 0 || !(after.response >= before.response && before.response > .5) {
		t.Errorf("%d responses, of %v s, %v before", len(s.responses), after.response, before.response)
	}
}

// Table 6.3's limits.
func TestBoutique(t *testing.T) {
	names, sum := []string{}, .125+.5 // the cache and the load generator
	requests, limits := 200+256., 256+512.
	for _, s := range boutique() {
		names = append(names, s.name)
		sum += s.limit
		requests, limits = requests+s.memory.request/(1<<20), limits+s.memory.limit/(1<<20)
	}
	if len(names) != 10 || math.Abs(sum-2.825) > 1e-9 || requests != 1368 || limits != 2542 {
		t.Errorf("%d services of %v cores, %v and %v MiB", len(names), sum, requests, limits)
	}
}

func TestRowsDoNotDependOnWorkers(t *testing.T) {
	tuners := []Tuner{recommender, seed}
	if testing.Short() {
		tuners = tuners[1:]
	}
	all := func(workers int) Runs {
		rows, err := Run(t.Context(), []Scenario{cut}, tuners, []uint64{1, 2}, Config{Minutes: 60}, workers)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := all(3)
	if testing.Short() {
		return
	}
	if diff := cmp.Diff(all(1), rows, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	if r := rows[3]; r.Tuner != seed || r.Seed != 2 || len(r.Minutes) != 60 {
		t.Errorf("the last is %s, %d", r.Tuner, r.Seed)
	}
	if rows[0].Clairvoyant == rows[1].Clairvoyant || rows[0].Clairvoyant != rows[2].Clairvoyant {
		t.Error("the application is not the seed's")
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"Config.Scenario": {Scenario: "x"}, "Config.Tuner": {Tuner: "x"}, "Config.Minutes": {Minutes: 59},
	} {
		_, err := runOne(c)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Config{Minutes: 1441}).Validate(); !errors.Is(err, errInvalid) {
		t.Error(err)
	}
	if _, err := Run(t.Context(), Scenarios(), []Tuner{"x"}, []uint64{1}, Config{}, 1); !errors.Is(err, errInvalid) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Scenarios(), Tuners(), []uint64{1}, Config{}, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
