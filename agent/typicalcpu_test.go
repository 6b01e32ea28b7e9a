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

// follow starts pods at so many times, two at once, each bound a second before with the demand that
// predict returns. All but the first run for life.
func (n *node) follow(times int, life time.Duration, predict func(i int) profile.Demand) {
	n.t.Helper()
	next := reserve.PodKey(100)
	for i := range times {
		came := []reserve.PodKey{next, next + 1}
		for j, k := range came {
			n.p.Bound(n.at, agent.Bind{Pod: k, InitsKnown: true, Demand: predict(2*i + j)})
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

// begin starts two more pods, which keep running.
func (n *node) begin(predict func(i int) profile.Demand) {
	n.t.Helper()
	came := []reserve.PodKey{9000, 9001}
	for i, k := range came {
		n.p.Bound(n.at, agent.Bind{Pod: k, InitsKnown: true, Demand: predict(i)})
	}
	n.samples(10, .4, .1)
	n.list(append(n.podsNow, came...)...)
	n.samples(5, .4, .1)
}

// TestShortLives: with short-lived pods the CPU has as much room for typical pods as without
// predictions; its room for predicted pods is reported separately.
func TestShortLives(t *testing.T) {
	nothing := func(int) profile.Demand { return profile.Demand{} }
	unlike := func(i int) profile.Demand { return certain([]float64{.05, .8}[i%2], 1e8) }
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
				t.Errorf("got %v predicted pods on the CPU, want %v", got, c.known)
			}
			if same := near(r.Avail, p.Avail, .02); same != (c.known == 0) {
				t.Errorf("got room for %v pods, want %v as without predictions", r.Avail, p.Avail)
			}
			if r.Channels[0].Room <= p.Channels[0].Room {
				t.Errorf("predicted pods take as much room as typical ones: got %v and %v", r.Channels[0].Room, p.Channels[0].Room)
			}
		})
	}
}

// TestTypicalCPU: with short-lived pods of similar predicted usage a node has the room that it has
// without predictions, and reports their typical usage. Other pods count with their predicted usage.
func TestTypicalCPU(t *testing.T) {
	nothing := func(int) profile.Demand { return profile.Demand{} }
	all := func(d profile.Demand) func(int) profile.Demand { return func(int) profile.Demand { return d } }
	turns := func(cores ...float64) func(int) profile.Demand {
		return func(i int) profile.Demand { return certain(cores[i%len(cores)], 1e8) }
	}
	uncertain := certain(1, 1e8)
	uncertain.CPU.Confidence = .4
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
		predict     func(int) profile.Demand
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
		{"low confidence", config(), time.Second, all(uncertain), 0, 0},
		{"no prediction", config(), time.Second, nothing, 0, 0},
		{"no allowance", off, time.Second, turns(1), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, plain := newNode(t, c.config), newNode(t, c.config)
			n.follow(40, c.life, c.predict)
			plain.follow(40, c.life, nothing)
			r := n.last()
			if !(r.TypicalCPU >= c.least-1e-9 && r.TypicalCPU <= c.most+1e-9) || n.why().Pace.TypicalCPU != r.TypicalCPU {
				t.Errorf("got %v typical cores, want %v to %v; explanation %+v", r.TypicalCPU, c.least, c.most, n.why().Pace)
			}
			if r.Signal().TypicalCPU != r.TypicalCPU {
				t.Errorf("report has %v typical cores, signal %v", r.TypicalCPU, r.Signal().TypicalCPU)
			}
			if known := n.why().Channels[0].Profiled; r.TypicalCPU > 0 && known != 0 {
				t.Errorf("got %v predicted pods", known)
			}
			if r.TypicalCPU > 0 && !near(r.Avail, plain.last().Avail, .5) {
				t.Errorf("got room for %v pods, want %v as without predictions", r.Avail, plain.last().Avail)
			}
		})
	}
}

// TestTypicalCPUContinues: a restarted node keeps the typical usage.
func TestTypicalCPUContinues(t *testing.T) {
	n := newNode(t, config())
	n.follow(40, time.Second, func(int) profile.Demand { return certain(1, 1e8) })
	m, s := n.restarted()
	if d := cmp.Diff(n.p.State(), m.p.State(), cmpopts.EquateEmpty(), unexported); d != "" {
		t.Errorf("state (-stored +restored):\n%s", d)
	}
	m.samples(10, .4, .1)
	if typicalCPU := m.last().TypicalCPU; typicalCPU != 1 {
		t.Errorf("got %v typical cores, want 1", typicalCPU)
	}
	s.Pace.Predicted.Squares = -1
	if _, err := agent.FromState(n.p.Config(), s); err == nil {
		t.Error("a negative square was accepted")
	}
}
