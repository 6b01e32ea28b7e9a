package requestreport

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/reserve"
)

// known is a workload whose pods take what the test says.
type known struct {
	profile.Workload
	pods     []taken
	requests profile.Amounts
}

// taken is what a pod takes on average and at its peak, and what its windows have added up to.
type taken struct {
	cores, memory float64
	demand, peak  float64 // core seconds, and bytes
}

// fleet makes up workloads from 20 millicores and 20 MiB a pod to 2.5 cores and 5 GiB, with pods that
// differ by up to a fifth.
func drawWorkloads(random *rand.Rand, workloads int) (all []known) {
	for i := range workloads {
		k := known{Workload: profile.Workload{Namespace: fmt.Sprint("team-", i%4), Kind: "Deployment", Name: fmt.Sprint("service-", i)}}
		cores, memory := .02*math.Pow(125, random.Float64()), float64(20<<20)*math.Pow(256, random.Float64())
		for range 1 + random.IntN(6) {
			differs := .8 + .4*random.Float64()
			k.pods = append(k.pods, taken{cores: differs * cores, memory: differs * memory})
		}
		over := 2 + 3*random.Float64()
		k.requests = profile.Amounts{CPU: over * cores, Memory: over * memory}
		all = append(all, k)
	}
	return all
}

// need is what its pods have taken.
func (k *known) need(span time.Duration) (of profile.Amounts) {
	for _, p := range k.pods {
		of.CPU += p.demand / span.Seconds() / float64(len(k.pods))
		of.Memory += p.peak / float64(len(k.pods))
	}
	return of
}

// uid is that of a workload's pod.
func uid(workload, pod int) string {
	return fmt.Sprintf("%08x-%04x-4000-8000-000000000000", 0x10000+workload, pod)
}

// window is what a pod took in the minute-th minute of its life: CPU that goes up and down, at random too,
// a part of which it waits for, and memory that has reached its peak after ten minutes.
func (p *taken) window(random *rand.Rand, pod reserve.PodKey, minute int) agent.Window {
	swing := .3*math.Sin(2*math.Pi*float64(minute)/25) + .4*(random.Float64()-.5)
	demand := 60 * p.cores * (1 + swing)
	waited := min(.1*demand, 30)
	memory := p.memory * min(.6+.04*float64(minute), 1) * (1 - .05*random.Float64())
	p.demand, p.peak = p.demand+demand, max(p.peak, memory)
	return agent.Window{Pod: pod, Usage: profile.Usage{
		Age: time.Duration(minute+1) * time.Minute, Span: time.Minute, CPU: demand - waited, Stalled: waited, Pressure: true,
		Memory: memory, MemoryPeak: p.peak,
	}}
}

// object is a WorkloadProfile as the profiler writes it.
func object(u profiler.Update) *v1alpha1.WorkloadProfile {
	o := &v1alpha1.WorkloadProfile{ObjectMeta: metav1.ObjectMeta{Namespace: u.Workload.Namespace}}
	demand := v1alpha1.FromDemand(u.Demand)
	o.Spec.Workload, o.Status.Demand, o.Status.Recommendation = v1alpha1.Reference(u.Workload), &demand, &v1alpha1.Recommendation{}
	for _, r := range u.Recommendations {
		o.Status.Recommendation.ContainerRecommendations = append(o.Status.Recommendation.ContainerRecommendations, v1alpha1.ContainerRecommendation{
			ContainerName: r.Container, Target: v1alpha1.Amounts{CPU: v1alpha1.Millicores(r.Target.CPU), Memory: v1alpha1.Bytes(r.Target.Memory)},
		})
	}
	return o
}

// hour has forty workloads measured for an hour, by the minute. It returns what the profiler's Store
// has found and the input of a report that knows no profiles yet.
func hour(t *testing.T) (all []known, store *profiler.Store, in Input) {
	t.Helper()
	const workloads, nodes = 40, 8
	random := rand.New(rand.NewPCG(43, 4))
	begin := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	all = drawWorkloads(random, workloads)
	store, err := profiler.New(profiler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	in = Input{madeAt: begin.Add(time.Hour), requests: true}
	for i := range nodes {
		in.nodes = append(in.nodes, clusterNode{Name: fmt.Sprint("node-", i), Allocatable: profile.Amounts{CPU: 64, Memory: 1 << 38}})
	}
	nodeOf := func(i, p int) string { return in.nodes[(i+p)%nodes].Name }
	for i, k := range all {
		for p := range k.pods {
			store.Pod(begin, profiler.Pod{UID: uid(i, p), Node: nodeOf(i, p), Workload: k.Workload, Created: begin, Always: true, Names: []string{"main"}})
			in.pods = append(in.pods, boundPod{Workload: k.Workload, Node: nodeOf(i, p), Requests: k.requests, Containers: []string{"main"}})
		}
	}
	for minute := range 60 {
		at := begin.Add(time.Duration(minute+1) * time.Minute)
		batches := make([]agent.UsageBatch, nodes)
		for i := range batches {
			batches[i] = agent.UsageBatch{Node: in.nodes[i].Name, Incarnation: 1, Sequence: uint64(minute + 1)}
		}
		for i := range all {
			for p := range all[i].pods {
				b := &batches[(i+p)%nodes]
				b.Windows = append(b.Windows, all[i].pods[p].window(random, reserve.KeyOf(uid(i, p)), minute))
			}
		}
		for _, b := range batches {
			if got := store.Windows(at, b); got[profiler.Accepted] != len(b.Windows) {
				t.Fatalf("%d windows of %d were accepted", got[profiler.Accepted], len(b.Windows))
			}
		}
	}
	return all, store, in
}

// TestMeasuredNeed compares the need that a report has with what pods were made to take, both by what the
// profiler publishes, whose amounts are rounded up by an eighth of an octave, and by what its Store
// advises, as of recordings.
func TestMeasuredNeed(t *testing.T) {
	for name, profiles := range map[string]func(*testing.T, *profiler.Store, time.Time, []known) []knownProfile{
		"published": func(t *testing.T, store *profiler.Store, at time.Time, _ []known) (found []knownProfile) {
			for _, u := range store.Changed(at, 1000) {
				p, err := fromObject(object(u))
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, p)
			}
			return found
		},
		"advised": func(t *testing.T, store *profiler.Store, at time.Time, all []known) (found []knownProfile) {
			for _, k := range all {
				advice, ok := store.Advise(at, k.Workload)
				if !ok {
					t.Fatalf("nothing is known of %v", k.Workload)
				}
				found = append(found, fromAdvice(k.Workload, advice))
			}
			return found
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, store, in := hour(t)
			in.profiles = profiles(t, store, in.madeAt, all)
			r, err := New(in)
			if err != nil {
				t.Fatal(err)
			}
			compareNeed(t, all, r)
		})
	}
}

// compareNeed holds the report's need, excess and recommendation against what pods took.
func compareNeed(t *testing.T, all []known, r *Report) {
	t.Helper()
	rows := map[string]workloadRow{}
	for _, w := range r.Workloads {
		rows[w.Name] = w
	}
	worst, excess := 0., profile.Amounts{}
	for i := range all {
		k := &all[i]
		w, truth := rows[k.Name], k.need(time.Hour)
		for what, of := range map[string]struct {
			measured, recommended Measured
			truth                 float64
		}{"CPU": {w.Need.CPU, w.Recommended.CPU, truth.CPU}, "memory": {w.Need.Memory, w.Recommended.Memory, truth.Memory}} {
			off := of.measured.Value/of.truth - 1
			worst = max(worst, math.Abs(off))
			if !of.measured.Known || math.Abs(off) > .1 {
				t.Errorf("%s: %s is %+v, in truth %g: %+.1f %% off", k.Name, what, of.measured, of.truth, 100*off)
			}
			if !of.recommended.Known || of.recommended.Value < .9*of.truth {
				t.Errorf("%s: recommended %s is %+v, where pods take %g", k.Name, what, of.recommended, of.truth)
			}
		}
		pods := float64(len(k.pods))
		excess.CPU, excess.Memory = excess.CPU+pods*(k.requests.CPU-truth.CPU), excess.Memory+pods*(k.requests.Memory-truth.Memory)
	}
	t.Logf("of %d workloads the need is %.1f %% off at most", len(rows), 100*worst)
	var got profile.Amounts
	for _, n := range r.Namespaces {
		got.CPU, got.Memory = got.CPU+n.Excess.CPU.Value, got.Memory+n.Excess.Memory.Value
	}
	if math.Abs(got.CPU/excess.CPU-1) > .1 || math.Abs(got.Memory/excess.Memory-1) > .1 {
		t.Errorf("the excess is %+v, in truth %+v", got, excess)
	}
}
