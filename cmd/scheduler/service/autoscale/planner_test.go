package autoscale

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
)

var start = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

// waits returns a workload of which that many pods wait since the start.
func waits(pods int) []waitingPods {
	return []waitingPods{{Workload: "a", Pods: pods, Oldest: start, Demand: amount{CPU: 0.5, Memory: 1 << 20}}}
}

// TestBuffers: the steps of a case are passes of one planner. API has the result of the pass
// before.
func TestBuffers(t *testing.T) {
	type step struct {
		at      time.Duration
		waiting []waitingPods
		want    []int // the replicas of the buffers that exist afterwards
	}
	for name, c := range map[string]struct {
		exists []buffer
		steps  []step
	}{
		"nothing waits":                       {nil, []step{{0, nil, nil}, {time.Hour, nil, nil}}},
		"pods have not waited long enough":    {nil, []step{{29 * time.Second, waits(7), nil}}},
		"pods have waited long enough":        {nil, []step{{30 * time.Second, waits(7), []int{7}}}},
		"no more than the limit":              {nil, []step{{30 * time.Second, waits(700), []int{100}}}},
		"growth is immediate":                 {nil, []step{{30 * time.Second, waits(7), []int{7}}, {31 * time.Second, waits(9), []int{9}}}},
		"no pod is left":                      {nil, []step{{30 * time.Second, waits(7), []int{7}}, {35 * time.Second, nil, []int{7}}, {149 * time.Second, nil, []int{7}}, {150 * time.Second, nil, nil}}},
		"fewer pods wait":                     {nil, []step{{30 * time.Second, waits(7), []int{7}}, {40 * time.Second, waits(3), []int{7}}, {149 * time.Second, waits(3), []int{7}}, {150 * time.Second, waits(3), []int{3}}}},
		"a pause does not shrink":             {nil, []step{{30 * time.Second, waits(7), []int{7}}, {40 * time.Second, nil, []int{7}}, {50 * time.Second, waits(7), []int{7}}, {169 * time.Second, nil, []int{7}}, {170 * time.Second, nil, nil}}},
		"a buffer of a former leader stays":   {[]buffer{{Workload: "a", Replicas: 5}}, []step{{0, nil, []int{5}}, {119 * time.Second, nil, []int{5}}, {120 * time.Second, nil, nil}}},
		"a buffer of a former leader grows":   {[]buffer{{Workload: "a", Replicas: 5}}, []step{{time.Second, waits(8), []int{8}}}},
		"a buffer of a former leader shrinks": {[]buffer{{Workload: "a", Replicas: 5}}, []step{{0, waits(2), []int{5}}, {120 * time.Second, waits(2), []int{2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			planner, api := newPlanner(Config{}), newAPI(c.exists)
			for _, s := range c.steps {
				api.apply(t, planner.decide(plannerInput{Now: after(s.at), Waiting: s.waiting, Buffers: api.list()}))
				var got []int
				for _, b := range api.list() {
					got = append(got, b.Replicas)
				}
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Errorf("after %v (-want +got):\n%s", s.at, diff)
				}
			}
		})
	}
}

// A buffer that another client deleted while nothing waited for it is forgotten: the next one has
// the size of the pods that wait then.
func TestDeletedBufferIsForgotten(t *testing.T) {
	planner, api := newPlanner(Config{}), newAPI(nil)
	api.apply(t, planner.decide(plannerInput{Now: after(30 * time.Second), Waiting: waits(9)}))
	delete(api, "a")
	api.apply(t, planner.decide(plannerInput{Now: after(35 * time.Second), Buffers: api.list()}))
	api.apply(t, planner.decide(plannerInput{Now: after(40 * time.Second), Waiting: waits(2), Buffers: api.list()}))
	if got := api.replicas("a"); got != 2 {
		t.Errorf("%d replicas, want 2", got)
	}
}

// A buffer that cannot be deleted is deleted at each pass until it is gone, and does not ask for
// nodes for another ScaleDownDelay.
func TestDeleteIsRepeated(t *testing.T) {
	planner, exists := newPlanner(Config{}), []buffer{{Workload: "a", Replicas: 5}}
	planner.decide(plannerInput{Now: start, Buffers: exists})
	for _, at := range []time.Duration{120, 121, 180} {
		got := planner.decide(plannerInput{Now: after(at * time.Second), Buffers: exists}).Delete
		if diff := cmp.Diff([]string{"a"}, got); diff != "" {
			t.Errorf("after %v seconds (-want +got):\n%s", int(at), diff)
		}
	}
	if got := planner.decide(plannerInput{Now: after(181 * time.Second)}).Delete; len(got) > 0 {
		t.Errorf("%v is deleted and does not exist", got)
	}
}

// Buffers that cannot be written keep no other workload from having one.
func TestUnwritableBuffersComeLast(t *testing.T) {
	var waiting []waitingPods
	for i := range 105 {
		waiting = append(waiting, waitingPods{Workload: fmt.Sprintf("w%03d", i), Pods: 1, Oldest: start.Add(time.Duration(i) * time.Millisecond)})
	}
	planner, api := newPlanner(Config{}), newAPI(nil)
	for second := range 10 { // the five that have waited longest are refused each time
		out := planner.decide(plannerInput{Now: after(time.Duration(60+second) * time.Second), Waiting: waiting, Buffers: api.list()})
		out.Buffers = slices.DeleteFunc(out.Buffers, func(b buffer) bool { return b.Workload < "w005" })
		api.apply(t, out)
	}
	if got := api.list(); len(got) != 100 || got[0].Workload != "w005" {
		t.Errorf("%d buffers, the first is that of %s", len(got), got[0].Workload)
	}
}

// A template is rewritten only if the demand has changed by more than a tenth.
func TestDemandIsSteady(t *testing.T) {
	planner, api := newPlanner(Config{}), newAPI(nil)
	for i, c := range []struct{ is, want float64 }{{1, 1}, {1.09, 1}, {0.91, 1}, {1.2, 1.2}, {1.1, 1.2}, {0.5, 0.5}} {
		w := waitingPods{Workload: "a", Pods: 1, Oldest: start, Demand: amount{CPU: c.is, Memory: 100}}
		out := planner.decide(plannerInput{Now: after(time.Minute + time.Duration(i)*time.Second), Waiting: []waitingPods{w}, Buffers: api.list()})
		api.apply(t, out)
		if got := out.Buffers[0].Demand.CPU; got > c.want || got < c.want {
			t.Errorf("step %d: %v cores, want %v", i, got, c.want)
		}
	}
}

// With more workloads than allowed buffers, those that have waited longest have one.
func TestBuffersAreBounded(t *testing.T) {
	var waiting []waitingPods
	for i := range maxBuffers + 5 {
		waiting = append(waiting, waitingPods{Workload: fmt.Sprintf("w%03d", i), Pods: 1, Oldest: start.Add(-time.Duration(i) * time.Second)})
	}
	planner, api := newPlanner(Config{}), newAPI(nil)
	api.apply(t, planner.decide(plannerInput{Now: after(time.Minute), Waiting: waiting}))
	got := api.list()
	if len(got) != maxBuffers || got[0].Workload != "w005" {
		t.Errorf("%d buffers, the first is that of %s", len(got), got[0].Workload)
	}
	waiting = waiting[:maxBuffers] // five that have a buffer are done
	api.apply(t, planner.decide(plannerInput{Now: after(2 * time.Minute), Waiting: waiting, Buffers: api.list()}))
	api.apply(t, planner.decide(plannerInput{Now: after(4 * time.Minute), Waiting: waiting, Buffers: api.list()}))
	api.apply(t, planner.decide(plannerInput{Now: after(5 * time.Minute), Waiting: waiting, Buffers: api.list()}))
	if got = api.list(); len(got) != maxBuffers || got[0].Workload != "w000" {
		t.Errorf("%d buffers, the first is that of %s", len(got), got[0].Workload)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		config Config
		field  string
	}{
		{Config{}, ""},
		{Config{ScaleUpDelay: -1}, "scaleUpDelay"},
		{Config{ScaleDownDelay: -1}, "scaleDownDelay"},
		{Config{MaxReplicas: -1}, "maxReplicas"},
		{Config{ProtectAbove: 1.1}, "protectAbove"},
	} {
		c.config.Namespace = "n"
		err := c.config.validate()
		var refused *field.Error
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%+v: %v", c.config, err)
		case c.field != "" && (!errors.As(err, &refused) || refused.Field != c.field || !errors.Is(err, ErrInvalid)):
			t.Errorf("%+v: %v, want one of %s", c.config, err, c.field)
		}
	}
}

// TestBuffersKeepTheirPromises compares random histories, with leaders that die, with the
// expectation from the whole history.
func TestBuffersKeepTheirPromises(t *testing.T) {
	config := Config{ScaleUpDelay: 3 * time.Second, ScaleDownDelay: 8 * time.Second, MaxReplicas: 6}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 43))
		planner, api := newPlanner(config), newAPI(nil)
		history := map[string][]int{} // how many waited at each second, since when there was a buffer
		oldest := map[string]time.Time{}
		for second := range 60 {
			now := after(time.Duration(second) * time.Second)
			inherited := map[string]int{}
			if random.IntN(20) == 0 {
				planner, history = newPlanner(config), map[string][]int{}
				for _, b := range api.list() {
					inherited[b.Workload] = b.Replicas
				}
			}
			waiting := wait(random, oldest, now)
			before := api.list()
			api.apply(t, planner.decide(plannerInput{Now: now, Waiting: waiting, Buffers: before}))
			for _, of := range workloads {
				had := 0
				if i := slices.IndexFunc(before, func(b buffer) bool { return b.Workload == of }); i >= 0 {
					had = before[i].Replicas
				}
				pods := 0
				if i := slices.IndexFunc(waiting, func(w waitingPods) bool { return w.Workload == of }); i >= 0 && (had > 0 || now.Sub(oldest[of]) >= config.ScaleUpDelay) {
					pods = min(waiting[i].Pods, config.MaxReplicas)
				}
				if had == 0 && pods == 0 {
					history[of] = nil
				} else {
					history[of] = append(history[of], max(pods, inherited[of]))
				}
				last := history[of]
				want := slices.Max(append(last[max(len(last)-8, 0):], 0)) // of the last ScaleDownDelay
				if pods == 0 && want > 0 {
					want = had // it stays as it is until it goes
				}
				if got := api.replicas(of); got != want {
					t.Fatalf("seed %d, second %d: %s has %d replicas, want %d; %d wait", seed, second, of, got, want, pods)
				}
			}
		}
	}
}

var workloads = []string{"a", "b", "c"}

// wait draws the number of waiting pods of each workload, and stores since when.
func wait(random *rand.Rand, oldest map[string]time.Time, now time.Time) (waiting []waitingPods) {
	for _, of := range workloads {
		pods := max(random.IntN(14)-5, 0)
		if random.IntN(4) == 0 {
			pods = 0
		}
		switch {
		case pods == 0:
			delete(oldest, of)
			continue
		case oldest[of].IsZero():
			oldest[of] = now
		}
		waiting = append(waiting, waitingPods{Workload: of, Pods: pods, Oldest: oldest[of], Demand: amount{CPU: 1}})
	}
	return waiting
}

// api is the buffers that exist.
type api map[string]buffer

func newAPI(exists []buffer) api {
	a := api{}
	for _, b := range exists {
		a[b.Workload] = b
	}
	return a
}

func (a api) list() (all []buffer) {
	for _, b := range a {
		all = append(all, b)
	}
	slices.SortFunc(all, func(x, y buffer) int { return strings.Compare(x.Workload, y.Workload) })
	return all
}

func (a api) replicas(of string) int { return a[of].Replicas }

// apply fails the test for duplicate or contradictory changes.
func (a api) apply(t *testing.T, out plannerOutput) {
	t.Helper()
	wanted := map[string]bool{}
	for _, b := range out.Buffers {
		if wanted[b.Workload] || b.Replicas <= 0 {
			t.Fatalf("%+v is doubled or empty", b)
		}
		wanted[b.Workload] = true
		a[b.Workload] = b
	}
	for _, of := range out.Delete {
		if _, exists := a[of]; !exists || wanted[of] {
			t.Fatalf("%s is deleted, but does not exist or is wanted", of)
		}
		delete(a, of)
	}
}
