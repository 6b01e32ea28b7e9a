package connection_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
)

var start = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

func job(name string) connection.Job {
	return connection.Job{Namespace: "shop", Kind: "Deployment", Name: name}
}

func flow(from, to string, request, response float64) connection.Flow {
	return connection.Flow{From: job(from), To: job(to), Request: request, Response: response}
}

func graph(t testing.TB, c connection.Config) *connection.Graph {
	t.Helper()
	g, err := connection.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func observe(t testing.TB, g *connection.Graph, at time.Time, span time.Duration, flows ...connection.Flow) {
	t.Helper()
	if err := g.Observe(at, span, flows); err != nil {
		t.Fatal(err)
	}
}

// near ignores the digits that halving loses.
var near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1) })

func TestRatesAreOfTheTimeLookedAt(t *testing.T) {
	g := graph(t, connection.Config{}.WithHalfLife(time.Hour))
	observe(t, g, start, time.Minute, flow("web", "cart", 100, 400), flow("web", "ad", 10, 20))
	want := []connection.Flow{flow("web", "cart", 100, 400), flow("web", "ad", 10, 20)}
	if diff := cmp.Diff(want, g.GetJobConnections(job("web")), near); diff != "" {
		t.Error(diff)
	}
	// Two hours on a minute of four times as much weighs four times as much as the first.
	observe(t, g, start.Add(2*time.Hour), time.Minute, flow("web", "cart", 400, 0), flow("web", "ad", 5, 10), flow("web", "ad", 5, 10))
	want = []connection.Flow{flow("web", "cart", (100+4*400)/5., 400/5.), flow("web", "ad", 10, 20)}
	if diff := cmp.Diff(want, g.GetJobConnections(job("web")), near); diff != "" {
		t.Error(diff)
	}
	// A minute of silence counts as one.
	g = graph(t, connection.Config{}.WithHalfLife(time.Hour))
	observe(t, g, start, time.Minute, flow("web", "cart", 100, 400))
	observe(t, g, start, time.Minute)
	if diff := cmp.Diff([]connection.Flow{flow("web", "cart", 50, 200)}, g.GetJobConnections(job("web")), near); diff != "" {
		t.Error(diff)
	}
	if got := g.GetJobConnections(job("unknown")); got != nil {
		t.Errorf("an unknown job calls %v", got)
	}
}

// A late observation has the weight that it would have had in time.
func TestOrderDoesNotMatter(t *testing.T) {
	at := []time.Time{start, start.Add(3 * time.Hour), start.Add(40 * time.Minute)}
	var want []connection.Flow
	for i, order := range [][]int{{0, 2, 1}, {0, 1, 2}} {
		g := graph(t, connection.Config{}.WithHalfLife(time.Hour))
		for _, n := range order {
			observe(t, g, at[n], time.Minute, flow("web", "cart", float64(100*(n+1)), 7))
		}
		got := g.GetJobConnections(job("web"))
		if i == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got, near); diff != "" {
			t.Error(diff)
		}
	}
}

func TestForgotten(t *testing.T) {
	g := graph(t, connection.Config{}.WithHalfLife(time.Minute))
	observe(t, g, start, time.Minute, flow("web", "cart", 100, 100), flow("web", "ad", 1, 1))
	for minute := 1; minute < 8; minute++ {
		observe(t, g, start.Add(time.Duration(minute)*time.Minute), time.Minute, flow("web", "cart", 100, 100))
	}
	if got := g.GetJobConnections(job("web")); len(got) != 2 {
		t.Errorf("%d connections before eight half-lives have passed: %v", len(got), got)
	}
	observe(t, g, start.Add(8*time.Minute), time.Minute, flow("web", "cart", 100, 100))
	if got := g.GetJobConnections(job("web")); len(got) != 1 || got[0].To != job("cart") {
		t.Errorf("after eight: %v", got)
	}
	if got := g.Jobs(); len(got) != 3 {
		t.Errorf("a job is forgotten that was looked at a while ago: %v", got)
	}
	observe(t, g, start.Add(16*time.Minute), time.Minute, flow("web", "cart", 100, 100))
	if diff := cmp.Diff([]connection.Job{job("cart"), job("web")}, g.Jobs()); diff != "" {
		t.Error(diff)
	}
}

// A callee stays known, however long it is not reviewed itself.
func TestCalleesStay(t *testing.T) {
	called := graph(t, connection.Config{}.WithHalfLife(time.Minute))
	observe(t, called, start, time.Minute, flow("web", "cart", 1, 1))
	observe(t, called, start.Add(7*time.Minute), time.Minute)
	if got := called.Jobs(); len(got) != 2 {
		t.Errorf("known: %v", got)
	}
}

func TestBounds(t *testing.T) {
	g := graph(t, connection.Config{MaxJobs: 3}.WithMaxConnections(2))
	observe(t, g, start, time.Minute, flow("web", "a", 1, 1))
	observe(t, g, start.Add(time.Minute), time.Minute, flow("web", "b", 5, 5))
	observe(t, g, start.Add(2*time.Minute), time.Minute, flow("x", "y", 5, 5))
	if got := g.Jobs(); len(got) != 3 {
		t.Errorf("%d jobs: %v", len(got), got)
	}
	g = graph(t, connection.Config{}.WithMaxConnections(2))
	observe(t, g, start, time.Minute, flow("web", "a", 1, 1), flow("web", "b", 5, 5), flow("web", "c", 0, 3))
	if diff := cmp.Diff([]connection.Flow{flow("web", "b", 5, 5), flow("web", "c", 0, 3)}, g.GetJobConnections(job("web")), near); diff != "" {
		t.Error(diff)
	}
	observe(t, g, start, time.Minute, flow("web", "web", 100, 100))
	if got := g.GetJobConnections(job("web")); len(got) != 2 {
		t.Errorf("it calls itself: %v", got)
	}
}

// Beyond the bound the least recently reviewed job goes, and of several the first by name, as with
// a list that is searched each time.
func TestWhoMakesRoom(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		most := 1 + rng.IntN(8)
		g, updated := graph(t, connection.Config{MaxJobs: most}), map[string]time.Time{}
		oldest := func() (of string) {
			for name, at := range updated {
				if of == "" || at.Before(updated[of]) || at.Equal(updated[of]) && name < of {
					of = name
				}
			}
			return of
		}
		for range 300 {
			name, at := string(rune('a'+rng.IntN(12))), start.Add(time.Duration(rng.IntN(20))*time.Minute)
			if err := g.Add(at, job(name)); err != nil {
				t.Fatal(err)
			}
			last, known := updated[name]
			if !known && len(updated) == most {
				delete(updated, oldest())
			}
			if !known || at.After(last) {
				updated[name] = at
			}
			var want []connection.Job
			for _, name := range slices.Sorted(maps.Keys(updated)) {
				want = append(want, job(name))
			}
			if diff := cmp.Diff(want, g.Jobs()); diff != "" {
				t.Fatalf("seed %d: %s", seed, diff)
			}
		}
	}
}

// A removed job takes its connections along, as caller and as callee.
func TestWhoMakesRoomIsCalledByNobody(t *testing.T) {
	g := graph(t, connection.Config{MaxJobs: 3})
	observe(t, g, start, time.Minute, flow("web", "cart", 1, 1), flow("cart", "db", 1, 1))
	for i, name := range []string{"x", "y"} {
		if err := g.Add(start.Add(time.Duration(1+i)*time.Second), job(name)); err != nil {
			t.Fatal(err)
		}
	}
	// Of the three, which were reviewed together, web remains.
	if diff := cmp.Diff([]connection.Job{job("web"), job("x"), job("y")}, g.Jobs()); diff != "" {
		t.Error(diff)
	}
	for _, of := range g.Jobs() {
		if got := g.GetJobConnections(of); len(got) != 0 || len(g.Bandwidths(of)) != 0 {
			t.Errorf("%v calls %v", of, got)
		}
	}
	// There is no room for two.
	g = graph(t, connection.Config{MaxJobs: 1})
	observe(t, g, start, time.Minute, flow("web", "cart", 1, 1), flow("web", "db", 1, 1))
	for _, of := range g.Jobs() {
		if got := g.GetJobConnections(of); len(got) != 0 {
			t.Errorf("%v calls %v, which is no job", of, got)
		}
	}
}

// A job sends its requests, and its answers to its callers.
func TestBandwidths(t *testing.T) {
	g := graph(t, connection.Config{})
	observe(t, g, start, time.Minute, flow("web", "cart", 100, 400), flow("cart", "web", 7, 5), flow("cart", "db", 50, 60), flow("web", "db", 1, 50))
	sent := func(from, to string, rate float64) connection.Flow {
		return connection.Flow{From: job(from), To: job(to), Request: rate}
	}
	for name, want := range map[string][]connection.Flow{
		"web":  {sent("web", "cart", 105), sent("web", "db", 1)},
		"cart": {sent("cart", "web", 407), sent("cart", "db", 50)},
		"db":   {sent("db", "cart", 60), sent("db", "web", 50)},
		"x":    nil,
	} {
		if diff := cmp.Diff(want, g.Bandwidths(job(name)), near); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	g := graph(t, connection.Config{})
	observe(t, g, start, time.Minute, flow("web", "cart", 1, 1))
	good := flow("web", "cart", 2, 2)
	with := func(change func(f *connection.Flow)) []connection.Flow {
		f := good
		change(&f)
		return []connection.Flow{good, f}
	}
	for name, err := range map[string]error{
		"Flow[1].From":     g.Observe(start, time.Minute, with(func(f *connection.Flow) { f.From.Name = "" })),
		"Flow[1].To":       g.Observe(start, time.Minute, with(func(f *connection.Flow) { f.To.Namespace = "" })),
		"Flow[1].Request":  g.Observe(start, time.Minute, with(func(f *connection.Flow) { f.Request = math.NaN() })),
		"Flow[1].Response": g.Observe(start, time.Minute, with(func(f *connection.Flow) { f.Response = 1<<50 + 1 })),
		"at":               g.Observe(time.Unix(-1, 0), time.Minute, nil),
		"span":             g.Observe(start, 0, nil),
		"job":              g.Add(start, connection.Job{}),
	} {
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, profile.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, err := range []error{
		g.Observe(start, time.Minute, with(func(f *connection.Flow) { f.Request = -1 })),
		g.Observe(start, time.Minute, with(func(f *connection.Flow) { f.Response = -1 })),
		g.Observe(time.Time{}, time.Minute, nil),
		g.Observe(start, 366*24*time.Hour, nil),
		g.Add(time.Time{}, job("web")),
	} {
		if !errors.Is(err, profile.ErrInvalid) {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]connection.Flow{flow("web", "cart", 1, 1)}, g.GetJobConnections(job("web")), near); diff != "" {
		t.Errorf("refused, and changed: %s", diff)
	}
	if _, err := connection.New(connection.Config{MaxJobs: -1}); !errors.Is(err, profile.ErrInvalid) {
		t.Error(err)
	}
	if _, err := connection.New(connection.Config{MaxJobs: 1}); err != nil {
		t.Error(err)
	}
}

// unlabelled is the label of jobs that have none.
func unlabelled(connection.Job) string { return "" }

func applications(g *connection.Graph, label func(connection.Job) string) []string {
	var lines []string
	for _, a := range g.Applications(label) {
		line := a.Name + ": "
		for _, j := range a.Jobs {
			line += j.Name + " "
		}
		lines = append(lines, line)
	}
	return lines
}

// The thesis's test application has no cycle of calls.
func TestApplications(t *testing.T) {
	g := graph(t, connection.Config{})
	observe(t, g, start, time.Minute,
		flow("web", "cart", 100, 100), flow("web", "ad", 1, 1), flow("cart", "redis", 10, 10),
		flow("web", "metrics", .5, .5), flow("cron", "metrics", 5, 0), flow("a", "b", 1, 1), flow("b", "a", 1, 1),
		flow("idle", "web", 0, 0))
	want := []string{"a: a b ", "ad: ad ", "cart: cart redis web ", "cron: cron metrics ", "idle: idle "}
	if diff := cmp.Diff(want, applications(g, unlabelled)); diff != "" {
		t.Errorf("by calls of 1 %%: %s", diff)
	}
	label := func(j connection.Job) string {
		if slices.Contains([]string{"web", "metrics"}, j.Name) {
			return "shop"
		}
		return ""
	}
	want = []string{"a: a b ", "ad: ad ", "cart: cart redis ", "cron: cron ", "idle: idle ", "shop: metrics web "}
	if diff := cmp.Diff(want, applications(g, label)); diff != "" {
		t.Errorf("with labels: %s", diff)
	}
	// A call of just the least share counts: ad's are 2 of the 200 bytes that web takes.
	g = graph(t, connection.Config{})
	observe(t, g, start, time.Minute, flow("web", "cart", 99, 99), flow("web", "ad", 1, 1))
	if diff := cmp.Diff([]string{"ad: ad cart web "}, applications(g, unlabelled)); diff != "" {
		t.Errorf("with just the least share: %s", diff)
	}
}

// The same label in another namespace means another application.
func TestLabelsAreOfANamespace(t *testing.T) {
	g := graph(t, connection.Config{})
	other := connection.Job{Namespace: "other", Kind: "Deployment", Name: "web"}
	observe(t, g, start, time.Minute, connection.Flow{From: other, To: job("web"), Request: 1})
	if got := applications(g, func(connection.Job) string { return "shop" }); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// merged are the sets that edges join, by naming each node after the least that it is joined to.
func merged(n int, edges [][2]int) [][]int {
	least := make([]int, n)
	for v := range least {
		least[v] = v
	}
	for range n {
		for _, e := range edges {
			both := min(least[e[0]], least[e[1]])
			least[e[0]], least[e[1]] = both, both
		}
	}
	sets := map[int][]int{}
	for v, of := range least {
		sets[of] = append(sets[of], v)
	}
	return slices.SortedFunc(maps.Values(sets), func(a, b []int) int { return a[0] - b[0] })
}

// randomGraph has some nodes, each with any number of callers.
func randomGraph(rng *rand.Rand) (n int, edges [][2]int) {
	n = 1 + rng.IntN(12)
	for range rng.IntN(2*n + 1) {
		edges = append(edges, [2]int{rng.IntN(n), rng.IntN(n)})
	}
	return n, edges
}

func TestApplicationsAreJoined(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, edges := randomGraph(rng)
		g := graph(t, connection.Config{})
		number := func(i int) string { return fmt.Sprintf("%02d", i) }
		for i := range n {
			if err := g.Add(start, job(number(i))); err != nil {
				t.Fatal(err)
			}
		}
		var flows []connection.Flow
		for _, e := range edges {
			flows = append(flows, flow(number(e[0]), number(e[1]), float64(1+rng.IntN(9)), 0))
		}
		observe(t, g, start, time.Minute, flows...)
		var got [][]int
		for _, a := range g.Applications(unlabelled) {
			var numbers []int
			for _, j := range a.Jobs {
				i, err := strconv.Atoi(j.Name)
				if err != nil {
					t.Fatal(err)
				}
				numbers = append(numbers, i)
			}
			got = append(got, numbers)
		}
		if diff := cmp.Diff(merged(n, edges), got); diff != "" {
			t.Fatalf("seed %d, %d jobs, calls %v: %s", seed, n, edges, diff)
		}
	}
}

// Concurrent use is safe.
func TestConcurrent(t *testing.T) {
	g := graph(t, connection.Config{MaxJobs: 8})
	var all sync.WaitGroup
	for n := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range 100 {
				at := start.Add(time.Duration(i) * time.Minute)
				from, to := fmt.Sprint(n, i%3), fmt.Sprint(i%5)
				err := errors.Join(g.Observe(at, time.Minute, []connection.Flow{flow(from, to, 1, 1)}),
					g.Add(at, job(from)))
				if err != nil {
					t.Error(err)
				}
				g.Applications(unlabelled)
				g.Knows(job(to))
				g.GetJobConnections(job(from))
			}
		}()
	}
	all.Wait()
	if got := g.Jobs(); len(got) > 8 {
		t.Errorf("%d jobs", len(got))
	}
}

// For any observations, bounds hold, rates are finite and within the observed ones, and each job is
// in one component and one application.
func FuzzObserve(f *testing.F) {
	f.Add([]byte{0, 1, 5, 5, 0, 10, 1, 2, 200, 0, 3, 1}, uint8(3))
	f.Add([]byte{1, 1, 1, 255, 255, 0, 0, 1, 0, 0, 0, 0, 3, 2, 9, 9, 9, 9}, uint8(0))
	f.Fuzz(func(t *testing.T, steps []byte, most uint8) {
		g := graph(t, connection.Config{MaxJobs: int(most)}.WithHalfLife(time.Minute).WithMaxConnections(3))
		largest := 0.
		for ; len(steps) >= 6; steps = steps[6:] {
			s := steps[:6]
			f := flow(fmt.Sprint(s[0]%16), fmt.Sprint(s[1]%16), float64(s[2])*1e9, float64(s[3])*1e-9)
			largest = max(largest, f.Request, f.Response)
			at, span := start.Add(time.Duration(s[4])*time.Minute), time.Duration(s[5])*time.Second
			err := g.Observe(at, span, []connection.Flow{f})
			if s[5]%7 == 0 {
				err = errors.Join(err, g.Add(at, f.From))
			}
			if (err == nil) != (span > 0) {
				t.Fatal(err)
			}
		}
		jobs := g.Jobs()
		if most > 0 && len(jobs) > int(most) {
			t.Errorf("%d jobs, at most %d", len(jobs), most)
		}
		for _, j := range jobs {
			calls := g.GetJobConnections(j)
			if len(calls) > 3 {
				t.Errorf("%d calls", len(calls))
			}
			for _, c := range calls {
				if !slices.Contains(jobs, c.To) {
					t.Errorf("%v calls %v, which is no job", j, c.To)
				}
				if !(c.Request >= 0) || c.Request > largest*(1+1e-9) || !(c.Response >= 0) || c.Response > largest*(1+1e-9) || c.From == c.To {
					t.Errorf("%+v of at most %v", c, largest)
				}
			}
		}
		in := map[connection.Job]int{}
		for _, a := range g.Applications(unlabelled) {
			for _, j := range a.Jobs {
				in[j]++
			}
		}
		for _, j := range jobs {
			if in[j] != 1 {
				t.Errorf("%v is in %d applications", j, in[j])
			}
		}
		if len(in) != len(jobs) {
			t.Errorf("applications of %d jobs, there are %d", len(in), len(jobs))
		}
	})
}

// Twice as many jobs as there is room for, all seen at once.
func BenchmarkCrowded(b *testing.B) {
	for _, most := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("jobs=%d", most), func(b *testing.B) {
			var flows []connection.Flow
			for i := range most {
				flows = append(flows, flow(fmt.Sprint("caller", i), fmt.Sprint("called", i), 1, 1))
			}
			for b.Loop() {
				observe(b, graph(b, connection.Config{MaxJobs: most}), start, time.Minute, flows...)
			}
		})
	}
}

func ExampleGraph() {
	g, err := connection.New(connection.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	minute := []connection.Flow{flow("web", "cart", 100, 4000), flow("cart", "redis", 50, 50)}
	if err := g.Observe(start, time.Minute, minute); err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range g.GetJobConnections(job("web")) {
		fmt.Printf("%v sends %.0f bytes/s and gets %.0f\n", f.To, f.Request, f.Response)
	}
	// Output: shop/Deployment/cart sends 100 bytes/s and gets 4000
}

func ExampleGraph_Applications() {
	g, err := connection.New(connection.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := g.Observe(start, time.Minute, []connection.Flow{flow("web", "cart", 100, 4000), flow("cart", "redis", 50, 50)}); err != nil {
		fmt.Println(err)
		return
	}
	all := g.Applications(func(connection.Job) string { return "" })
	fmt.Println(len(all), "application of", len(all[0].Jobs), "services")
	// Output: 1 application of 3 services
}
