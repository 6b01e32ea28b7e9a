package aggregate_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// restart returns an aggregator restored from the entries of a.
func restart(t testing.TB, a *aggregate.Aggregator, o aggregate.Options, at time.Time) *aggregate.Aggregator {
	t.Helper()
	next := create(t, o)
	for _, e := range a.Entries(at) {
		if _, err := next.Restore(at, e); err != nil {
			t.Fatal(err)
		}
	}
	return next
}

// TestEqualsTheBatchAcrossRestarts: pushes arrive in 100 random orders with duplicates at three
// replicas that exchange entries and are sometimes restarted from their own: each ends with the result
// of the batch merge.
func TestEqualsTheBatchAcrossRestarts(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	pushes := fleet(t, rng, 25, 6, 3)
	at := pushes[len(pushes)-1].at.Add(time.Minute)
	want, mass, nodes := batch(pushes, at, halfLife, forget)
	worst := 0.0
	for range 100 {
		arrival := slices.Clone(pushes)
		for range 40 {
			arrival = append(arrival, pushes[rng.IntN(len(pushes))])
		}
		rng.Shuffle(len(arrival), func(i, j int) { arrival[i], arrival[j] = arrival[j], arrival[i] })
		replicas := []*aggregate.Aggregator{create(t, aggregate.Options{}), create(t, aggregate.Options{}), create(t, aggregate.Options{})}
		cursors := make([][3]uint64, 3)
		hear := func(i, j int) {
			var entries []aggregate.Entry
			entries, cursors[i][j] = replicas[j].Changes(at, cursors[i][j], replicas[j].Cursor(), uint64(i+1), math.MaxInt)
			for _, e := range entries {
				if _, err := replicas[i].Merge(at, e, uint64(j+1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, p := range arrival {
			feed(t, replicas[rng.IntN(3)], p)
			switch rng.IntN(20) {
			case 0:
				i := rng.IntN(3)
				replicas[i] = restart(t, replicas[i], aggregate.Options{}, at)
				cursors[i] = [3]uint64{}
				for j := range cursors {
					cursors[j][i] = 0 // a new process has a new id
				}
			case 1:
				i := rng.IntN(3)
				hear(i, (i+1+rng.IntN(2))%3)
			}
		}
		for range 2 {
			for i := range 3 {
				hear(i, (i+1)%3)
				hear(i, (i+2)%3)
			}
		}
		for _, r := range replicas {
			got := only(t, r, at)
			if got.Nodes != nodes || math.Abs(got.Model.Mass()-mass) > 1e-12*mass {
				t.Fatalf("%d nodes of mass %v, want %d of %v", got.Nodes, got.Model.Mass(), nodes, mass)
			}
			worst = max(worst, distance(got.Model.MomentsTo(nil), want))
		}
	}
	if worst > 1e-12 {
		t.Errorf("the global model is off by %.2g of its trace", worst)
	}
	t.Logf("largest distance from the batch: %.2g", worst)
}

// TestDriftAfterManySteps makes a million steps in which nodes join, change and are forgotten.
func TestDriftAfterManySteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	const nodes = 64
	steps := 1_000_000
	if testing.Short() {
		steps = 100_000
	}
	options := aggregate.Options{HalfLife: time.Minute, Forget: 5 * time.Minute}
	a := create(t, options)
	states := make([]svd.State, 64)
	for i := range states {
		states[i] = observe(t, rng, 3, 1+i%3)
	}
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	latest := map[string]push{}
	worst, forgotten := 0.0, 0
	at := start
	for step := range steps {
		at = at.Add(time.Duration(rng.Int64N(int64(4 * time.Second))))
		state := states[rng.IntN(len(states))]
		state.Mass *= math.Exp2(-20 * rng.Float64())
		// A few nodes push most of the time, so that others are forgotten.
		n := int(float64(nodes) * math.Pow(rng.Float64(), 3))
		p := push{at, aggregate.Local{Node: names[n], Sequence: uint64(step), Schema: "s", Model: state}}
		latest[names[n]] = p
		feed(t, a, p)
		if step%50_000 != 49_999 {
			if step%100 == 0 {
				before := a.Len()
				only(t, a, at)
				forgotten += before - a.Len()
			}
			continue
		}
		var all []push
		for _, p := range latest {
			all = append(all, p)
		}
		want, _, alive := batch(all, at, options.HalfLife, options.Forget)
		got := only(t, a, at)
		if got.Nodes != alive {
			t.Fatalf("%d nodes, want %d", got.Nodes, alive)
		}
		worst = max(worst, distance(got.Model.MomentsTo(nil), want))
	}
	if worst > 1e-12 || forgotten < steps/1000 {
		t.Errorf("the global model is off by %.2g of its trace, %d nodes were forgotten", worst, forgotten)
	}
	t.Logf("largest distance from the batch: %.2g; %d times a node was forgotten", worst, forgotten)
}

func entry() aggregate.Entry {
	return aggregate.Entry{
		Node: "a", Incarnation: 2, Sequence: 3, Schema: "s", Dim: 2, Age: time.Minute, Weight: 20,
		Moments: []float64{.5, .1, .2}, Costs: []aggregate.Cost{{Value: 1, SD: .1, Known: true}, {}},
	}
}

func TestEntriesEqualPushes(t *testing.T) {
	a := create(t, aggregate.Options{})
	cpu := svd.State{Dim: 2, Block: 10, Mass: 1, U: []float64{0, 1}, Sigma: []float64{2}}
	feed(t, a,
		push{start, aggregate.Local{Node: "b", Incarnation: 1, Sequence: 2, Schema: "s", Model: cpu, Costs: []aggregate.Cost{{1, .5, true}, {}}}},
		push{start.Add(time.Second), aggregate.Local{Node: "a", Schema: "s", Model: cpu}})
	at := start.Add(3 * time.Second)
	want := []aggregate.Entry{
		{Node: "a", Schema: "s", Dim: 2, Age: 2 * time.Second, Weight: 10, Moments: []float64{0, 0, .4}},
		{Node: "b", Incarnation: 1, Sequence: 2, Schema: "s", Dim: 2, Age: 3 * time.Second, Weight: 10, Moments: []float64{0, 0, .4}, Costs: []aggregate.Cost{{1, .5, true}, {}}},
	}
	if diff := cmp.Diff(want, a.Entries(at)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := restart(t, a, aggregate.Options{}, at)
	if diff := cmp.Diff(a.Entries(at.Add(time.Hour)), again.Entries(at.Add(time.Hour))); diff != "" {
		t.Errorf("ages do not continue (-before +after):\n%s", diff)
	}
}

// TestMerge: which of two pushes of a node is kept.
func TestMerge(t *testing.T) {
	quantum := halfLife / 1024
	for _, tt := range []struct {
		name    string
		change  func(*aggregate.Entry)
		changed bool
	}{
		{"a duplicate", func(*aggregate.Entry) {}, false},
		{"a later sequence", func(e *aggregate.Entry) { e.Sequence++ }, true},
		{"an earlier sequence", func(e *aggregate.Entry) { e.Sequence-- }, false},
		{"a later incarnation", func(e *aggregate.Entry) { e.Incarnation, e.Sequence = 9, 0 }, true},
		{"an earlier incarnation", func(e *aggregate.Entry) { e.Incarnation, e.Sequence = 1, 9 }, false},
		{"the same, received much earlier", func(e *aggregate.Entry) { e.Age += quantum + 1 }, true},
		{"the same, received a little earlier", func(e *aggregate.Entry) { e.Age += quantum }, false},
		{"the same, received later", func(e *aggregate.Entry) { e.Age = 0 }, false},
		{"a later sequence, received earlier", func(e *aggregate.Entry) { e.Sequence++; e.Age += silence }, true},
		{"a later sequence, received long before", func(e *aggregate.Entry) { e.Sequence++; e.Age += silence + 1 }, false},
		{"an earlier incarnation, received later", func(e *aggregate.Entry) { e.Incarnation--; e.Age -= silence }, false},
		{"an earlier incarnation after a silence", func(e *aggregate.Entry) { e.Incarnation--; e.Age -= silence + 1 }, true},
		{"a later sequence, almost forgotten", func(e *aggregate.Entry) { e.Sequence++; e.Age = forget - forget/20 + 1 }, false},
		{"another schema", func(e *aggregate.Entry) { e.Sequence++; e.Schema = "t" }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := create(t, aggregate.Options{})
			if merged, err := a.Merge(start, entry(), 7); err != nil || !merged {
				t.Fatal(merged, err)
			}
			want := entry()
			e := entry()
			tt.change(&e)
			merged, err := a.Merge(start, e, 8)
			if err != nil || merged != tt.changed {
				t.Errorf("Merge: %v, %v, want %v", merged, err, tt.changed)
			}
			if merged {
				want = e
			}
			if diff := cmp.Diff([]aggregate.Entry{want}, a.Entries(start)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	a := create(t, aggregate.Options{})
	put := func(name string, from uint64) {
		t.Helper()
		e := entry()
		e.Node, e.Sequence, e.Age = name, a.Cursor()+10, 0
		if _, err := a.Merge(start, e, from); err != nil {
			t.Fatal(err)
		}
	}
	changes := func(at time.Time, after, except uint64, limit int) (names []string, cursor uint64) {
		entries, cursor := a.Changes(at, after, a.Cursor(), except, limit)
		for _, e := range entries {
			names = append(names, e.Node)
		}
		return names, cursor
	}
	for _, name := range []string{"a", "b", "c", "a"} {
		put(name, 1)
	}
	put("d", 2)
	all, cursor := changes(start, 0, 0, math.MaxInt)
	if diff := cmp.Diff([]string{"b", "c", "a", "d"}, all); diff != "" || cursor != a.Cursor() {
		t.Errorf("all, cursor %d (-want +got):\n%s", cursor, diff)
	}
	others, _ := changes(start, 0, 1, math.MaxInt)
	if diff := cmp.Diff([]string{"d"}, others); diff != "" {
		t.Errorf("all except those of 1 (-want +got):\n%s", diff)
	}
	put("b", 1)
	since, _ := changes(start, cursor, 0, math.MaxInt)
	if diff := cmp.Diff([]string{"b"}, since); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
	var one []string
	for cursor := uint64(0); cursor < a.Cursor(); {
		var names []string
		names, cursor = changes(start, cursor, 0, 1)
		if len(names) > 1 {
			t.Errorf("limit of one: got %v", names)
		}
		one = append(one, names...)
	}
	if diff := cmp.Diff([]string{"c", "a", "d", "b"}, one); diff != "" {
		t.Errorf("one at a time (-want +got):\n%s", diff)
	}
	if old, cursor := changes(start.Add(forget), 0, 0, math.MaxInt); len(old) > 0 || cursor != a.Cursor() {
		t.Errorf("got a change of an entry about to be forgotten: %v, cursor %d", old, cursor)
	}
	// Many changes of few nodes leave them in order.
	for i := range 10_000 {
		put(string(rune('a'+i%4)), 1)
	}
	if all, _ = changes(start, 0, 0, math.MaxInt); !slices.Equal(all, []string{"a", "b", "c", "d"}) {
		t.Errorf("after many changes: got %v", all)
	}
}

// TestForgottenNodesStayForgotten: two replicas get a node at slightly different times, and a third is
// behind: once forgotten, the node does not return through any of them.
func TestForgottenNodesStayForgotten(t *testing.T) {
	at := start
	replicas := make([]*aggregate.Aggregator, 3)
	for i := range replicas {
		replicas[i] = create(t, aggregate.Options{})
		e := entry()
		e.Age = 0
		if _, err := replicas[i].Merge(at.Add(time.Duration(i)*20*time.Second), e, 1); err != nil {
			t.Fatal(err)
		}
	}
	gone := false
	for ; at.Before(start.Add(2 * forget)); at = at.Add(7 * time.Second) {
		for i, r := range replicas {
			for j, other := range replicas {
				if i == j {
					continue
				}
				entries, _ := other.Changes(at, 0, other.Cursor(), 0, math.MaxInt)
				for _, e := range entries {
					if _, err := r.Merge(at, e, uint64(j+1)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := r.Globals(at); err != nil {
				t.Fatal(err)
			}
			if gone && i == 0 && r.Len() > 0 {
				t.Fatalf("the node returned after %v", at.Sub(start))
			}
		}
		gone = gone || replicas[0].Len() == 0
	}
	for i, r := range replicas {
		if r.Len() > 0 {
			t.Errorf("replica %d still has the node", i)
		}
	}
}

// TestChangesOutliveManyOthers: an old change of a node is still reported, however often another node
// has changed since.
func TestChangesOutliveManyOthers(t *testing.T) {
	a := create(t, aggregate.Options{})
	for _, name := range []string{"b", "c"} {
		feed(t, a, push{start, aggregate.Local{Node: name, Schema: "s", Model: flat()}})
	}
	for i := range uint64(5000) {
		feed(t, a, push{start, aggregate.Local{Node: "a", Sequence: i, Schema: "s", Model: flat()}})
	}
	var names []string
	entries, _ := a.Changes(start, 0, a.Cursor(), 0, 1<<20)
	for _, e := range entries {
		names = append(names, e.Node)
	}
	if diff := cmp.Diff([]string{"b", "c", "a"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEntryRefusals(t *testing.T) {
	nan := math.NaN()
	for name, spoil := range map[string]func(*aggregate.Entry){
		"Node":         func(e *aggregate.Entry) { e.Node = "" },
		"Schema":       func(e *aggregate.Entry) { e.Schema = "" },
		"Dim":          func(e *aggregate.Entry) { e.Dim = 65 },
		"Age":          func(e *aggregate.Entry) { e.Age = -1 },
		"Weight":       func(e *aggregate.Entry) { e.Weight = nan },
		"len(Moments)": func(e *aggregate.Entry) { e.Moments = e.Moments[:2] },
		"Moments[1]":   func(e *aggregate.Entry) { e.Moments[1] = nan },
		"Moments":      func(e *aggregate.Entry) { e.Moments[0], e.Moments[2] = 1.5, 1.5 },
		"Moments[0]":   func(e *aggregate.Entry) { e.Moments[0], e.Moments[2] = -.1, .5 },
		"Moments[2]":   func(e *aggregate.Entry) { e.Moments[1] = .4 },
		"len(Costs)":   func(e *aggregate.Entry) { e.Costs = e.Costs[:1] },
		"Costs[0]":     func(e *aggregate.Entry) { e.Costs[0].Value = 0 },
	} {
		a := create(t, aggregate.Options{})
		e := entry()
		spoil(&e)
		merged, err := a.Merge(start, e, 1)
		var bad *field.Error
		if merged || !errors.As(err, &bad) || bad.Field != name || a.Len() != 0 {
			t.Errorf("a bad %s: %v, %v, %d nodes", name, merged, err, a.Len())
		}
	}
	for _, weight := range []float64{-1, math.Inf(1)} {
		e := entry()
		e.Weight = weight
		if err := e.Validate(); !errors.Is(err, aggregate.ErrRange) {
			t.Errorf("weight %g: got error %v", weight, err)
		}
	}
}

// TestEveryPushIsMergeable: Merge accepts whatever Put accepts.
func TestEveryPushIsMergeable(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	for i := range 2000 {
		dim := 1 + rng.IntN(6)
		state := observe(t, rng, dim, 1+rng.IntN(3))
		state.Sigma = state.Sigma[:1+rng.IntN(len(state.Sigma))] // low rank
		state.U = slices.Clone(state.U[:dim*len(state.Sigma)])
		for j := range state.U {
			state.U[j] += 4e-7 * (rng.Float64() - .5) / float64(dim)
		}
		scale := math.Pow(10, -200*rng.Float64())
		for j := range state.Sigma {
			state.Sigma[j] *= scale
		}
		a, b := create(t, aggregate.Options{}), create(t, aggregate.Options{})
		l := aggregate.Local{Node: "n", Schema: "s", Model: state}
		if l.Validate() != nil {
			continue
		}
		feed(t, a, push{start, l})
		if _, err := b.Merge(start, a.Entries(start)[0], 1); err != nil {
			t.Fatalf("%d: %+v: %v", i, state, err)
		}
		if _, err := b.Globals(start); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

func TestGroupsAreBounded(t *testing.T) {
	a := create(t, aggregate.Options{MaxGroups: 2})
	for _, schema := range []string{"r", "s"} {
		feed(t, a, push{start, aggregate.Local{Node: schema, Schema: schema, Model: flat()}})
	}
	before := a.Entries(start)
	for _, node := range []string{"new", "r"} {
		// Node r leaves its group empty, and so frees it.
		_, err := a.Put(start, aggregate.Local{Node: node, Sequence: 1, Schema: "t", Model: flat()})
		if refused := errors.Is(err, aggregate.ErrFull); refused != (node == "new") {
			t.Errorf("third schema from %q: got error %v", node, err)
		}
		if node == "new" {
			if diff := cmp.Diff(before, a.Entries(start)); diff != "" {
				t.Errorf("a refused model changed the state:\n%s", diff)
			}
		}
	}
}

func TestAges(t *testing.T) {
	a := create(t, aggregate.Options{})
	for i, age := range []time.Duration{9, 2, 30, 4} {
		feed(t, a, push{start.Add(-age * time.Second), aggregate.Local{Node: fmt.Sprint(i), Schema: "s", Model: flat()}})
	}
	want := aggregate.Ages{Min: 2 * time.Second, Median: 6500 * time.Millisecond, Max: 30 * time.Second}
	if diff := cmp.Diff(want, only(t, a, start).Ages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLowRank merges fleets whose nodes all have load along one line.
func TestLowRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for range 1000 {
		dim := 2 + rng.IntN(4)
		u := make([]float64, dim)
		var norm float64
		for i := range u {
			u[i] = rng.Float64()
			norm = math.Hypot(norm, u[i])
		}
		for i := range u {
			u[i] /= norm
		}
		state := svd.State{Dim: dim, Block: 10, Mass: 2, U: u, Sigma: []float64{rng.Float64()}}
		a := create(t, aggregate.Options{})
		for n := range 3 {
			feed(t, a, push{start, aggregate.Local{Node: fmt.Sprint(n), Schema: "s", Model: state}})
		}
		model, err := svd.FromState(state)
		if err != nil {
			t.Fatal(err)
		}
		if d := distance(only(t, a, start).Model.MomentsTo(nil), model.MomentsTo(nil)); d > 1e-12 {
			t.Fatalf("%+v: got a distance of %.2g of the trace", state, d)
		}
	}
}
