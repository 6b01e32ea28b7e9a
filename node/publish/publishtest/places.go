// Package publishtest replaces agents in tests of a scheduler: its nodes report how many pods still fit
// without measuring anything.
//
//	node := publishtest.NewPlaces("a", 4)
//	if err := node.StartAgent(publish.SignalsConfig{Targets: []string{hub.Addr().String()}}); err != nil { … }
//	defer node.KillAgent()
//	node.SetRunning([]string{"uid-of-a-pod"})
package publishtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Places is a node with a given number of places, of which a pod takes one, and its agent,
// which reports those that the running pods leave free: at each change, and twice a second.
// It is safe for concurrent use.
type Places struct {
	name string

	mu          sync.Mutex
	signals     *publish.Signals // nil while the node has no agent
	endAgent    func()
	incarnation uint64
	sequence    uint64
	last        agent.Report
	places      int
	saturated   bool
	memory      float64  // the pods that memory holds, 0 if it is not reported
	usage       *Usage   // nil if it is not reported
	running     []string // by UID
}

// NewPlaces returns a node without an agent and without pods.
func NewPlaces(name string, places int) *Places {
	return &Places{name: name, places: places, endAgent: func() {}}
}

// Name returns the node's name.
func (n *Places) Name() string { return n.name }

// StartAgent begins to report, until KillAgent; an agent that already reports is killed. The zero
// Backoff is a short one. Its error is that of publish.NewSignals.
func (n *Places) StartAgent(to publish.SignalsConfig) error {
	if to.Backoff == (publish.Backoff{}) {
		to.Backoff.Max = period
	}
	signals, err := publish.NewSignals(to)
	if err != nil {
		return err
	}
	n.KillAgent()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = signals.Run(ctx) })
	running.Go(func() { n.repeat(ctx) })
	n.mu.Lock()
	defer n.mu.Unlock()
	n.signals, n.endAgent = signals, func() { cancel(); running.Wait() }
	n.incarnation, n.sequence = uint64(time.Now().UnixNano()), 0
	n.report()
	return nil
}

// KillAgent ends the agent and its streams, if there is one; pods continue.
func (n *Places) KillAgent() {
	n.mu.Lock()
	end := n.endAgent
	n.signals, n.endAgent = nil, func() {}
	n.mu.Unlock()
	end()
}

// period is the time between two reports without a change.
const period = 500 * time.Millisecond

func (n *Places) repeat(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			n.mu.Lock()
			n.report()
			n.mu.Unlock()
		}
	}
}

// SetRunning sets which pods run, by UID.
func (n *Places) SetRunning(uids []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = slices.Clone(uids)
	n.report()
}

// Set changes the node and reports it, and returns the time of the report.
func (n *Places) Set(places int, saturated bool) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.places, n.saturated = places, saturated
	n.report()
	return now
}

// SetMemory makes later reports include memory for so many pods, half of them present; 0 removes memory
// from them.
func (n *Places) SetMemory(pods float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.memory = pods
}

// Usage is a node's measured CPU and memory. A plain value.
type Usage struct {
	// Cores and Bytes are the node's size.
	Cores, Bytes float64
	// CPU and Memory are the shares in use besides the pods.
	CPU, Memory float64
	// PodCores and PodBytes are the usage of each pod.
	PodCores, PodBytes float64
	// Waiting is the share of the time in which a task waits for a core, from 0 to 1.
	Waiting float64
}

// SetUsage makes later reports include a usage; places alone still decide.
func (n *Places) SetUsage(u Usage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.usage = &u
	n.report()
}

// channels returns the usage with so many pods as an agent reports it. All cores in use are half of
// the CPU's channel: tasks that wait are the other half.
func (u Usage) channels(pods float64) []agent.ChannelReport {
	core, b := 1/(2*u.Cores), 1/u.Bytes
	u.CPU, u.Memory = min(u.CPU+pods*u.PodCores/u.Cores, 1), min(u.Memory+pods*u.PodBytes/u.Bytes, 1)
	return []agent.ChannelReport{
		{Name: agent.CPU, Usage: (u.CPU + u.Waiting) / 2, Capacity: 1, Cost: core * u.PodCores, CostSD: core / 100, Unit: core, Room: 1 - (u.CPU+u.Waiting)/2, Most: 1},
		{Name: agent.Memory, Usage: u.Memory, Capacity: 1, Cost: b * u.PodBytes, CostSD: b, Unit: b, Room: 1 - u.Memory, Most: 1},
	}
}

// Places returns the number of places.
func (n *Places) Places() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.places
}

// LastReport returns the newest report.
func (n *Places) LastReport() agent.Report {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// report is called with n.mu held, so that reports leave in order.
func (n *Places) report() {
	if n.signals == nil {
		return
	}
	n.sequence++
	r := agent.Report{
		Node: n.name, Incarnation: n.incarnation, Sequence: n.sequence, SampledAt: time.Now(), Schema: "places",
		Avail: float64(n.places - len(n.running)), Saturated: n.saturated, K: float64(max(n.places, 0)),
	}
	for _, uid := range n.running {
		r.Pods = append(r.Pods, reserve.KeyOf(uid))
	}
	slices.Sort(r.Pods)
	if n.memory > 0 {
		r.Limiting = agent.CPU
		r.Channels = []agent.ChannelReport{{Name: agent.CPU, Usage: 1, Cost: .1}, {Name: agent.Memory, Usage: .5, Cost: 1 / n.memory}}
	}
	if n.usage != nil {
		r.Channels = n.usage.channels(float64(len(n.running)))
	}
	n.last = r
	n.signals.Send(r, r.SampledAt)
}
