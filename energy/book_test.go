package energy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

func observe(t testing.TB, b *energy.Book, workload string, pod uint64, seconds, cores, watts float64) {
	t.Helper()
	o := energy.Observation{Pod: pod, At: after(seconds), Cores: cores, Watts: watts, Metered: watts > 0}
	if err := b.Observe(workload, o); err != nil {
		t.Fatal(err)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// TestBookHalfLife: a pod that changes from 2 cores and 20 W to 4 and 40 is halfway after a
// half-life, however often it is observed and however many replicas there are.
func TestBookHalfLife(t *testing.T) {
	for _, step := range []float64{1, 5, 30} {
		for _, replicas := range []int{1, 3, 7} {
			b := energy.NewBookOf(energy.BookConfig{HalfLife: 30 * time.Second})
			for at := 0.0; at <= 30; at += step {
				for pod := range replicas {
					observe(t, b, "web", uint64(pod), at, 2, 20)
				}
			}
			for at := 30 + step; at <= 60; at += step {
				for pod := range replicas {
					observe(t, b, "web", uint64(pod), at, 4, 40)
				}
			}
			e := b.Estimate("web")
			if !near(e.Cores, 3) || !near(e.Watts, 30) || e.Pods != replicas || !e.Known {
				t.Errorf("%d replicas each %v s: %+v", replicas, step, e)
			}
		}
	}
}

// TestBookStarts: a pod does not count before it is 10 s old, and one observation is not enough.
func TestBookStarts(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{})
	observe(t, b, "web", 1, 0, 8, 80)
	observe(t, b, "web", 1, 9.9, 8, 80)
	if e := b.Estimate("web"); e.Known || e.Pods != 1 {
		t.Fatal("taught by a start:", e)
	}
	observe(t, b, "web", 1, 10, 2, 20)
	if d := cmp.Diff(energy.Estimate{Cores: 2, Watts: 20, Pods: 1, Known: true}, b.Estimate("web")); d != "" {
		t.Error(d)
	}
}

// TestBookUnknown: an unknown workload takes the mean of all, each counting once, and one core if
// there is none.
func TestBookUnknown(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{})
	if d := cmp.Diff(energy.Estimate{Cores: 1}, b.Estimate("new")); d != "" {
		t.Error(d)
	}
	for at := 0.0; at <= 20; at += 10 {
		observe(t, b, "small", 1, at, 1, 10)
		observe(t, b, "small", 2, at, 1, 10)
		observe(t, b, "large", 3, at, 4, 30)
		observe(t, b, "unmetered", 4, at, 4, 0)
	}
	if d := cmp.Diff(energy.Estimate{Cores: 3, Watts: 20, SD: 10}, b.Estimate("new")); d != "" {
		t.Error(d)
	}
	observe(t, b, "large", 3, 20+60, 10, 30) // halfway to 10
	if e := b.Estimate("new"); !near(e.Cores, (1+7+4)/3.) {
		t.Error("after a change:", e)
	}
}

// TestBookSpread: the deviation of readings that alternate.
func TestBookSpread(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{HalfLife: 100 * time.Second})
	for i := range 2000 {
		observe(t, b, "web", 1, float64(i), 1, 20+4*float64(i%2))
	}
	if e := b.Estimate("web"); !(math.Abs(e.Watts-22) <= .1 && math.Abs(e.SD-2) <= .1) {
		t.Errorf("%+v", e)
	}
}

// TestBookAbsence: a replica that is gone does not slow down learning from the others.
func TestBookAbsence(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{HalfLife: 10 * time.Second})
	for at := 0.0; at <= 20; at += 10 {
		for pod := range 9 {
			observe(t, b, "web", uint64(pod), at, 1, 0)
		}
	}
	for at := 30.0; at <= 200; at += 10 {
		observe(t, b, "web", 0, at, 1, 0)
	}
	if e := b.Estimate("web"); e.Pods != 1 {
		t.Fatal(e)
	}
	observe(t, b, "web", 0, 210, 3, 0)
	if e := b.Estimate("web"); !near(e.Cores, 2) {
		t.Error(e)
	}
}

// TestBookForgets: the least recently seen workloads go first.
func TestBookForgets(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{Workloads: 3})
	see := func(name string, at float64) {
		observe(t, b, name, 1, at, 2, 20)
		observe(t, b, name, 1, at+10, 2, 20)
	}
	for i := range 3 {
		see("w"+strconv.Itoa(i), float64(i))
	}
	observe(t, b, "w0", 1, 100, 2, 20)
	see("new", 101)
	var known []string
	for _, name := range []string{"w0", "w1", "w2", "new"} {
		if b.Estimate(name).Known {
			known = append(known, name)
		}
	}
	if d := cmp.Diff([]string{"w0", "w2", "new"}, known); d != "" {
		t.Error(d)
	}
}

// TestBookLargest: by watts, equals by name.
func TestBookLargest(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{})
	for name, watts := range map[string]float64{"a": 10, "b": 30, "c": 30, "d": 20, "unmetered": 0} {
		observe(t, b, name, 1, 0, 1, watts)
		observe(t, b, name, 1, 10, 1, watts)
	}
	for n, want := range map[int][]string{3: {"b", "c", "d"}, 0: nil, 10: {"b", "c", "d", "a"}, -1: nil} {
		var got []string
		for _, w := range b.LargestTo(nil, n, after(10)) {
			got = append(got, w.Workload)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d largest: %s", n, d)
		}
	}
}

// TestBookLargestOfMany: in any order, the result is that of sorting them all.
func TestBookLargestOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := energy.NewBookOf(energy.BookConfig{})
	var all []string
	for i := range 500 {
		name := fmt.Sprintf("w%03d", i)
		watts := []float64{float64(5 + 5*random.IntN(100)), float64(1 + i), float64(501 - i)}[i%3]
		observe(t, b, name, 1, 0, 1, watts)
		observe(t, b, name, 1, 10, 1, watts)
		all = append(all, fmt.Sprintf("%06.1f %03d", 1000-watts, i))
	}
	slices.Sort(all)
	var reused []energy.WorkloadEstimate
	for n := range 510 {
		reused = b.LargestTo(reused, n, after(10))
		if len(reused) != min(n, 500) {
			t.Fatalf("%d of %d", len(reused), n)
		}
		for i, w := range reused {
			if got := fmt.Sprintf("%06.1f %s", 1000-w.Watts, w.Workload[1:]); got != all[i] {
				t.Fatalf("place %d of %d: %s, want %s", i, n, got, all[i])
			}
		}
	}
}

// TestWorkloadEstimateJSON: the scheduler's debug API answers these fields.
func TestWorkloadEstimateJSON(t *testing.T) {
	got, err := json.Marshal(energy.WorkloadEstimate{
		Workload: "default/Deployment/web",
		Estimate: energy.Estimate{Cores: .5, Watts: 6.25, SD: 1.5, Pods: 3, Known: true, Joules: 120},
	})
	const want = `{"workload":"default/Deployment/web","cores":0.5,"watts":6.25,"sd":1.5,"pods":3,"known":true,"joules":120}`
	if string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestBookLargestThatAreThere: a workload without pods is kept for its return, and is not among the
// largest.
func TestBookLargestThatAreThere(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{})
	for at := 0.; at <= 300; at += 10 {
		if at <= 100 {
			observe(t, b, "deleted", 1, at, 1, 90)
		}
		observe(t, b, "stays", 2, at, 1, 10)
		var got []string
		for _, w := range b.LargestTo(nil, 10, after(at)) {
			got = append(got, w.Workload)
		}
		want := []string{"deleted", "stays"}
		if at == 0 {
			want = nil // one observation teaches nothing
		} else if at > 160 {
			want = want[1:]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("after %v s: %s", at, d)
		}
	}
	if e := b.Estimate("deleted"); !e.Known || !near(e.Watts, 90) {
		t.Errorf("forgotten: %+v", e)
	}
}

// TestBookMean: the mean is that of all present workloads, however often their usage has changed
// and whichever were forgotten.
func TestBookMean(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	b := energy.NewBookOf(energy.BookConfig{Workloads: 20, MinAge: time.Millisecond})
	for i := range 20_000 {
		name := strconv.Itoa(random.IntN(30))
		observe(t, b, name, 1, float64(i), math.Exp(8*random.Float64()), math.Exp(10*random.Float64())*float64(random.IntN(2)))
		if random.IntN(7) > 0 {
			continue
		}
		var cores, watts, squares, started, metered float64
		for j := range 30 {
			e := b.Estimate(strconv.Itoa(j))
			if !e.Known {
				continue
			}
			started++
			cores += e.Cores
			if e.Watts > 0 {
				metered++
				watts += e.Watts
				squares += e.SD*e.SD + e.Watts*e.Watts
			}
		}
		got := b.Estimate("new")
		if started == 0 || metered == 0 {
			continue
		}
		sd := math.Sqrt(max(squares/metered-watts/metered*watts/metered, 0))
		if !near(got.Cores, cores/started) || !near(got.Watts, watts/metered) || math.Abs(got.SD-sd) > 1e-6*(1+sd) || got.Known || got.Pods != 0 {
			t.Fatalf("after %d: %+v, want %v cores, %v ± %v W", i, got, cores/started, watts/metered, sd)
		}
	}
}

// TestBookMeanForgets: the rounding error of a workload that took very much more disappears soon
// after it.
func TestBookMeanForgets(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{Workloads: 3})
	observe(t, b, "large", 1, 0, 4000, energy.MaxWatts/3)
	observe(t, b, "large", 1, 10, 4000, energy.MaxWatts/3)
	want := 0.
	for i, name := range []string{"a", "b", "c"} {
		watts := float64(i+1) / 1024
		want += watts / 3
		for at := 20.; at < 40; at += 5 {
			observe(t, b, name, 2, at, 1, watts)
		}
	}
	if got := b.Estimate("new"); math.Abs(got.Watts-want) > 1e-12 || math.Abs(got.SD-math.Sqrt(2./3)/1024) > 1e-9 {
		t.Errorf("%+v, want %v ± %v W", got, want, math.Sqrt(2./3)/1024)
	}
}

// TestBookBounds: endless replicas take bounded memory: at the bound the least recently seen
// workloads go, and the last one starts anew.
func TestBookBounds(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{})
	observe(t, b, "old", 1, 0, 1, 10)
	observe(t, b, "old", 1, 10, 1, 10)
	for pod := range uint64(energy.MaxPods - 1) {
		observe(t, b, "many", pod, 10, 1, 10)
	}
	if e := b.Estimate("many"); e.Pods != energy.MaxPods-1 || e.Known || !b.Estimate("old").Known {
		t.Fatal("at the bound:", e)
	}
	observe(t, b, "many", energy.MaxPods, 10, 1, 10)
	if e := b.Estimate("many"); e.Pods != energy.MaxPods || b.Estimate("old").Known {
		t.Fatal("one beyond, and another to go:", e)
	}
	observe(t, b, "many", energy.MaxPods+1, 10, 1, 10)
	if n := b.Estimate("many").Pods; n != 0 {
		t.Fatal(n, "pods beyond the bound")
	}
	observe(t, b, "many", 1, 11, 2, 20)
	observe(t, b, "many", 1, 21, 2, 20)
	if e := b.Estimate("many"); !e.Known || e.Pods != 1 {
		t.Error("goes on:", e)
	}
}

// TestBookBoundIsOfPodsThatAreThere: pods that are gone make room.
func TestBookBoundIsOfPodsThatAreThere(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{})
	observe(t, b, "old", 1, 0, 1, 10)
	observe(t, b, "old", 1, 10, 1, 10)
	const many = energy.MaxPods * 3 / 4
	for round := range 2 {
		for pod := range uint64(many) {
			observe(t, b, "many", uint64(round)*many+pod, 10+1000*float64(round), 1, 10)
		}
	}
	if e := b.Estimate("many"); e.Pods != many || !b.Estimate("old").Known {
		t.Errorf("%d pods, want %d; the other workload is known: %v", e.Pods, many, b.Estimate("old").Known)
	}
}

// TestBookRefuses: an invalid observation is refused and changes nothing.
func TestBookRefuses(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{})
	observe(t, b, "web", 1, 0, 2, 20)
	observe(t, b, "web", 1, 20, 2, 20)
	good := energy.Observation{Pod: 1, At: after(30), Cores: 1, Watts: 1, Metered: true}
	for name, c := range map[string]struct {
		workload string
		change   func(*energy.Observation)
		which    string
	}{
		"no name":      {"", func(*energy.Observation) {}, "workload"},
		"long name":    {string(make([]byte, 1025)), func(*energy.Observation) {}, "workload"},
		"cores":        {"web", func(o *energy.Observation) { o.Cores = math.NaN() }, "Cores"},
		"many cores":   {"web", func(o *energy.Observation) { o.Cores = 5000 }, "Cores"},
		"watts":        {"web", func(o *energy.Observation) { o.Watts = -1 }, "Watts"},
		"time is past": {"web", func(o *energy.Observation) { o.At = after(19) }, "At"},
	} {
		o := good
		c.change(&o)
		err := b.Observe(c.workload, o)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != c.which {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := cmp.Diff(energy.Estimate{Cores: 2, Watts: 20, Pods: 1, Known: true}, b.Estimate("web")); d != "" {
		t.Error(d)
	}
}

// TestBookSumsJoules: watts are summed over metered intervals, from the first observation on, also
// for a workload of which nothing else is known yet.
func TestBookSumsJoules(t *testing.T) {
	b := energy.NewBookOf(energy.BookConfig{})
	for i, o := range []struct {
		span    time.Duration
		watts   float64
		metered bool
		joules  float64 // so far
	}{
		{5 * time.Second, 4, true, 20}, {0, 8, true, 20}, {2 * time.Second, 100, false, 20},
		{-time.Second, 8, true, 20}, {3 * time.Second, 10, true, 50},
	} {
		err := b.Observe("web", energy.Observation{Pod: 1, At: after(float64(i)), Span: o.span, Cores: 1, Watts: o.watts, Metered: o.metered})
		if err != nil {
			t.Fatal(err)
		}
		if e := b.Estimate("web"); e.Joules != o.joules || e.Known {
			t.Errorf("after observation %d: %+v, want %v J", i, e, o.joules)
		}
	}
	if e := b.Estimate("other"); e.Joules != 0 {
		t.Errorf("another workload: %+v", e)
	}
}
