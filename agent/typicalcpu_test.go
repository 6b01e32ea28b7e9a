package agent_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// follow has a pod come each of so many times, two at once, each bound a second before it
// runs and told to take what told says. All run for life, but the first ones.
func (n *node) follow(times int, life time.Duration, told func(i int) profile.Demand) {
	n.t.Helper()
	next := reserve.PodKey(100)
	for i := range times {
		came := []reserve.PodKey{next, next + 1}
		for j, k := range came {
			n.p.Bound(n.at, agent.Bind{Pod: k, InitsKnown: true, Demand: told(2*i + j)})
		}
		next += 2
		n.samples(10, .4, .1)
		n.podsNow = append(n.podsNow, came...)
		n.list(n.podsNow...)
		n.samples(int(life/(100*time.Millisecond)), .4, .1)
		n.podsNow = n.podsNow[:len(n.podsNow)-2]
		n.list(n.podsNow...)
	}
	n.samples(10, .4, .1)
}

// begin has two more pods come that go on.
func (n *node) begin(told func(i int) profile.Demand) {
	n.t.Helper()
	came := []reserve.PodKey{9000, 9001}
	for i, k := range came {
		n.p.Bound(n.at, agent.Bind{Pod: k, InitsKnown: true, Demand: told(i)})
	}
	n.samples(10, .4, .1)
	n.list(append(n.podsNow, came...)...)
	n.samples(5, .4, .1)
}

// TestShortLives: where pods live short the CPU has as much room for typical ones as if nothing had
// been told, and what it has for known ones is told beside it.
func TestShortLives(t *testing.T) {
	nothing := func(int) profile.Demand { return profile.Demand{} }
	unlike := func(i int) profile.Demand { return sure([]float64{.05, .8}[i%2], 1e8) }
	for _, c := range []struct {
		name  string
		cores float64
		life  time.Duration
		known float64
	}{
		{"for a second", 4, time.Second, 0},
		{"for a second on 16 cores", 16, time.Second, 0},
		{"for ten seconds", 4, 10 * time.Second, 2},
		{"for ten seconds on 64 cores", 64, 10 * time.Second, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := config()
			of.Cores, of.Channels[0].Size = c.cores, c.cores
			n, plain := newNode(t, of), newNode(t, of)
			n.follow(40, c.life, unlike)
			plain.follow(40, c.life, nothing)
			n.begin(unlike)
			plain.begin(nothing)
			why, r, p := n.why(), n.last(), plain.last()
			if got := why.Channels[0].Profiled; got != c.known {
				t.Errorf("%v pods count as known to the CPU, want %v", got, c.known)
			}
			if same := near(r.Avail, p.Avail, .02); same != (c.known == 0) {
				t.Errorf("%v pods fit, %v where nothing is told", r.Avail, p.Avail)
			}
			if r.Channels[0].Room <= p.Channels[0].Room {
				t.Errorf("known pods take as much room as typical ones: %v and %v are left", r.Channels[0].Room, p.Channels[0].Room)
			}
		})
	}
}

// TestTypicalCPU: where pods live short and are predicted to take alike, a node offers what it
// would if nothing had been told, and says so. Others count as what they take.
func TestTypicalCPU(t *testing.T) {
	nothing := func(int) profile.Demand { return profile.Demand{} }
	all := func(d profile.Demand) func(int) profile.Demand { return func(int) profile.Demand { return d } }
	turns := func(cores ...float64) func(int) profile.Demand {
		return func(i int) profile.Demand { return sure(cores[i%len(cores)], 1e8) }
	}
	doubted := sure(1, 1e8)
	doubted.CPU.Confidence = .4
	off := config()
	off.Allowance = capacity.AllowanceOptions{MostPerSlot: capacity.NoAllowance}
	sized := func(cores float64) agent.Config {
		c := config()
		c.Cores, c.Channels[0].Size = cores, cores
		return c
	}
	for _, c := range []struct {
		name        string
		config      agent.Config
		life        time.Duration
		told        func(int) profile.Demand
		least, most float64
	}{
		{"a core for a second", config(), time.Second, turns(1), 1, 1},
		{"on 16 cores", sized(16), time.Second, turns(1), 1, 1},
		{"on 64 cores", sized(64), time.Second, turns(1), 1, 1},
		{"a tenth of one for a second", config(), time.Second, turns(.1), .1, .1},
		{"nearly alike", config(), time.Second, turns(.8, 1.2), .95, 1.05},
		{"unlike", config(), time.Second, turns(.5, 1.5), 0, 0},
		{"for ten seconds", config(), 10 * time.Second, turns(1), 0, 0},
		{"for ten seconds on 64 cores, where an allowance is more than a pod", sized(64), 10 * time.Second, turns(1), 0, 0},
		{"hardly known", config(), time.Second, all(doubted), 0, 0},
		{"nothing told", config(), time.Second, nothing, 0, 0},
		{"no allowance", off, time.Second, turns(1), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, plain := newNode(t, c.config), newNode(t, c.config)
			n.follow(40, c.life, c.told)
			plain.follow(40, c.life, nothing)
			r := n.last()
			if !(r.TypicalCPU >= c.least-1e-9 && r.TypicalCPU <= c.most+1e-9) || n.why().Pace.TypicalCPU != r.TypicalCPU {
				t.Errorf("typical are %v cores, want %v to %v; explained by %+v", r.TypicalCPU, c.least, c.most, n.why().Pace)
			}
			if r.Signal().TypicalCPU != r.TypicalCPU {
				t.Errorf("of %v typical cores the signal has %v", r.TypicalCPU, r.Signal().TypicalCPU)
			}
			if known := n.why().Channels[0].Profiled; r.TypicalCPU > 0 && known != 0 {
				t.Errorf("%v pods count as known", known)
			}
			if r.TypicalCPU > 0 && !near(r.Avail, plain.last().Avail, .5) {
				t.Errorf("%v pods fit, %v where nothing is told", r.Avail, plain.last().Avail)
			}
		})
	}
}

// TestTypicalCPUGoesOn: a node that starts again knows what was typical.
func TestTypicalCPUGoesOn(t *testing.T) {
	n := newNode(t, config())
	n.follow(40, time.Second, func(int) profile.Demand { return sure(1, 1e8) })
	m, s := n.restarted()
	if d := cmp.Diff(n.p.State(), m.p.State(), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("state (-stored +restored):\n%s", d)
	}
	m.samples(10, .4, .1)
	if typicalCPU := m.last().TypicalCPU; typicalCPU != 1 {
		t.Errorf("typical are %v cores, want 1", typicalCPU)
	}
	s.Pace.Predicted.Squares = -1
	if _, err := agent.FromState(n.p.Config(), s); err == nil {
		t.Error("a negative square is taken")
	}
}
