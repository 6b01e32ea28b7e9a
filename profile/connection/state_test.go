package connection_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
)

func restore(t testing.TB, g *connection.Graph, now time.Time, of connection.Job, state []byte) {
	t.Helper()
	if err := g.Restore(now, of, state); err != nil {
		t.Fatal(err)
	}
}

// A graph restored from another's states has the same content, and continues as that does.
func TestRestoredGraphGoesOn(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		g := graph(t, connection.Config{}.WithHalfLife(time.Hour))
		at := start
		traffic := func() (flows []connection.Flow) {
			at = at.Add(time.Duration(1+rng.IntN(40)) * time.Minute)
			for range rng.IntN(12) {
				flows = append(flows, flow(fmt.Sprint(rng.IntN(6)), fmt.Sprint(rng.IntN(6)), 1e6*rng.Float64(), 1e3*rng.Float64()))
			}
			return flows
		}
		for range 8 {
			observe(t, g, at, 10*time.Minute, traffic()...)
		}
		next := graph(t, connection.Config{}.WithHalfLife(time.Hour))
		same := func(when string) {
			t.Helper()
			for _, j := range g.Jobs() {
				if diff := cmp.Diff(g.GetJobConnections(j), next.GetJobConnections(j), near); diff != "" {
					t.Fatalf("seed %d, %s: %s", seed, when, diff)
				}
				if diff := cmp.Diff(g.Bandwidths(j), next.Bandwidths(j), near); diff != "" {
					t.Fatalf("seed %d, %s: %s", seed, when, diff)
				}
			}
		}
		for _, j := range g.Jobs() {
			if state := g.State(j); state != nil {
				restore(t, next, at, j, state)
			} else if calls := g.GetJobConnections(j); len(calls) > 0 {
				t.Fatalf("no state of %v", calls)
			}
		}
		same("restored")
		for range 3 {
			flows := traffic()
			observe(t, g, at, 10*time.Minute, flows...)
			observe(t, next, at, 10*time.Minute, flows...)
			same("later")
		}
	}
}

// Newer observations count more than the restored ones.
func TestRestoreKeepsFlows(t *testing.T) {
	g, old := graph(t, connection.Config{}), graph(t, connection.Config{})
	observe(t, old, start, time.Minute, flow("web", "cart", 5, 5))
	observe(t, g, start.Add(time.Hour), time.Minute, flow("web", "ad", 1, 1), flow("ad", "db", 2, 2))
	restore(t, g, start.Add(time.Hour), job("web"), old.State(job("web")))
	if diff := cmp.Diff([]connection.Flow{flow("web", "ad", 1, 1)}, g.GetJobConnections(job("web"))); diff != "" {
		t.Error(diff)
	}
	// A job that was only called makes no calls of its own yet.
	restore(t, g, start.Add(time.Hour), job("db"), stateOf(t, "db", flow("db", "disk", 3, 4)))
	if diff := cmp.Diff([]connection.Flow{flow("db", "disk", 3, 4)}, g.GetJobConnections(job("db"))); diff != "" {
		t.Error(diff)
	}
}

// stateOf returns the state of a job whose flows lasted for a minute.
func stateOf(t testing.TB, name string, flows ...connection.Flow) []byte {
	t.Helper()
	g := graph(t, connection.Config{}.WithMaxConnections(5000))
	observe(t, g, start, time.Minute, flows...)
	return g.State(job(name))
}

// A clock that was ahead does not keep later observations from counting.
func TestRestoreOfTheFuture(t *testing.T) {
	old := graph(t, connection.Config{}.WithHalfLife(time.Hour))
	observe(t, old, start.Add(1000*time.Hour), time.Minute, flow("web", "cart", 100, 0))
	g := graph(t, connection.Config{}.WithHalfLife(time.Hour))
	restore(t, g, start, job("web"), old.State(job("web")))
	observe(t, g, start, time.Minute, flow("web", "cart", 300, 0))
	if diff := cmp.Diff([]connection.Flow{flow("web", "cart", 200, 0)}, g.GetJobConnections(job("web")), near); diff != "" {
		t.Error(diff)
	}
}

// A graph's own bounds apply to restored states.
func TestRestoreWithinBounds(t *testing.T) {
	var flows []connection.Flow
	for i := range 20 {
		flows = append(flows, flow("web", fmt.Sprintf("%02d", i), float64(100-i), 0))
	}
	state := stateOf(t, "web", flows...)
	g := graph(t, connection.Config{}.WithMaxConnections(7))
	restore(t, g, start, job("web"), state)
	if diff := cmp.Diff(flows[:7], g.GetJobConnections(job("web"))); diff != "" {
		t.Error(diff)
	}
	g = graph(t, connection.Config{MaxJobs: 5})
	restore(t, g, start, job("web"), state)
	if n := len(g.Jobs()); n > 5 {
		t.Errorf("%d jobs", n)
	}
}

func TestRestoreRefuses(t *testing.T) {
	good := string(stateOf(t, "web", flow("web", "cart", 5, 5)))
	for name, test := range map[string]struct {
		of    connection.Job
		state string
		want  error
	}{
		"no job":            {connection.Job{Kind: "Deployment"}, good, profile.ErrInvalid},
		"a long name":       {job(strings.Repeat("x", 254)), good, profile.ErrInvalid},
		"no JSON":           {job("web"), good[:20], profile.ErrInvalid},
		"nothing":           {job("web"), "", profile.ErrInvalid},
		"another version":   {job("web"), strings.Replace(good, `"v":1`, `"v":2`, 1), profile.ErrVersion},
		"no version":        {job("web"), "{}", profile.ErrVersion},
		"too long":          {job("web"), good + strings.Repeat(" ", 1<<20), profile.ErrInvalid},
		"itself":            {job("cart"), good, profile.ErrInvalid},
		"no callee":         {job("web"), strings.Replace(good, `"name":"cart"`, `"name":""`, 1), profile.ErrInvalid},
		"twice the same":    {job("web"), strings.Replace(good, `"calls":[`, `"calls":[`+good[strings.Index(good, "[")+1:len(good)-2]+",", 1), profile.ErrInvalid},
		"negative":          {job("web"), strings.Replace(good, `"req":`, `"req":-`, 1), profile.ErrInvalid},
		"more than can be":  {job("web"), strings.Replace(good, `"resp":300`, `"resp":9e30`, 1), profile.ErrInvalid},
		"for ever":          {job("web"), strings.Replace(good, `"s":60`, `"s":1e11`, 1), profile.ErrInvalid},
		"before 1970":       {job("web"), strings.Replace(good, `"at":`, `"at":-`, 1), profile.ErrInvalid},
		"used before":       {job("web"), strings.Replace(good, `"used":`, `"used":-`, 1), profile.ErrInvalid},
		"looked at before":  {job("web"), strings.Replace(good, `"t":`, `"t":-`, 1), profile.ErrInvalid},
		"a time that never": {job("web"), strings.Replace(good, `"t":`, `"t":99999`, 1), profile.ErrInvalid},
	} {
		g := graph(t, connection.Config{})
		err := g.Restore(start, test.of, []byte(test.state))
		var which *field.Error
		if !errors.Is(err, test.want) || !errors.As(err, &which) {
			t.Errorf("%s: %v", name, err)
		}
		if jobs := g.Jobs(); len(jobs) > 0 {
			t.Errorf("%s: it has %v", name, jobs)
		}
	}
	g := graph(t, connection.Config{})
	if err := g.Restore(time.Time{}, job("web"), []byte(good)); !errors.Is(err, profile.ErrInvalid) {
		t.Error(err)
	}
	if state := g.State(job("web")); state != nil {
		t.Errorf("%s", state)
	}
}

// Any restored state is refused without effect, or gives a graph within its bounds that works and
// whose own state is valid.
func FuzzRestore(f *testing.F) {
	f.Add("web", []byte(`{"v":1,"t":1763798400000,"calls":[{"ns":"shop","name":"cart","at":1763798400000,"used":1763798400000,"s":60,"req":300,"resp":5}]}`))
	f.Add("", []byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		g := graph(t, connection.Config{MaxJobs: 6}.WithMaxConnections(3))
		if err := g.Restore(start, job(name), data); err != nil {
			if !errors.Is(err, profile.ErrInvalid) || len(g.Jobs()) > 0 {
				t.Fatal(err, g.Jobs())
			}
			return
		}
		observe(t, g, start, time.Minute, flow("a", "b", 1, 1))
		for _, j := range g.Jobs() {
			calls := g.GetJobConnections(j)
			if len(calls) > 3 {
				t.Fatalf("%d calls", len(calls))
			}
			for _, c := range calls {
				if !(c.Request >= 0 && c.Request <= 1.01*(1<<50) && c.Response >= 0 && c.Response <= 1.01*(1<<50)) {
					t.Fatalf("%+v", c)
				}
			}
			if len(calls) == 0 {
				continue
			}
			state := g.State(j)
			if !json.Valid(state) {
				t.Fatalf("%s", state)
			}
			restore(t, graph(t, connection.Config{}), start, j, state)
		}
		if n := len(g.Jobs()); n > 6 {
			t.Fatalf("%d jobs", n)
		}
	})
}
