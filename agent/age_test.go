package agent_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
)

// TestOldSamplesAreNotReported: an event hours after the last sample is reported with the next sample.
func TestOldSamplesAreNotReported(t *testing.T) {
	for _, age := range []time.Duration{500 * time.Millisecond, time.Second, time.Second + 1, time.Hour} {
		n := newNode(t, config())
		n.list()
		n.samples(20, .1, .1)
		sampled, before := n.at, len(n.reports)
		n.at = n.at.Add(age)
		n.list(1)
		if fresh := age <= agent.DefaultMaxAge; fresh != (len(n.reports) > before) {
			t.Errorf("%v after the last sample: got %d reports", age, len(n.reports)-before)
		} else if fresh && !n.last().SampledAt.Equal(sampled) {
			t.Errorf("%v after the last sample: got SampledAt %v", age, n.last().SampledAt)
		}
		n.samples(1, .9, .1)
		if r := n.last(); len(r.Pods) != 1 || age > agent.DefaultMaxAge && (!r.SampledAt.Equal(n.at) || r.Avail > 1) {
			t.Errorf("%v: the next sample yields %+v", age, r)
		}
	}
}

// TestGapSeparatesBlocks: half a block from before a gap is not mixed with later samples, and the
// filter restarts.
func TestGapSeparatesBlocks(t *testing.T) {
	c := config()
	c.MaxAge = 3 * time.Second
	for _, gap := range []time.Duration{3*time.Second - 100*time.Millisecond, 10 * time.Hour} {
		n := newNode(t, c)
		n.samples(15, .9, .9) // a block and a half
		blocks := n.why().Model.Blocks
		n.at = n.at.Add(gap)
		n.samples(1, .05, .05)
		if long, y := gap > c.MaxAge, n.p.UsageTo(nil)[0]; long != (y == .05) || !long && y < .5 {
			t.Errorf("after %v: got filtered %v", gap, y)
		}
		n.samples(8, .05, .05)
		s := n.p.State()
		if gap < c.MaxAge {
			if s.Blocks != blocks+1 {
				t.Errorf("after %v: %d blocks", gap, s.Blocks)
			}
			continue
		}
		if s.Blocks != blocks || len(s.Block) != 9*2 {
			t.Fatalf("after %v: got %d blocks and %d values", gap, s.Blocks, len(s.Block))
		}
		for _, y := range s.Block {
			if y != .05 {
				t.Fatalf("after %v: got block %v", gap, s.Block)
			}
		}
	}
}

// TestTenReportsASecond changes the pods all the time: no second has more than ten reports, and the
// rate reaches the limit, although samples and events come at all phases.
func TestTenReportsASecond(t *testing.T) {
	for _, interval := range []time.Duration{0, 300 * time.Millisecond} {
		c := config()
		c.MinInterval = interval
		if interval == 0 {
			interval = agent.DefaultMinInterval
		}
		for seed := range uint64(5) {
			n := newNode(t, c)
			var times []time.Time
			n.visit = func(agent.Report) { times = append(times, n.at) }
			rng := rand.New(rand.NewPCG(seed, 0))
			y := []float64{.2, .2}
			next := n.at
			for i := range 6000 {
				n.at = n.at.Add(10 * time.Millisecond)
				if !n.at.Before(next) {
					n.keep(n.p.Sample(n.at, y))
					next = next.Add(100*time.Millisecond + time.Duration(rng.IntN(30)-15)*time.Millisecond)
				}
				n.see(agent.RunningPods(seq(i % 7)...)...)
			}
			span := times[len(times)-1].Sub(times[0])
			most := float64(span)/float64(interval) + 61 // the blocks' own
			if got := float64(len(times)); got > most || got < .9*float64(span)/float64(interval) {
				t.Errorf("seed %d, every %v: got %v reports in %v", seed, interval, got, span)
			}
			for i, at := range times {
				j := i
				for j < len(times) && times[j].Sub(at) < time.Second {
					j++
				}
				if got, bound := j-i, int(time.Second/interval)+2; got > bound {
					t.Fatalf("seed %d, every %v: got %d reports in a second", seed, interval, got)
				}
			}
		}
	}
}
