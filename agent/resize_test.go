package agent_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
)

// TestResizeKeepsCosts adds 12 cores to a node of 4 whose pods take .6 of a core each: they still do,
// and four times as many fit.
func TestResizeKeepsCosts(t *testing.T) {
	n := newNode(t, config())
	n.run(rand.New(rand.NewPCG(1, 1)), 600, .05, .15)
	n.pods(0)
	n.samples(30, .05, .1)
	before := n.last()
	cost := func() (cores, bytes agent.Cost) {
		l, ok := n.p.Local()
		if !ok {
			t.Fatal("no model to push")
		}
		return l.Costs[0], l.Costs[1]
	}
	cores, bytes := cost()
	if err := n.p.Resize([]float64{16, 64e9}); err != nil {
		t.Fatal(err)
	}
	n.samples(20, .0125, .025)
	after := n.last()
	gotCores, gotBytes := cost()
	if !near(gotCores.Value, cores.Value, .02) || !gotCores.Known || !near(gotBytes.Value, bytes.Value, .02*bytes.Value) {
		t.Errorf("got costs %v and %v, want %v and %v", gotCores, gotBytes, cores, bytes)
	}
	if got, want := after.Channels[0].Capacity, 1-(1-before.Channels[0].Capacity)/4; !near(got, want, .01) {
		t.Errorf("capacity %.3f, want %.3f", got, want)
	}
	if ratio := after.Avail / before.Avail; ratio < 3.5 || ratio > 6 { // with many pods, less is kept free for a large one
		t.Errorf("offers %.1f pods, %.1f before", after.Avail, before.Avail)
	}
	// Back to the former size.
	if err := n.p.Resize([]float64{4, 16e9}); err != nil {
		t.Fatal(err)
	}
	n.samples(20, .05, .1)
	if got := n.last(); !near(got.Avail, before.Avail, .1*before.Avail) {
		t.Errorf("offers %.1f pods, %.1f before", got.Avail, before.Avail)
	}
}

// A fresh node's first guess is one pod per core of its present cores, and the fleet's cost is in
// cores.
func TestResizeMovesPriorAndFleet(t *testing.T) {
	n := newNode(t, config())
	n.samples(10, .1, .1)
	if err := n.p.Resize([]float64{16, 32e9}); err != nil {
		t.Fatal(err)
	}
	n.samples(20, .1, .1)
	c := n.last().Channels
	if c[0].Cost != 1./16 || c[1].Cost != 1./16 { // memory: an eighth of 16 GB
		t.Errorf("got costs %v and %v, want 1/16 each", c[0].Cost, c[1].Cost)
	}
	f := fleet(t, [][]float64{{.1, .1}}, agent.Cost{Value: 2, SD: 0, Known: true}, agent.Cost{})
	if err := n.p.SetFleet(n.at, f); err != nil {
		t.Fatal(err)
	}
	if err := n.p.Resize([]float64{8, 32e9}); err != nil {
		t.Fatal(err)
	}
	n.samples(10, .1, .1)
	if got := n.last().Channels[0].Cost; got != .25 {
		t.Errorf("got %v for the fleet's 2 cores of 8", got)
	}
}

// TestResizeResetsTheTypicalLoad: the typical load is learned again after a real change of the machine,
// and kept after a small change of its memory.
func TestResizeResetsTheTypicalLoad(t *testing.T) {
	for _, tt := range []struct {
		sizes []float64
		kept  bool
	}{{[]float64{4, 16e9}, true}, {[]float64{4, 15.9e9}, true}, {[]float64{16, 16e9}, false}} {
		n := newNode(t, config())
		n.samples(25, .5, .2)
		if err := n.p.Resize(tt.sizes); err != nil {
			t.Fatal(err)
		}
		if _, ok := n.p.Local(); ok != tt.kept {
			t.Errorf("sizes %v: got a model to push %v", tt.sizes, ok)
		}
		if got, want := len(n.p.State().Block), 2*5; got != want {
			t.Errorf("sizes %v: got %d values of the block, want %d", tt.sizes, got, want)
		}
		n.samples(10, .125, .2)
		if _, ok := n.p.Local(); !ok {
			t.Errorf("sizes %v: no model after a block", tt.sizes)
		}
	}
}

func TestResizeRefuses(t *testing.T) {
	n := newNode(t, config())
	n.samples(15, .3, .1)
	before := n.p.State()
	for _, bad := range [][]float64{nil, {4}, {4, 16e9, 1}, {0, 16e9}, {4, math.NaN()}, {math.Inf(1), 16e9}, {1e-30, 16e9}} {
		var fe *field.Error
		if err := n.p.Resize(bad); err == nil || len(bad) == 2 && bad[0] != 1e-30 && !errors.As(err, &fe) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if d := cmp.Diff(before, n.p.State(), unexported); d != "" {
		t.Errorf("state:\n%s", d)
	}
}

// A node that was resized repeatedly continues from its stored state as one that never stopped.
func TestResizedStateContinues(t *testing.T) {
	n := newNode(t, config())
	n.run(rand.New(rand.NewPCG(3, 3)), 60, .1, .15)
	for _, cores := range []float64{7, 3, 11, 16} {
		if err := n.p.Resize([]float64{cores, 5e9 * cores}); err != nil {
			t.Fatal(err)
		}
		n.run(rand.New(rand.NewPCG(4, 4)), 7, .1, .15)
	}
	m, _ := n.restarted()
	n.reports = nil
	n.run(rand.New(rand.NewPCG(5, 5)), 20, .1, .15)
	m.run(rand.New(rand.NewPCG(5, 5)), 20, .1, .15)
	if d := cmp.Diff(n.reports, m.reports); d != "" {
		t.Errorf("the restored node differs:\n%s", d)
	}
}
