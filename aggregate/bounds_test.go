package aggregate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// TestOutOfOrderPushesAreAcceptedAfterSilence: among pushes out of order the newer one stays for one
// Silence, then the other one is accepted.
func TestOutOfOrderPushesAreAcceptedAfterSilence(t *testing.T) {
	local := func(incarnation, sequence uint64) aggregate.Local {
		return aggregate.Local{Node: "a", Incarnation: incarnation, Sequence: sequence, Schema: "s", Model: flat()}
	}
	a := create(t, aggregate.Options{})
	for _, step := range []struct {
		name string
		at   time.Duration
		l    aggregate.Local
		want bool
	}{
		{"a false high incarnation", 0, local(1<<63, 1<<63), true},
		{"the node itself, at once", 0, local(5, 1), false},
		{"the node itself, within one silence", silence, local(5, 2), false},
		{"the same false one again", silence + 1, local(1<<63, 1<<63), false},
		{"the node itself", silence + 1, local(5, 3), true},
		{"an earlier push of it", silence + 2, local(5, 2), false},
		{"its next", silence + 3, local(5, 4), true},
		{"its next, by a clock that was set back", 0, local(5, 5), true},
		{"an earlier one, by that clock", 0, local(5, 4), false},
		{"an agent whose clock was set back", silence + 1, local(4, 1), true},
	} {
		if changed, err := a.Put(start.Add(step.at), step.l); changed != step.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", step.name, changed, err, step.want)
		}
	}
}

// TestReplicasAgreeAfterDisorder: whichever incarnations were claimed at either of two replicas, both
// hold what the node pushes one Silence later.
func TestReplicasAgreeAfterDisorder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 200 {
		replicas := []*aggregate.Aggregator{create(t, aggregate.Options{}), create(t, aggregate.Options{})}
		at := start
		exchange := func() {
			for from, to := range []int{1, 0} {
				for _, e := range replicas[from].Entries(at) {
					if _, err := replicas[to].Merge(at, e, uint64(from+1)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for range 20 {
			at = at.Add(time.Duration(rng.Int64N(int64(silence))))
			feed(t, replicas[rng.IntN(2)], push{at, aggregate.Local{
				Node: "a", Incarnation: rng.Uint64N(4), Sequence: rng.Uint64N(4), Schema: "s", Model: flat(),
			}})
			if rng.IntN(2) == 0 {
				exchange()
			}
		}
		at = at.Add(silence + 1)
		feed(t, replicas[rng.IntN(2)], push{at, aggregate.Local{Node: "a", Sequence: 9, Schema: "s", Model: flat()}})
		exchange()
		exchange()
		one, other := replicas[0].Entries(at), replicas[1].Entries(at)
		if diff := cmp.Diff(one, other); diff != "" || one[0].Incarnation != 0 || one[0].Sequence != 9 {
			t.Fatalf("round %d: %+v and %+v", round, one, other)
		}
	}
}

// held is the reference's entry of a node.
type held struct {
	caller, schema string
	dim            int
}

// fits recomputes what a caller, and all callers, would hold.
func fits(nodes map[string]held, makers map[string]string, name string, h held, o aggregate.Options) (field string) {
	key := func(h held) string { return fmt.Sprint(h.schema, h.dim) }
	after := map[string]held{name: h}
	for n, other := range nodes {
		if n != name {
			after[n] = other
		}
	}
	groups, mine, my := map[string]bool{}, 0, 0
	for _, other := range after {
		groups[key(other)] = true
		if other.caller == h.caller {
			mine++
		}
	}
	for g := range groups {
		maker, there := makers[g]
		// A group of this node alone is created again.
		others := 0
		for n, other := range nodes {
			if n != name && key(other) == g {
				others++
			}
		}
		if !there || others == 0 {
			maker = h.caller
		}
		if maker == h.caller {
			my++
		}
	}
	share := func(n int) int { return int(o.CallerShare * float64(n)) }
	switch {
	case len(after) > o.MaxNodes:
		return "MaxNodes"
	case len(groups) > o.MaxGroups:
		return "MaxGroups"
	case h.caller != "" && mine > share(o.MaxNodes):
		return "MaxNodes"
	case h.caller != "" && my > share(o.MaxGroups):
		return "MaxGroups"
	}
	return ""
}

// TestBoundsEqualNaive lets callers invent names and schemas.
func TestBoundsEqualNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	models := map[int]svd.State{1: wide(1), 2: wide(2)}
	o := aggregate.Options{MaxNodes: 12, MaxGroups: 6, CallerShare: .5, MaxBytes: 1 << 20}
	a := create(t, o)
	nodes, makers, refused := map[string]held{}, map[string]string{}, map[string]int{}
	steps := 50_000
	if testing.Short() {
		steps = 10_000
	}
	for step := range steps {
		name := fmt.Sprint("n", rng.IntN(20))
		h := held{caller: []string{"", "x", "y", "z"}[rng.IntN(4)], schema: string(rune('a' + rng.IntN(8))), dim: 1 + rng.IntN(2)}
		want := fits(nodes, makers, name, h, o)
		if now, ok := nodes[name]; ok && now == h {
			want = "" // it keeps its place
		}
		changed, err := a.Put(start, aggregate.Local{
			Caller: h.caller, Node: name, Incarnation: uint64(step), Schema: h.schema, Model: models[h.dim],
		})
		var bad *field.Error
		if want == "" && (!changed || err != nil) || want != "" && (!errors.Is(err, aggregate.ErrFull) || !errors.As(err, &bad) || bad.Field != want) {
			t.Fatalf("step %d, %q %+v of %+v: %v, %v, want %q", step, name, h, nodes, changed, err, want)
		}
		if refused[want]++; want != "" || nodes[name] == h {
			continue
		}
		nodes[name] = h
		members := map[string]int{}
		for _, other := range nodes {
			members[fmt.Sprint(other.schema, other.dim)]++
		}
		for g := range makers {
			if members[g] == 0 {
				delete(makers, g)
			}
		}
		if g := fmt.Sprint(h.schema, h.dim); members[g] == 1 {
			makers[g] = h.caller
		}
		if rng.IntN(1000) == 0 { // all are forgotten
			if _, err := a.Globals(start.Add(24 * time.Hour)); err != nil || a.Len() != 0 {
				t.Fatal(a.Len(), err)
			}
			clear(nodes)
			clear(makers)
		}
	}
	if enough := steps / 50; refused[""] < enough || refused["MaxNodes"] < enough || refused["MaxGroups"] < enough {
		t.Errorf("got refusals %v", refused)
	}
}

// wide returns a model of many channels.
func wide(dim int) svd.State {
	s := svd.State{Dim: dim, Block: 10, Mass: 1, U: make([]float64, dim), Sigma: []float64{1}}
	s.U[0] = 1
	return s
}

// TestBytesAreBounded: the nodes' memory is close to the counted bytes, whatever their channels, and
// one caller gets its share.
func TestBytesAreBounded(t *testing.T) {
	const most = 16 << 20
	for _, dim := range []int{1, 4, 64} {
		a := create(t, aggregate.Options{MaxBytes: most, MaxNodes: 1 << 20})
		local := aggregate.Local{Schema: "s", Model: wide(dim), Costs: make([]aggregate.Cost, dim)}
		fill := func(caller string) (n int) {
			for ; ; n++ {
				local.Caller, local.Node = caller, fmt.Sprint("a-node-of-", caller, n)
				if _, err := a.Put(start, local); err != nil {
					var bad *field.Error
					if !errors.As(err, &bad) || bad.Field != "MaxBytes" || !errors.Is(err, aggregate.ErrFull) {
						t.Fatal(err)
					}
					return n
				}
			}
		}
		before := live()
		one := fill("x")
		two := fill("y")
		all := one + two + fill("")
		grown := live() - before
		if all != a.Len() || one != two || all < 4*one || float64(all) > 4.1*float64(one) {
			t.Errorf("d=%d: got %d and %d nodes of one caller, %d of all", dim, one, two, all)
		}
		if grown > 1.25*most || grown < .5*most {
			t.Errorf("d=%d: got %d nodes with %.1f MiB, want about %d", dim, all, grown/(1<<20), most>>20)
		}
		runtime.KeepAlive(a)
	}
}

// live returns the heap in use.
func live() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
