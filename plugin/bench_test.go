package plugin_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
)

// fleet is a cluster whose nodes have all reported; full of them have no room.
func fleet(b testing.TB, nodes, full int) (*cluster, []*stream) {
	c := newCluster(b, setup{nodes: nodes, args: plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Hour}}})
	client := c.dial()
	streams := make([]*stream, nodes)
	for i := range streams {
		streams[i] = c.open(client, nodeName(i))
		streams[i].report(fleetReport(i, full))
	}
	c.eventually("all nodes have reported", func() bool {
		for _, s := range c.hub.Snapshot() {
			if s.Signal != "fresh" {
				return false
			}
		}
		return true
	})
	return c, streams
}

// fleetReport is that of the i-th node. Full nodes lie scattered.
func fleetReport(i, full int) agent.Report {
	r := agent.Report{Avail: float64(2 + i%16), K: 3, Limiting: "cpu", Absorbed: keys(i*30, i*30+30)}
	if i*7919%5000 < full {
		r.Avail = .5
	}
	return r
}

// cycleOnce runs what the plugin adds to a scheduling cycle in which all nodes
// are visited and all with room are scored.
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

// visits is the framework's side of a cycle.
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
			b.Run(fmt.Sprintf("nodes=%d/full=%d/reports=%d", nodes, full, rate), func(b *testing.B) {
				c, streams := fleet(b, nodes, full)
				ctx, stop := context.WithCancel(context.Background())
				done := make(chan struct{})
				go func() {
					defer close(done)
					publishAt(ctx, streams, rate, full)
				}()
				pods, w := make([]*v1.Pod, 1024), newVisits(c)
				for i := range pods {
					pods[i] = newPod(1<<20 + i)
				}
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
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
	}
}

// publishAt sends reports round robin at the given rate a second.
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

// BenchmarkReportToFilter measures what passes between the sending of a report,
// among those of all nodes once a second, and the moment from which a scheduling
// cycle sees it: the agent's and the scheduler's gRPC, loopback and the Hub.
func BenchmarkReportToFilter(b *testing.B) {
	for _, rate := range []int{0, 5000} {
		b.Run(fmt.Sprintf("nodes=5000/reports=%d", rate), func(b *testing.B) {
			// Watched nodes report in turn, each within the rate that a node may have.
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
				streams[at].report(agent.Report{Avail: avail, K: 3, Absorbed: keys(0, 30)})
				for {
					if n, _ := c.hub.Node(nodeName(at)); n.Avail == avail {
						break
					}
					time.Sleep(20 * time.Microsecond)
				}
				took = append(took, time.Since(sent))
				// At the pace of a busy agent.
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

// BenchmarkWake measures what passes between the sending of a report with one
// slot and the activation of a pod among many that wait.
func BenchmarkWake(b *testing.B) {
	for _, waiting := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			woken := make(chan string, 16)
			s := patient(1)
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

// TestVisitingANodeAllocatesNothing: what a cycle allocates does not grow with
// the nodes, be they admitted or refused.
func TestVisitingANodeAllocatesNothing(t *testing.T) {
	allocations := func(nodes int) float64 {
		// Fewer are refused than are admitted, so that all are visited.
		c, _ := fleet(t, nodes, 0)
		client := c.dial()
		for i := range nodes / 3 {
			c.open(client, nodeName(i)).settle(agent.Report{Incarnation: 2, Sequence: 1, Avail: .5})
		}
		w, pod := newVisits(c), newPod(1<<20)
		return testing.AllocsPerRun(100, func() { c.cycleOnce(t, pod, w) })
	}
	if few, many := allocations(20), allocations(80); many > few+1 {
		t.Errorf("%v allocations a cycle with 80 nodes, %v with 20", many, few)
	}
}
