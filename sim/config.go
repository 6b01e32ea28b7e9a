package sim

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Config describes a cluster. A zero field takes its default.
type Config struct {
	// Nodes is the number of nodes; default that of Sizes, or 19, the number of the thesis.
	Nodes int
	// Node is every node's model; its Seed is drawn from Seed.
	Node node.Params
	// Sizes, if set, are the nodes' cores, one number a node. Node's Memory is then of
	// a node of Node's Cores, and others have as much a core.
	Sizes []int
	// Machines, if set, are the nodes' models in turn: Node with the Power of each.
	Machines []node.Params
	// Scheduler places the pods; default Spazio{}.
	Scheduler Scheduler
	// Latency is one way between any two parts in seconds; default .25, with which a batch
	// takes as long as on a real node.
	Latency float64
	// Reserved is what each node keeps for its system: pods may request the rest. The
	// default is the memory that the node's system takes, with node.Evict also the eviction
	// threshold, and, as with a kubelet without reservations, none of the CPU.
	Reserved *baseline.Resources
	// MaxPods is how many pods a node takes; default 110, the kubelet's.
	MaxPods int
	// KubeletRate is how many pods a second a kubelet starts; default 10.
	KubeletRate float64
	// Warmup is the time in seconds that nodes and agents run before the
	// workload starts; default 5.
	Warmup float64
	// Horizon ends a run that does not end by itself, in seconds from the
	// workload's start; default 10⁶.
	Horizon float64
	// Background, if set, is a load of nodes that no scheduler knows of: one
	// series a node, reused in turn, of cores by time.
	Background []Series
	// Services are placed by the scheduler and answer requests by the time of the day.
	Services []Service
	// Seed selects all random streams.
	Seed uint64
}

// Series is a load by time: Cores[i] from Step·i seconds on, for ever from the
// last.
type Series struct {
	Step  float64
	Cores []float64
}

// maxNodes bounds what a run may ask of memory by mistake.
const maxNodes = 100_000

// validate returns a *field.Error of this package or of package node, or what the
// scheduler's options are refused for.
func (c Config) validate() error {
	if c.Nodes < 0 || c.Nodes > maxNodes {
		return refuse("Nodes", c.Nodes, fmt.Sprintf("0 (default) to %d", maxNodes))
	}
	if n := len(c.Sizes); n > maxNodes || n > 0 && c.Nodes > 0 && n != c.Nodes {
		return refuse("Sizes", n, fmt.Sprintf("one for each of the nodes, at most %d", maxNodes))
	}
	for i := range c.Sizes {
		if c.Sizes[i] < 1 {
			return refuse(fmt.Sprintf("Sizes[%d]", i), c.Sizes[i], "at least 1")
		}
		if err := c.node(i).Validate(); err != nil {
			return err
		}
	}
	for i := range c.Machines {
		if err := c.checkMachine(i); err != nil {
			return err
		}
	}
	if c.MaxPods < 0 {
		return refuse("MaxPods", c.MaxPods, "at least 0 (0 is the default)")
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"Latency", c.Latency}, {"KubeletRate", c.KubeletRate},
		{"Warmup", c.Warmup}, {"Horizon", c.Horizon},
	} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return refuse(f.name, f.value, "a finite number ≥ 0 (0 is the default)")
		}
	}
	if r := c.Reserved; r != nil {
		for _, v := range []float64{r.CPU, r.Memory} {
			if !(v >= 0) || math.IsInf(v, 1) {
				return refuse("Reserved", *r, "finite amounts ≥ 0")
			}
		}
	}
	for i, s := range c.Background {
		if !(s.Step > 0) || math.IsInf(s.Step, 1) || len(s.Cores) == 0 {
			return refuse(fmt.Sprintf("Background[%d]", i), s.Step, "a step above 0 and at least one value")
		}
		for _, v := range s.Cores {
			if !(v >= 0) || math.IsInf(v, 1) {
				return refuse(fmt.Sprintf("Background[%d].Cores", i), v, "finite numbers ≥ 0")
			}
		}
	}
	return c.Node.Validate()
}

// withDefaults returns c with its zero fields replaced.
func (c Config) withDefaults() Config {
	setDefault(&c.Nodes, len(c.Sizes))
	setDefault(&c.Nodes, 19)
	setDefault(&c.Latency, .25)
	setDefault(&c.MaxPods, 110)
	setDefault(&c.KubeletRate, 10)
	setDefault(&c.Warmup, 5)
	setDefault(&c.Horizon, 1e6)
	c.Node = c.Node.WithDefaults()
	if c.Scheduler == nil {
		c.Scheduler = Spazio{}
	}
	return c
}

// checkMachine refuses a machine that differs from Node in more than its power.
func (c Config) checkMachine(i int) error {
	machine, same := c.Machines[i], c.Node
	machine.Power, same.Power = node.Power{}, node.Power{}
	if machine.WithDefaults() != same.WithDefaults() {
		return refuse(fmt.Sprintf("Machines[%d]", i), c.Machines[i], "what Node is, except its Power")
	}
	if err := c.Machines[i].Validate(); err != nil {
		return fmt.Errorf("sim: Machines[%d]: %w", i, err)
	}
	return nil
}

// node is the model of one node.
func (c Config) node(i int) node.Params {
	p := c.Node
	if len(c.Machines) > 0 {
		p.Power = c.Machines[i%len(c.Machines)].Power
	}
	if len(c.Sizes) > 0 {
		p.Memory *= float64(c.Sizes[i]) / float64(p.WithDefaults().Cores)
		p.Cores = c.Sizes[i]
	}
	return p
}

// cores of the cluster.
func (c Config) cores() float64 {
	if len(c.Sizes) == 0 {
		return float64(c.Nodes * c.Node.Cores)
	}
	sum := 0
	for _, size := range c.Sizes {
		sum += size
	}
	return float64(sum)
}

// reserved is what a node of the given parameters keeps for its system.
func (c Config) reserved(p node.Params) baseline.Resources {
	if c.Reserved != nil {
		return *c.Reserved
	}
	memory := math.Ceil(p.BaseMemory * p.Memory)
	if p.Overcommit == node.Evict {
		memory += node.EvictionThreshold
	}
	return baseline.Resources{Memory: memory}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// What an attempt of kube-scheduler takes: a part of its own, and one for each node that is
// scored, in seconds. Measured (docs/evaluation.md): .78 ms with 19 nodes and 1.0 ms
// with 100, of 1,000 pods created at once.
const (
	attemptBase    = .7e-3
	attemptPerNode = 3e-6
)

// attemptTime is the time of one attempt.
func attemptTime(nodes int) float64 {
	return attemptBase + attemptPerNode*float64(nodesToFind(nodes))
}
