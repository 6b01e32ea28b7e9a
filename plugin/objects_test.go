package plugin_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
)

// TestObjectsOfNodesChange: each update of a node yields a new API object; concurrent visits with old
// and new objects all find the same node.
func TestObjectsOfNodesChange(t *testing.T) {
	const nodes, workers, rounds = 60, 4, 200
	c := newCluster(t, setup{nodes: nodes, options: plugin.HubOptions{Random: func() float64 { return 0 }}})
	client := c.dial()
	want := make(map[string]int64)
	for i := range nodes {
		// One in seven is full, so that Filter runs.
		avail := float64(2 + 2*i)
		if i%7 == 0 {
			avail = .5
		} else {
			want[nodeName(i)] = int64(100*avail/(2*nodes) + .5)
		}
		c.open(client, nodeName(i)).settle(agent.Report{Avail: avail})
	}
	var busy sync.WaitGroup
	for w := range workers {
		busy.Go(func() {
			random, infos := rand.New(rand.NewPCG(1, uint64(w))), slices.Clone(c.infos)
			for range rounds {
				for i := range infos {
					if random.IntN(3) == 0 {
						infos[i] = nodeInfo{node: &v1.Node{ObjectMeta: *infos[i].Node().ObjectMeta.DeepCopy()}}
					}
				}
				if diff := cmp.Diff(want, c.scored(t, newPod(w), infos)); diff != "" {
					t.Errorf("scores (-want +got):\n%s", diff)
					return
				}
			}
		})
	}
	busy.Wait()
}

func (c *cluster) scored(t *testing.T, pod *v1.Pod, infos []fwk.NodeInfo) map[string]int64 {
	state, feasible, _ := c.attempt(pod, infos)
	got, err := c.scores(state, pod, feasible)
	if err != nil {
		t.Error(err)
	}
	return got
}
