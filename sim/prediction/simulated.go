package prediction

import (
	"context"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim"
	simnode "github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// The simulated fleet: small nodes on which pods come and go, at a load where a node is
// now and then full.
const (
	simNodes = 8
	simCores = 4
	simLoad  = .8
	simWork  = 4
	// simPeriod is an agent's.
	simPeriod = .1
)

// Simulate watches simulated nodes for so many seconds, at most an hour, ten times each:
// pods of unlike sizes arrive, and kube-scheduler's default profile places them.
func Simulate(ctx context.Context, seconds float64, seed uint64) (Source, error) {
	if !(seconds >= 1 && seconds <= 3600) {
		return Source{}, refuse("seconds", seconds, "1 to 3600")
	}
	pods, err := workload.Poisson(seed, simLoad, simNodes*simCores, simWork, seconds, workload.Exponential)
	if err != nil {
		return Source{}, err
	}
	w := &watcher{nodes: make([]node, simNodes), seconds: seconds}
	c := sim.Config{Nodes: simNodes, Scheduler: w, Latency: .001, Seed: seed}
	c.Node.Cores, c.Node.Overcommit = simCores, simnode.Kill // no pod takes memory
	// One that outlasts the rest, so that the nodes are watched for the whole time.
	pods = append(pods, sim.Pod{Work: .01 * (seconds + 10), Cores: .01})
	result, err := sim.Run(ctx, c, pods)
	if err != nil {
		return Source{}, err
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		n.Name, n.Churn = fmt.Sprintf("node-%d", i), make([]bool, len(n.Pressure))
	}
	for _, r := range result.Records {
		w.churn(r.Node, r.Running)
		w.churn(r.Node, r.Done)
	}
	return Source{
		name: "simulator", second: int(1 / simPeriod), unit: "s", nodes: w.nodes,
		about: fmt.Sprintf("%d simulated nodes of %d cores, %d samples of each, ten a second: utilisation, pressure and memory; pods of %d core-seconds in the mean take %g %% of the cores",
			simNodes, simCores, len(w.nodes[0].Pressure), simWork, 100*simLoad),
	}, nil
}

// watcher is the default scheduler that notes what nodes show.
type watcher struct {
	cluster *sim.Cluster
	nodes   []node
	seconds float64
}

// Start implements sim.Scheduler. A watcher is for one run.
func (w *watcher) Start(c *sim.Cluster) (sim.Policy, error) {
	w.cluster = c
	c.Every(simPeriod, simPeriod, w.look)
	return w, nil
}

// look reads all nodes.
func (w *watcher) look() {
	now := w.cluster.Now()
	for i := range w.nodes {
		r, ok := w.cluster.Read(i)
		if !ok || now < simPeriod/2 || now > w.seconds {
			continue
		}
		n := &w.nodes[i]
		n.Pressure = append(n.Pressure, r.Pressure)
		n.Metrics = append(n.Metrics, []float64{r.Utilisation, r.Pressure, r.Memory})
	}
}

// churn notes a container's event, in the sample that is the first to see it.
func (w *watcher) churn(node int, at float64) {
	i := int(math.Ceil(at/simPeriod-1e-9)) - 1
	if node >= 0 && at > 0 && i >= 0 && i < len(w.nodes[node].Churn) {
		w.nodes[node].Churn[i] = true
	}
}

// Admits implements sim.Policy.
func (w *watcher) Admits(int, int) bool { return true }

// Score implements sim.Policy.
func (w *watcher) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		scores[i] = w.cluster.DefaultScore(n, pod)
	}
}
