package reserve_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

// podRecord is a pod's record by a list of the API's states.
type podRecord struct {
	standing    reserve.Standing
	since       time.Time
	listed, ran bool
	ended       bool
}

// TestSettledPodsOfASilentNode: after each of many random steps, the pods in slow start on a node
// without reports equal a count over all its pods, and n is the number that has run there.
func TestSettledPodsOfASilentNode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var l reserve.Ledger
	a := l.Account("n")
	pods, now := map[reserve.PodKey]*podRecord{}, epoch
	for step := range 100_000 {
		pod := reserve.PodKey(rng.IntN(8))
		p := pods[pod]
		switch what := rng.IntN(12); {
		case p == nil:
			if _, err := l.Bound("n", pod, one, now); err != nil {
				t.Fatal(err)
			}
			pods[pod] = &podRecord{since: now}
		case what == 0:
			l.Delete(pod, now)
			delete(pods, pod)
		case what == 1:
			l.Progress(pod, reserve.Ended)
			p.ended = true
		case what == 2 && !p.ended:
			l.Progress(pod, reserve.Stalled)

		case what == 3 && !p.ended:
			l.Progress(pod, reserve.Starting)

		case what == 4: // reports arrive again for a moment
			l.ConfirmRunning(a)
			for _, p := range pods {
				p.listed = p.listed || p.ran && !p.ended
			}
		case what < 9:
			s := reserve.Standing{Restarts: int32(rng.IntN(2))}
			s.Runs = rng.IntN(2) == 0
			s.Held = !s.Runs && rng.IntN(2) == 0
			l.Stands(pod, s, now)
			if s != p.standing {
				p.standing, p.since = s, now
			}
		default:
			now = now.Add(time.Duration(rng.IntN(4)) * time.Second)
			l.Expire(now)
			for _, p := range pods {
				p.ran = p.ran || p.standing.Runs && now.Sub(p.since) >= 10*time.Second
			}
		}
		unseen, running := 0., 0
		for _, p := range pods {
			held := p.standing.Held && now.Sub(p.since) >= 10*time.Second
			if !p.listed && !p.ran && !held {
				unseen++
			}
			if p.listed || p.ran {
				running++
			}
		}
		f := a.Flight()
		if got := f.Demand - f.Stalled + f.Silent; got != unseen || a.Running() != running {
			t.Fatalf("step %d: got %v pods in slow start and %d running, want %v and %d", step, got, a.Running(), unseen, running)
		}
		if verdict := judge(reserve.Signal{Avail: 100}, f, one, reserve.Rules{}).Unseen; (verdict == reserve.Admitted) != (unseen < 2) {
			t.Fatalf("step %d: got %v with %v pods in slow start", step, verdict, unseen)
		}
	}
}

// TestConfirmRunning: a node that reports takes out of flight the pods that ran for the settle
// time, once, and no others.
func TestConfirmRunning(t *testing.T) {
	var l reserve.Ledger
	a := l.Account("n")
	for pod := range reserve.PodKey(3) {
		if _, err := l.Bound("n", pod, one, epoch); err != nil {
			t.Fatal(err)
		}
	}
	l.Stands(0, reserve.Standing{Runs: true}, epoch)
	l.Stands(1, reserve.Standing{Runs: true}, epoch.Add(time.Second))
	for _, step := range []struct {
		after     time.Duration
		any       bool
		inFlight  float64
		confirmed int
	}{
		{9 * time.Second, false, 3, 0},
		{10 * time.Second, true, 2, 1},
		{10 * time.Second, false, 2, 1},
		{11 * time.Second, true, 1, 2},
		{time.Minute, false, 1, 2},
	} {
		l.Expire(epoch.Add(step.after))
		if found := l.ConfirmRunning(a); found != step.any || a.Flight().Demand != step.inFlight || a.Confirmed() != step.confirmed {
			t.Errorf("after %v: got %v, %v in flight, %d confirmed; want %v, %v, %d",
				step.after, found, a.Flight().Demand, a.Confirmed(), step.any, step.inFlight, step.confirmed)
		}
	}
}
