package placement

import (
	"math/rand/v2"
	"testing"
	"time"
)

// oneRoom has slots on its node for whoever asks.
type oneRoom struct{ slots int }

func (r *oneRoom) Slots(int, int, []int) int { return r.slots }
func (r *oneRoom) Places(int, int) int       { return 0 }

// TestTimersAreBounded wakes pods that come late or never, again and again: the timers of pauses
// and grants that another has replaced end, and set no others.
func TestTimersAreBounded(t *testing.T) {
	const pods, steps = 10, 20_000
	rng := rand.New(rand.NewPCG(1, 2))
	rooms := &oneRoom{}
	q := New(Config{Pause: 10 * time.Millisecond, Retry: time.Second, Grant: 50 * time.Millisecond}, rooms)
	q.AddNode(0)
	for pod := range pods {
		q.AddPod(pod, Pod{Workload: pod % 2, Order: int64(pod)})
		q.Try(pod, 0)
		q.Refuse(pod, EveryNode(), 0)
		q.StartWait(pod, 0)
	}
	now, most := time.Duration(0), 0
	comes := map[int]time.Duration{}
	for range steps {
		now += 10 * time.Millisecond
		for pod := range pods {
			if at, ok := comes[pod]; ok && at <= now {
				delete(comes, pod)
				q.Try(pod, now)
				q.Refuse(pod, EveryNode(), now)
				q.StartWait(pod, now)
			}
		}
		rooms.slots = rng.IntN(3)
		q.NotifyNode(0, now)
		q.Wake(rng.IntN(pods), now)
		q.Advance(now)
		q.Round(now)
		for _, pod := range q.Woken() {
			if _, ok := comes[pod]; !ok {
				comes[pod] = now + time.Duration(rng.IntN(4000))*time.Millisecond
			}
		}
		most = max(most, q.timers.Len())
	}
	if most > 20*pods {
		t.Errorf("up to %d timers for %d pods", most, pods)
	}
}
