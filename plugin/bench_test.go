package plugin_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
)

// fleet is a cluster whose nodes have all reported room.
func fleet(b testing.TB, nodes int) (*cluster, []*stream) {
	c := newCluster(b, setup{nodes: nodes, args: plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Hour}}})
	client := c.dial()
	streams := make([]*stream, nodes)
	for i := range streams {
		streams[i] = c.open(client, nodeName(i))
		streams[i].report(agent.Report{Avail: float64(2 + i%16), K: 3, Absorbed: keys(i*30, i*30+30)})
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

// cycleOnce runs what the plugin adds to a scheduling cycle in which all nodes
// are visited and all with room are scored.
func cycleOnce(b testing.TB, c *cluster, pod *v1.Pod, feasible []fwk.NodeInfo, list fwk.NodeScoreList) {
	ctx, state := context.Background(), &cycleState{}
	if _, status := c.PreFilter(ctx, state, pod, c.infos); !status.IsSuccess() {
		b.Fatal(status)
	}
	feasible = feasible[:0]
	for _, info := range c.infos {
		if c.Filter(ctx, state, pod, info).IsSuccess() {
			feasible = append(feasible, info)
		}
	}
	c.PreScore(ctx, state, pod, feasible)
	list = list[:0]
	for _, info := range feasible {
		score, _ := c.Score(ctx, state, pod, info)
		list = append(list, fwk.NodeScore{Name: info.Node().Name, Score: score})
	}
	c.ScoreExtensions().NormalizeScore(ctx, state, pod, list)
}

func BenchmarkCycle(b *testing.B) {
	for _, rate := range []int{0, 5000} {
		b.Run(fmt.Sprintf("nodes=5000/reports=%d", rate), func(b *testing.B) {
			c, streams := fleet(b, 5000)
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				publishAt(ctx, streams, rate)
			}()
			pod := newPod(1 << 20)
			feasible, list := make([]fwk.NodeInfo, 0, 5000), make(fwk.NodeScoreList, 0, 5000)
			b.ReportAllocs()
			for b.Loop() {
				cycleOnce(b, c, pod, feasible, list)
			}
			stop()
			<-done
		})
	}
}

// publishAt sends reports round robin at the given rate a second.
func publishAt(ctx context.Context, streams []*stream, rate int) {
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
			streams[i%len(streams)].report(agent.Report{Avail: float64(2 + i%16), K: 3, Absorbed: keys(i*30, i*30+30)})
			i++
		}
	}
}

// BenchmarkReserve is the plugin's share of a reservation and its failed bind.
func BenchmarkReserve(b *testing.B) {
	c, _ := fleet(b, 100)
	ctx, state, pod := context.Background(), &cycleState{}, newPod(1<<20)
	b.ReportAllocs()
	for b.Loop() {
		if status := c.Reserve(ctx, state, pod, nodeName(5)); !status.IsSuccess() {
			b.Fatal(status)
		}
		c.Unreserve(ctx, state, pod, nodeName(5))
	}
}

// TestVisitingANodeAllocatesNothing: what a cycle allocates does not grow with
// the nodes it admits.
func TestVisitingANodeAllocatesNothing(t *testing.T) {
	c, _ := fleet(t, 50)
	ctx, state, pod := context.Background(), &cycleState{}, newPod(1<<20)
	if _, status := c.PreFilter(ctx, state, pod, c.infos); !status.IsSuccess() {
		t.Fatal(status)
	}
	// CycleState.Read boxes its key; that is not the plugin's to avoid.
	read := testing.AllocsPerRun(100, func() { _, _ = state.Read(plugin.Name) })
	got := testing.AllocsPerRun(100, func() {
		for _, info := range c.infos {
			c.Filter(ctx, state, pod, info)
			_, _ = c.Score(ctx, state, pod, info)
		}
	})
	if own := got/float64(len(c.infos)) - 2*read; own > 0 {
		t.Errorf("%v allocations a node", own)
	}
}
