package plugin_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/plugin"
)

// fleet returns a cluster whose nodes have all reported; full of them have no room.
func fleet(b testing.TB, nodes, full int) (*cluster, []*stream) {
	return fleetOf(b, setup{nodes: nodes}, full)
}

func fleetOf(b testing.TB, s setup, full int) (*cluster, []*stream) {
	nodes := s.nodes
	s.args.MaxAge.Duration = time.Hour
	c := newCluster(b, s)
	client := c.dial()
	streams := make([]*stream, nodes)
	for i := range streams {
		streams[i] = c.open(client, nodeName(i))
		streams[i].report(fleetReport(i, full))
		if i%64 == 63 || i == nodes-1 { // a loaded machine would refuse further streams as too many unauthenticated ones
			c.eventually("the node has reported", func() bool {
				n, _ := c.hub.Node(nodeName(i))
				return n.Signal == "fresh"
			})
		}
	}
	c.eventually("all nodes have reported", func() bool {
		return !slices.ContainsFunc(c.hub.Snapshot(), func(s plugin.NodeState) bool { return s.Signal != "fresh" })
	})
	return c, streams
}

// fleetReport returns the report of the i-th node. Full nodes are scattered.
func fleetReport(i, full int) agent.Report {
	r := measured(float64(2 + i%16))
	r.Power = machine(float64(40+i%7), float64(120+10*(i%19)))
	r.K, r.Pods = 3, keys(i*30, i*30+30)
	// Profiled pods leave a third of the CPU's channel free, so that fewer nodes are full for them.
	r.Channels[0].Room, r.Channels[1].Room = float64(9+i%11)/20, float64(4+i%13)/16
	if i*7919%5000 < full {
		// Neither typical nor profiled pods fit.
		r.Avail, r.Channels[0].Room, r.Channels[1].Room = .5, .2, .001
	}
	return r
}

// profiledFleet returns a fleet in which all pods have profiled workloads, with one pod in flight on
// each node.
func profiledFleet(b testing.TB, nodes, full int) (*cluster, []*stream) {
	profiles, at := make([]v1alpha1.WorkloadProfile, workloadsOfFleet), time.Now()
	for i := range profiles {
		profiles[i] = profileOf(workloadOfFleet(i), at, float64(1+i%8)/64, float64(1+i%7)*gib/16)
	}
	probe := podOfDeployment(1<<21, workloadOfFleet(workloadsOfFleet-1))
	c, streams := fleetOf(b, setup{
		nodes: nodes, objects: []runtime.Object{probe}, args: plugin.SpazioArgs{Profiles: "On"},
		options: plugin.HubOptions{Profiles: newProfileStore(profiles...)},
	}, full)
	c.eventually("profiles are known", func() bool {
		w := c.explain(probe).Workload
		return w != nil && w.Source == "profile"
	})
	for i := range nodes {
		pod := podOfDeployment(1<<22+i, workloadOfFleet(i))
		if status := c.Reserve(b.Context(), &cycleState{}, pod, nodeName(i)); i*7919%5000 >= full && !status.IsSuccess() {
			b.Fatal(status.Reasons())
		}
	}
	return c, streams
}

// energyFleet returns the setup of a scheduler that ranks nodes by energy.
func energyFleet(nodes int) setup {
	return setup{nodes: nodes, args: plugin.SpazioArgs{EnergyWeight: .5}}
}

const workloadsOfFleet = 64

func workloadOfFleet(i int) string { return fmt.Sprint("web-", i%workloadsOfFleet) }

// cycleOnce runs the plugin's part of a scheduling cycle that visits all nodes and scores all with
// room.
func (c *cluster) cycleOnce(b testing.TB, pod *v1.Pod, w *visits) {
	ctx, state := context.Background(), &cycleState{}
	result, status := c.PreFilter(ctx, state, pod, c.infos)
	nodes := c.infos
	switch {
	case status.IsRejected():
		return
	case !result.AllNodes():
		nodes = w.named[:0]
		for name := range result.NodeNames {
			nodes = append(nodes, w.byName[name])
		}
	}
	feasible := w.feasible[:0]
	for _, info := range nodes {
		if status.IsSkip() || c.Filter(ctx, state, pod, info).IsSuccess() {
			feasible = append(feasible, info)
		}
	}
	c.PreScore(ctx, state, pod, feasible)
	list := w.list[:0]
	for _, info := range feasible {
		score, _ := c.Score(ctx, state, pod, info)
		list = append(list, fwk.NodeScore{Name: info.Node().Name, Score: score})
	}
	if status := c.ScoreExtensions().NormalizeScore(ctx, state, pod, list); !status.IsSuccess() {
		b.Fatal(status)
	}
}

// visits is the framework's part of a cycle.
type visits struct {
	byName          map[string]fwk.NodeInfo
	named, feasible []fwk.NodeInfo
	list            fwk.NodeScoreList
}

func newVisits(c *cluster) *visits {
	n := len(c.infos)
	w := &visits{byName: make(map[string]fwk.NodeInfo, n), named: make([]fwk.NodeInfo, 0, n),
		feasible: make([]fwk.NodeInfo, 0, n), list: make(fwk.NodeScoreList, 0, n)}
	for _, info := range c.infos {
		w.byName[info.Node().Name] = info
	}
	return w
}

func BenchmarkCycle(b *testing.B) {
	const nodes = 5000
	for _, full := range []int{0, 10, 2000, 4950, 5000} {
		for _, rate := range []int{0, 5000} {
			cycles(b, fmt.Sprintf("nodes=%d/full=%d/reports=%d", nodes, full, rate), rate, full, func(b *testing.B) (*cluster, []*stream) {
				return fleet(b, nodes, full)
			})
			cycles(b, fmt.Sprintf("energy/nodes=%d/full=%d/reports=%d", nodes, full, rate), rate, full, func(b *testing.B) (*cluster, []*stream) {
				return fleetOf(b, energyFleet(nodes), full)
			})
			cycles(b, fmt.Sprintf("profiles/nodes=%d/full=%d/reports=%d", nodes, full, rate), rate, full, func(b *testing.B) (*cluster, []*stream) {
				return profiledFleet(b, nodes, full)
			})
		}
	}
}

func cycles(b *testing.B, name string, rate, full int, build func(*testing.B) (*cluster, []*stream)) {
	b.Run(name, func(b *testing.B) {
		c, streams := build(b)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			publishAt(ctx, streams, rate, full)
		}()
		pods, w := make([]*v1.Pod, 1024), newVisits(c)
		for i := range pods {
			pods[i] = podOfDeployment(1<<20+i, workloadOfFleet(i))
		}
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		b.ReportAllocs()
		start := threadTime(b)
		for i := 0; b.Loop(); i++ {
			c.cycleOnce(b, pods[i%len(pods)], w)
		}
		b.ReportMetric(float64(threadTime(b)-start)/float64(b.N), "cpu-ns/op")
		stop()
		<-done
	})
}

// BenchmarkUpdateDemands changes the profile of a workload with 1,000 pods in flight, on as many nodes,
// beside as many pods of other workloads.
func BenchmarkUpdateDemands(b *testing.B) {
	const pods = 1000
	c, _ := profiledFleet(b, pods, 0)
	for i := range pods {
		if status := c.Reserve(b.Context(), &cycleState{}, podOfDeployment(1<<23+i, "many"), nodeName(i)); !status.IsSuccess() {
			b.Fatal(status.Reasons())
		}
	}
	at := time.Now()
	one, other := profileOf("many", at, .125, gib/8), profileOf("many", at, .25, gib/16)
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	b.ReportAllocs()
	start := threadTime(b)
	for i := 0; b.Loop(); i++ {
		p := &one
		if i%2 > 0 {
			p = &other
		}
		c.hub.Learn(p)
	}
	b.ReportMetric(float64(threadTime(b)-start)/float64(b.N), "cpu-ns/op")
}

// publishAt sends reports round robin at a rate per second.
func publishAt(ctx context.Context, streams []*stream, rate, full int) {
	if rate == 0 {
		return
	}
	const batches = 100
	ticker := time.NewTicker(time.Second / batches)
	defer ticker.Stop()
	for i := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for range rate / batches {
			streams[i%len(streams)].report(fleetReport(i%len(streams), full))
			i++
		}
	}
}

// BenchmarkReserve is the plugin's share of a reservation and its failed bind.
func BenchmarkReserve(b *testing.B) {
	c, _ := fleet(b, 100, 0)
	ctx, state, pod := context.Background(), &cycleState{}, newPod(1<<20)
	b.ReportAllocs()
	for b.Loop() {
		if status := c.Reserve(ctx, state, pod, nodeName(5)); !status.IsSuccess() {
			b.Fatal(status)
		}
		c.Unreserve(ctx, state, pod, nodeName(5))
	}
}

// BenchmarkReportToFilter measures the time from sending a report, among those of all nodes once a
// second, until a scheduling cycle sees it: gRPC of the agent and the scheduler, loopback and the Hub.
func BenchmarkReportToFilter(b *testing.B) {
	for _, rate := range []int{0, 5000} {
		b.Run(fmt.Sprintf("nodes=5000/reports=%d", rate), func(b *testing.B) {
			// Watched nodes report in turn, each within a node's allowed rate.
			const nodes, watched = 5000, 500
			c, streams := fleet(b, nodes, 0)
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				publishAt(ctx, streams[watched:], rate, 0)
			}()
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				avail, at := 100+float64(i), i%watched
				sent := time.Now()
				streams[at].report(agent.Report{Avail: avail, K: 3, Pods: keys(0, 30)})
				for {
					if n, _ := c.hub.Node(nodeName(at)); n.Avail == avail {
						break
					}
					time.Sleep(20 * time.Microsecond)
				}
				took = append(took, time.Since(sent))
				// At the rate of a busy agent.
				time.Sleep(2 * time.Millisecond)
			}
			stop()
			<-done
			slices.Sort(took)
			b.ReportMetric(0, "ns/op")
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(took[len(took)*p/100].Microseconds()), fmt.Sprintf("p%d-µs", p))
			}
		})
	}
}

// BenchmarkWake measures the time from sending a report with one slot until a pod is activated, among
// many that wait.
func BenchmarkWake(b *testing.B) {
	for _, waiting := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			woken := make(chan string, 16)
			s := withoutRetry(1)
			s.args.MaxReportRate = 1e6
			s.args.ReportBurst = 1 << 30
			s.activate = func(pods map[string]*v1.Pod) {
				for _, pod := range pods {
					woken <- pod.Name
				}
			}
			pods := make(map[string]*v1.Pod, waiting)
			for i := range waiting {
				pod := newPod(i)
				pods[pod.Name] = pod
				s.objects = append(s.objects, pod)
			}
			c := newCluster(b, s)
			agentOf := c.open(c.dial(), nodeName(0))
			agentOf.settle(agent.Report{Avail: 0})
			for _, pod := range pods {
				c.attempt(pod, c.infos)
			}
			b.ReportAllocs()
			for b.Loop() {
				agentOf.report(agent.Report{Avail: 1})
				name := <-woken
				b.StopTimer()
				agentOf.settle(agent.Report{Avail: 0})
				c.attempt(pods[name], c.infos)
				b.StartTimer()
			}
		})
	}
}

// TestVisitingANodeAllocatesNothing: the allocations of a cycle do not grow with the nodes, whether
// these admit or refuse the pod.
func TestVisitingANodeAllocatesNothing(t *testing.T) {
	allocations := func(nodes int, energy float64) float64 {
		// Fewer nodes refuse than admit, so that all are visited.
		c, _ := fleetOf(t, setup{nodes: nodes, args: plugin.SpazioArgs{EnergyWeight: energy}}, 0)
		client := c.dial()
		for i := range nodes / 3 {
			c.open(client, nodeName(i)).settle(agent.Report{Incarnation: 2, Sequence: 1, Avail: .5})
		}
		w, pod := newVisits(c), newPod(1<<20)
		return testing.AllocsPerRun(100, func() { c.cycleOnce(t, pod, w) })
	}
	// The streams allocate in the background, more in a longer cycle; one allocation per refusing node
	// would be 20 more.
	const beside = 10
	for _, energy := range []float64{0, .5} {
		if few, many := allocations(20, energy), allocations(80, energy); many > few+beside {
			t.Errorf("with an energyWeight of %v: got %v allocations per cycle with 80 nodes, %v with 20", energy, many, few)
		}
	}
}
