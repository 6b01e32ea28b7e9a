package plugin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// TestWattsInFlight: a node's remaining power is reduced by the expected power of pods in flight, until
// a report lists them.
func TestWattsInFlight(t *testing.T) {
	clock := newClock()
	c := energyCluster(t, clock, 3, func(s *setup) { s.args.EnergyObjective = "Remaining" })
	// 40 W remain, and a core takes 10; pods without a known demand count one core each.
	streams := c.power(8, machine(40, 120), machine(40, 120), machine(40, 120))
	expect := func(want map[string]int64) {
		t.Helper()
		clock.advance(time.Second) // the fleet is evaluated again
		got := c.scored(t, newPod(9), c.infos)
		for node, score := range want {
			if got[node] != score {
				t.Errorf("%s scores %d, want %d", node, got[node], score)
			}
		}
	}
	c.reserve(newPod(1), nodeName(1))
	streams[1].settle(withPower(9, machine(40, 120))) // as much room as the others, with the pod
	// 30, 20 and 30 W, compared by their square roots.
	expect(map[string]int64{nodeName(0): 100, nodeName(1): 82, nodeName(2): 100})
	r := withPower(8, machine(40, 120))
	r.Pods = []reserve.PodKey{keyOf(1)}
	streams[1].settle(r)
	expect(map[string]int64{nodeName(0): 100, nodeName(1): 100, nodeName(2): 100})
}

// TestSilenceTakesNoJoules: energy of a workload while its node is silent, from 15 s on, is not added
// when it reports again.
func TestSilenceTakesNoJoules(t *testing.T) {
	clock := newClock()
	pod := podOfDeployment(1, "web")
	pod.Spec.NodeName = nodeName(0)
	c := energyCluster(t, clock, 1, func(s *setup) { s.objects = append(s.objects, pod) })
	s := c.open(c.dial(), nodeName(0))
	reports := 0
	tell := func(after time.Duration) float64 {
		t.Helper()
		clock.advance(after)
		reports++ // so that the report shows it
		r := withPower(float64(reports), machine(40, 120))
		r.Pods, r.PodCores, r.PodWatts = []reserve.PodKey{keyOf(1)}, []float32{.5}, []float32{8}
		s.settle(r)
		if e := c.explain(pod).Energy; e != nil {
			return e.Joules
		}
		return 0
	}
	for range 4 { // the pod is known, and old enough
		tell(5 * time.Second)
	}
	joules := tell(5 * time.Second)
	for _, test := range []struct{ silence, counts time.Duration }{
		{5 * time.Second, 5 * time.Second}, {15 * time.Second, 15 * time.Second}, {16 * time.Second, 0}, {time.Hour, 0}, {2 * time.Second, 2 * time.Second},
	} {
		now := tell(test.silence)
		if want := 8 * test.counts.Seconds(); now-joules != want {
			t.Errorf("%v J after %v, want %v", now-joules, test.silence, want)
		}
		joules = now
	}
}

// runs separates runs of a test: the metric belongs to the process and keeps the workloads of an
// ended scheduler.
var runs atomic.Int64

// TestMetricHasAHundredWorkloads: the metric has the workloads that take most now, without those that
// once did.
func TestMetricHasAHundredWorkloads(t *testing.T) {
	const workloads, most = 120, 100
	prefix := fmt.Sprint("crowd-", runs.Add(1))
	clock := newClock()
	var keys []reserve.PodKey
	c := energyCluster(t, clock, 1, func(s *setup) {
		for i := range workloads {
			pod := podOfDeployment(i, fmt.Sprintf("%s-%03d", prefix, i))
			pod.Spec.NodeName = nodeName(0)
			s.objects = append(s.objects, pod)
			keys = append(keys, keyOf(i))
		}
	})
	s := c.open(c.dial(), nodeName(0))
	p := energy.Power{Quality: energy.Measured, Watts: 1e5, Max: 2e5, Idle: 40, Marginal: 10, Busy: 60, Cores: 64}
	tell := func(watts func(i int) float32) {
		t.Helper()
		clock.advance(20 * time.Second)
		r := agent.Report{Avail: float64(clock.Now().Unix()%1000) / 8, K: 2, Pods: keys, Power: p}
		for i := range keys {
			r.PodCores, r.PodWatts = append(r.PodCores, .5), append(r.PodWatts, watts(i))
		}
		s.settle(r)
	}
	series := regexp.MustCompile(`spazio_energy_workload_watts\{workload="default/Deployment/` + prefix + `-(\d+)"\}`)
	shown := func() map[int]bool {
		w := httptest.NewRecorder()
		legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		set := map[int]bool{}
		for _, m := range series.FindAllStringSubmatch(w.Body.String(), -1) {
			i, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			set[i] = true
		}
		return set
	}
	exactly := func(from int) func() bool {
		return func() bool {
			set := shown()
			for i := from; i < from+most; i++ {
				if !set[i] {
					return false
				}
			}
			return len(set) == most
		}
	}
	for range 2 {
		tell(func(i int) float32 { return float32(100 + i) })
	}
	c.eventually("the last hundred", exactly(workloads-most))
	for range 12 { // until their earlier usage no longer counts
		tell(func(i int) float32 { return float32(1000 - i) })
	}
	c.eventually("the first hundred", exactly(0))
}

// TestPodThatHasEndedLeavesItsNodeEmpty: a pod that has ended by the first energy report, which still
// lists it, does not stay with its node. The other pod was there before energy counted.
func TestPodThatHasEndedLeavesItsNodeEmpty(t *testing.T) {
	clock := newClock()
	gone, stays := podOfDeployment(1, "web"), podOfDeployment(2, "api")
	gone.Spec.NodeName, stays.Spec.NodeName = nodeName(0), nodeName(1)
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now, Random: func() float64 { return 0 }}})
	c.arrive(gone, stays)
	streams := []*stream{}
	for i := range 2 {
		s := c.open(c.dial(), nodeName(i))
		r := withPower(4, machine(30, 110))
		r.Pods = []reserve.PodKey{keyOf(1 + i)}
		s.settle(r)
		streams = append(streams, s)
	}
	c.delete(gone)
	c.eventually("the ledger forgets the pod", func() bool { return c.hub.Ledger().Confirmed+c.hub.Ledger().Bound == 1 })
	args := c.args
	args.EnergyWeight, args.IdleNodesPowerDown = .5, true
	by := c.second("thrifty", args)
	// The first node's report still lists the pod; 10 W a core, and 30 to wake.
	c.eventually("the first node counts as empty", func() bool {
		clock.advance(time.Second)
		for i := range slices.Backward(streams) { // the pod entered last comes first
			r := withPower(4+float64(clock.Now().Second())/64, machine(30, 110))
			r.Pods = []reserve.PodKey{keyOf(1 + i)}
			streams[i].settle(r)
		}
		scores := by.scored(t, newPod(9), c.infos)
		return scores[nodeName(0)] == 50 && scores[nodeName(1)] == 100
	})
}

// TestRefusedReservationKeepsNothing: a pod's reservation is refused after the pod was deleted. Nothing
// of it stays in the hub.
func TestRefusedReservationKeepsNothing(t *testing.T) {
	for _, mode := range []string{"Off", "On"} {
		c := newCluster(t, setup{nodes: 1, args: plugin.SpazioArgs{Profiles: mode}, options: plugin.HubOptions{Profiles: newProfileStore()}})
		c.open(c.dial(), nodeName(0)).settle(busy(0, 0))
		pod := podOfDeployment(1, "web")
		if status := c.Reserve(t.Context(), &cycleState{}, pod, nodeName(0)); status.IsSuccess() {
			t.Fatal("a full node takes the pod")
		}
		c.Unreserve(t.Context(), &cycleState{}, pod, nodeName(0))
		if n := c.hub.KnownPods(); n != 0 {
			t.Errorf("%s: %d pods are kept", mode, n)
		}
	}
}
