package plugin

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// consumption is what workloads take by what agents report of their pods. Safe for
// concurrent use.
type consumption struct {
	// on says that a profile ranks by energy or an agent has told what pods take: from
	// then on it is known whose each pod is.
	on atomic.Bool

	mu   sync.Mutex
	book *energy.Book
	// spent is of the workloads observed lately, by name.
	spent map[string]spent
}

// spent is what a workload's pods have taken since the scheduler started.
type spent struct {
	joules float64
	last   time.Time
}

func newConsumption() (*consumption, error) {
	book, err := energy.NewBook(energy.BookConfig{})
	if err != nil {
		return nil, err
	}
	return &consumption{book: book, spent: make(map[string]spent)}, nil
}

// observe takes what a pod of a workload took in a span that has ended. What makes no
// sense, or is older than what is known of the pod, teaches nothing.
func (c *consumption) observe(of profile.Workload, o energy.Observation, span time.Duration) {
	name := of.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.book.Observe(name, o) != nil {
		return
	}
	s, known := c.spent[name]
	if !known && len(c.spent) >= energy.DefaultWorkloads {
		c.forget()
	}
	if o.Metered {
		s.joules += o.Watts * span.Seconds()
	}
	s.last = o.At
	c.spent[name] = s
}

// forget drops what the workload has spent that was observed least recently.
func (c *consumption) forget() {
	var oldest string
	for name, s := range c.spent {
		if before, some := c.spent[oldest]; !some || s.last.Before(before.last) {
			oldest = name
		}
	}
	delete(c.spent, oldest)
}

func (c *consumption) estimate(of profile.Workload) energy.Estimate {
	name := of.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.book.Estimate(name)
}

// typical is what a pod of no workload in particular takes.
func (c *consumption) typical() energy.Estimate { return c.estimate(profile.Workload{}) }

// WorkloadEnergy is what a workload's pods take, as their nodes measured it.
type WorkloadEnergy struct {
	// Workload is namespace/kind/name.
	Workload string `json:"workload"`
	// Cores and Watts are a pod's, SD the deviation of Watts; Pods is how many were
	// observed lately. Known says that they are the workload's own, not the mean of
	// all.
	Cores float64 `json:"cores"`
	Watts float64 `json:"watts"`
	SD    float64 `json:"sd"`
	Pods  int     `json:"pods"`
	Known bool    `json:"known"`
	// Joules is what its pods have taken since the scheduler started.
	Joules float64 `json:"joules"`
}

// energyOf returns what is known of a workload.
func (c *consumption) energyOf(of profile.Workload) WorkloadEnergy {
	name := of.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stated(name, c.book.Estimate(name))
}

// stated needs c.mu.
func (c *consumption) stated(name string, e energy.Estimate) WorkloadEnergy {
	return WorkloadEnergy{
		Workload: name, Cores: e.Cores, Watts: e.Watts, SD: e.SD, Pods: e.Pods, Known: e.Known, Joules: c.spent[name].joules,
	}
}

// largest returns the workloads whose pods take most now, the largest first.
func (c *consumption) largest(most int, now time.Time) []WorkloadEnergy {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.book.LargestTo(nil, most, now)
	stated := make([]WorkloadEnergy, len(list))
	for i, w := range list {
		stated[i] = c.stated(w.Workload, w.Estimate)
	}
	return stated
}

// longestSpan is how long what a report tells of pods may stand for: some of an agent's
// periods. What a node was silent about is not made up.
const longestSpan = 15 * time.Second

// consumed takes in what a report says that its pods took of late; the mutex of n is
// held. A node is heard on its own pods alone, and none took more than the node has.
func (h *Hub) consumed(n *node, r *agent.Report, sampled time.Duration) {
	if len(r.AbsorbedCores) == 0 {
		return
	}
	h.meter()
	var span time.Duration
	if since := sampled - n.consumed; n.consumed > 0 && since > 0 && since <= longestSpan {
		span = since
	}
	n.consumed = sampled
	mostCores, mostWatts := float64(energy.MaxCores), float64(energy.MaxWatts)
	if cores := n.cores.Load(); cores > 0 {
		mostCores = float64(cores)
	}
	if r.Power.Known() {
		mostWatts = r.Power.Watts
	}
	for i, key := range r.Absorbed[:min(len(r.Absorbed), len(r.AbsorbedCores), len(r.AbsorbedWatts))] {
		if r.AbsorbedCores[i] == 0 { // not measured
			continue
		}
		of, known := h.workloads.workloadOf(key)
		if pod, there := h.ledger.Pod(key); !known || !there || pod.Node != n.name {
			continue
		}
		h.consumption.observe(of, energy.Observation{
			Pod: uint64(key), At: h.start.Add(sampled), Metered: r.Power.Known(),
			Cores: math.Min(float64(r.AbsorbedCores[i]), mostCores), Watts: math.Min(float64(r.AbsorbedWatts[i]), mostWatts),
		}, span)
	}
}

// meter has it known from now on whose each pod is.
func (h *Hub) meter() {
	if !h.consumption.on.Swap(true) {
		h.tasks.Go(h.enterAll)
	}
}

// enterAll notes the workloads of the pods that entered the ledger before anybody
// asked. One that has gone meanwhile is forgotten again.
func (h *Hub) enterAll() {
	pods, err := h.pods.List(labels.Everything())
	if err != nil {
		return // a lister of a cache has none
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" || isTerminal(pod) || isMirror(pod) {
			continue
		}
		h.workloads.enter(h.workloads.identify(pod), pod.UID)
		if _, there := h.ledger.Pod(reserve.KeyOf(string(pod.UID))); !there {
			h.workloads.leave(reserve.KeyOf(string(pod.UID)))
		}
	}
}

// vacant says whether a node's report lists no pod but those that each node has.
func (h *Hub) vacant(r *agent.Report) bool {
	return r.Power.Known() && !slices.ContainsFunc(r.Absorbed, func(key reserve.PodKey) bool {
		of, known := h.workloads.workloadOf(key)
		return known && of.Kind != "DaemonSet"
	})
}

// coresOf is how many cores a pod is expected to keep busy: what its profile says, if
// decisions rest on that, else what its workload's pods were measured to.
func (h *Hub) coresOf(of profile.Workload, k knowledge) float64 {
	if cores := h.asks(k).Cores; cores > 0 {
		return cores
	}
	return h.consumption.estimate(of).Cores
}
