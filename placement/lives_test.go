package placement_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/placement"
)

// delayAfter is the delay of a workload whose only pod has lived for so long.
func delayAfter(life time.Duration) time.Duration {
	l := placement.NewLives[int](1)
	l.Add(0, life)
	return l.Delay(0)
}

func TestDelay(t *testing.T) {
	for _, test := range []struct{ life, want time.Duration }{
		{-time.Second, 0},
		{0, 0},
		{time.Second, 3 * time.Second},
		{1414 * time.Millisecond, 3 * time.Second}, // √2 s divides the octaves
		{1415 * time.Millisecond, 6 * time.Second},
		{250 * time.Millisecond, 750 * time.Millisecond},
		{10 * time.Second, 24 * time.Second},
		{12 * time.Second, 48 * time.Second},
		{1000 * time.Second, 3072 * time.Second},
		{24 * time.Hour, 3072 * time.Second},
		{math.MaxInt64, 3072 * time.Second},
	} {
		if got := delayAfter(test.life); got != test.want {
			t.Errorf("pods that live for %v: %v, want %v", test.life, got, test.want)
		}
	}
	if got := placement.NewLives[int](1).Delay(0); got != 0 {
		t.Errorf("while nothing is known: %v", got)
	}
}

func TestExpected(t *testing.T) {
	type end struct {
		of    string
		lived time.Duration
	}
	const s = time.Second
	for name, test := range map[string]struct {
		ends []end
		want map[string]time.Duration
	}{
		"nothing known": {nil, map[string]time.Duration{"a": 0}},
		"the fleet's mean of what is unknown": {
			[]end{{"a", 10 * s}, {"b", 20 * s}},
			map[string]time.Duration{"a": 25 * s / 2, "b": 35 * s / 2, "c": 15 * s},
		},
		"as much as one life of the fleet": {
			[]end{{"a", 1 * s}, {"a", 1 * s}, {"a", 1 * s}, {"b", 97 * s}}, // 25 s in the mean
			map[string]time.Duration{"a": 7 * s, "b": 61 * s},
		},
		"less than nothing": {[]end{{"a", -s}}, map[string]time.Duration{"a": 0, "b": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			l := placement.NewLives[string](10)
			for _, e := range test.ends {
				l.Add(e.of, e.lived)
			}
			got := map[string]time.Duration{}
			for of := range test.want {
				got[of] = l.Expected(of)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("expected lives (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExpectedFollows: a workload whose pods have changed is estimated anew, however long it was as
// before, and one of few ends is as the mean of all lives says.
func TestExpectedFollows(t *testing.T) {
	l := placement.NewLives[string](2)
	for range 100_000 {
		l.Add("a", time.Second)
	}
	for range 400 {
		l.Add("a", 100*time.Second)
	}
	if got := l.Expected("a"); got < 90*time.Second {
		t.Errorf("after 400 lives of 100 s: %v", got)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		l, sum, n := placement.NewLives[int](5), [6]float64{}, [6]float64{}
		for range 1 + rng.IntN(100) {
			of, lived := rng.IntN(5), time.Duration(rng.IntN(1e9))*100
			l.Add(of, lived)
			sum[of], n[of] = sum[of]+lived.Seconds(), n[of]+1
			sum[5], n[5] = sum[5]+lived.Seconds(), n[5]+1
		}
		for of := range 5 {
			want := (sum[of] + sum[5]/n[5]) / (n[of] + 1)
			if got := l.Expected(of).Seconds(); math.Abs(got-want) > 1e-6*want {
				t.Fatalf("%g s, want %g", got, want)
			}
		}
	}
}

// TestLivesAreBounded: of more workloads than may be known those are that ended last.
func TestLivesAreBounded(t *testing.T) {
	l := placement.NewLives[int](3)
	for _, of := range []int{1, 2, 3, 1, 4} { // 4 takes the place of 2
		l.Add(of, time.Duration(of)*time.Second)
	}
	known := map[int]bool{}
	for of := range 6 {
		known[of] = l.Expected(of) != l.Expected(99)
	}
	if diff := cmp.Diff(map[int]bool{0: false, 1: true, 2: false, 3: true, 4: true, 5: false}, known); diff != "" {
		t.Errorf("known workloads (-want +got):\n%s", diff)
	}
	if one := placement.NewLives[int](0); one.Expected(1) != 0 {
		t.Error("something is known without an end")
	}
}

// TestOvertaking: a pod is overtaken by one of its priority that was created after it by no more than
// their delays differ, and by none of a lower priority.
func TestOvertaking(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		w := newWorld()
		for i := range w.delays {
			w.delays[i] = delayAfter(time.Duration(rng.IntN(1e9)) * 50)
		}
		q := placement.New(placement.Config{Pause: time.Millisecond, Retry: time.Hour, Delay: w.delay}, w)
		q.AddNode(0)
		pods := make([]placement.Pod, 20)
		for i := range pods {
			pods[i] = placement.Pod{Workload: rng.IntN(testWorkloads), Priority: int32(rng.IntN(2)), Order: int64(rng.IntN(1e9) * 100)}
			q.AddPod(i, pods[i])
			q.Try(i, 0)
			q.Refuse(i, placement.EveryNode(), 0)
		}
		w.slots[0][placement.Typical] = len(pods)
		q.NotifyNode(0, 1)
		q.Round(1)
		woken := q.Woken()
		if len(woken) != len(pods) {
			t.Fatalf("%d of %d pods are woken", len(woken), len(pods))
		}
		for i, first := range woken {
			for _, next := range woken[i+1:] {
				a, b := pods[first], pods[next]
				later, differ := time.Duration(a.Order-b.Order), w.delays[b.Workload]-w.delays[a.Workload]
				if a.Priority < b.Priority || a.Priority == b.Priority && later > differ {
					t.Fatalf("%+v goes before %+v, which was created %v before; the delays differ by %v", a, b, later, differ)
				}
			}
		}
	}
}

// Pods of two workloads wait that were created at once. Those of the one live for a second, those of
// the other for a minute.
func ExampleLives() {
	l := placement.NewLives[string](1000)
	for range 9 {
		l.Add("query", time.Second)
		l.Add("report", time.Minute)
	}
	for _, of := range []string{"query", "report", "new"} {
		fmt.Println(of, l.Expected(of), l.Delay(of))
	}
	// Output:
	// query 3.95s 12s
	// report 57.05s 3m12s
	// new 30.5s 1m36s
}
