package agent_test

import (
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// TestKilledPodsNeedMoreMemory: an OOM-killed pod is expected to need a fifth more than its peak, and
// at least 100 MiB more, whatever was predicted, also while it waits for its restart.
func TestKilledPodsNeedMoreMemory(t *testing.T) {
	const gigabyte = 1e9
	for name, c := range map[string]struct {
		demand      profile.Demand
		peak, needs uint64
	}{
		"no prediction":      {peak: 5 * gigabyte, needs: 6 * gigabyte},
		"less predicted":     {demand: certain(.1, 1e9), peak: 5 * gigabyte, needs: 6 * gigabyte},
		"more predicted":     {demand: certain(.1, 8e9), peak: 5 * gigabyte, needs: 8 * gigabyte},
		"a small pod":        {demand: certain(.1, .01e9), peak: .02 * gigabyte, needs: .02*gigabyte + 100<<20},
		"more than there is": {peak: 15 * gigabyte, needs: 16 * gigabyte},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, config())
			n.samples(20, 0, 0)
			n.startPod(1, c.demand)
			n.samples(20, .02, min(float64(c.peak)/16e9, 1))
			killed := reading(1, 3*time.Second, .1, c.peak)
			killed.OOMKills = 1
			n.p.Usage(n.at, []agent.PodReading{killed})
			n.keep(n.p.Pods(n.at, []agent.Pod{{Key: 1, State: agent.PodStopped, Starts: 1}}))
			n.samples(30, 0, 0)
			if got, want := n.last().Channels[1].Room, 1-float64(c.needs)/16e9; !near(got, want, 3e-3) {
				t.Errorf("got room %v of memory, want %v", got, want)
			}
		})
	}
}

// TestKillsAreForgotten: a pod that has run for ten minutes since its last kill needs only its peak;
// one that waits for a restart, or was killed again, needs more.
func TestKillsAreForgotten(t *testing.T) {
	const peak, more = 5e9, 6e9
	run, stop := agent.PodRunning, agent.PodStopped
	type step struct {
		after time.Duration
		state agent.PodState
		kills uint64
	}
	for name, c := range map[string]struct {
		steps []step
		needs float64
	}{
		"nine minutes":                 {[]step{{9 * time.Minute, run, 1}}, more},
		"ten minutes":                  {[]step{{10 * time.Minute, run, 1}}, peak},
		"stopped for an hour":          {[]step{{time.Hour, stop, 1}}, more},
		"runs again for nine minutes":  {[]step{{time.Minute, stop, 1}, {5 * time.Minute, run, 1}, {9 * time.Minute, run, 1}}, more},
		"runs again for ten minutes":   {[]step{{time.Minute, stop, 1}, {5 * time.Minute, run, 1}, {10 * time.Minute, run, 1}}, peak},
		"killed again":                 {[]step{{9 * time.Minute, run, 2}, {9 * time.Minute, run, 2}}, more},
		"killed again later":           {[]step{{10 * time.Minute, run, 1}, {time.Minute, run, 2}}, more},
		"the memory was not read once": {[]step{{9 * time.Minute, run, 0}, {time.Minute, run, 1}}, peak},
		"stops after it was forgotten": {[]step{{10 * time.Minute, run, 1}, {time.Minute, stop, 1}, {time.Minute, run, 1}}, peak},
		"ten minutes since the newest": {[]step{{9 * time.Minute, run, 3}, {10 * time.Minute, run, 3}}, peak},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, config())
			n.samples(20, 0, 0)
			n.startPod(1, certain(.1, 1e9))
			n.samples(20, .02, peak/16e9)
			take := func(s step) {
				n.at = n.at.Add(s.after)
				n.keep(n.p.Pods(n.at, []agent.Pod{{Key: 1, State: s.state, Starts: 1}}))
				r := reading(1, time.Minute, .1, peak)
				r.OOMKills, r.NoMemory = s.kills, s.kills == 0
				n.p.Usage(n.at, []agent.PodReading{r})
			}
			take(step{0, run, 1})
			for _, s := range c.steps {
				take(s)
			}
			n.samples(30, 0, 0)
			if got, want := n.last().Channels[1].Room, 1-c.needs/16e9; !near(got, want, 3e-3) {
				t.Errorf("got room %v of memory, want %v", got, want)
			}
		})
	}
}

// TestRoomForTypicalPodsBesideAKilledOne: memory that a killed pod is expected to need is no room for
// unpredicted pods.
func TestRoomForTypicalPodsBesideAKilledOne(t *testing.T) {
	avail := func(kills uint64) float64 {
		n := newNode(t, config())
		n.samples(20, 0, 0)
		for k := range reserve.PodKey(4) {
			n.startPod(1+k, profile.Demand{})
			n.samples(30, .02, .05*float64(1+k))
		}
		n.startPod(9, profile.Demand{})
		n.samples(30, .02, .7)
		killed := reading(9, 3*time.Second, .1, 8e9)
		killed.OOMKills = kills
		n.p.Usage(n.at, []agent.PodReading{killed})
		pods := append(agent.RunningPods(1, 2, 3, 4), agent.Pod{Key: 9, State: agent.PodStopped, Starts: 1})
		n.keep(n.p.Pods(n.at, pods))
		n.samples(30, .02, .2)
		return n.last().Avail
	}
	if before, after := avail(0), avail(1); !(after < before-1) {
		t.Errorf("got room for %v pods beside a killed pod, %v without the kill", after, before)
	}
}

// TestKilledPodsReleaseTheirPeak: a pod that ends after a kill releases at most what it held, while the
// usage still contains it.
func TestKilledPodsReleaseTheirPeak(t *testing.T) {
	n := newNode(t, config())
	n.samples(20, 0, 0)
	n.startPod(1, profile.Demand{}) // holds .4 of memory, which no reading shows
	n.samples(5, .02, .4)
	n.startPod(2, certain(.1, 1e9))
	n.samples(10, .02, .9)
	killed := reading(2, 3*time.Second, .1, 8e9)
	killed.OOMKills = 1
	n.p.Usage(n.at, []agent.PodReading{killed})
	n.podsNow = n.podsNow[:1]
	n.list(n.podsNow...)
	n.samples(1, .02, .9)
	if got := n.last().Channels[1].Room; !near(got, .6, .01) {
		t.Errorf("got room %v of memory, want .6", got)
	}
}
