package requestreport

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

const (
	// agentPort and whyPath are where an agent gives the reasons of its last report.
	agentPort = 9691
	whyPath   = "/debug/why"
	// sampleEvery is the time between two questions to an agent: the length of a span of use.
	sampleEvery = 10 * time.Second
	// silentEvery is the time between two questions to an agent that has never answered, and between two
	// listings of agents' pods while some do not answer.
	silentEvery = time.Minute
	// mostLag is by how much more than at best an answer may be behind: reports are of every few seconds.
	mostLag = 30 * time.Second
	// mostAsked is how many agents are asked at once: each takes a connection to the API server.
	mostAsked = 32
	// mostNamed is how many nodes a note names.
	mostNamed = 5
)

// reasons are the part of agent.Why that is read.
type reasons struct {
	SampledAt time.Time       `json:"sampledAt"`
	Avail     float64         `json:"avail"`
	Flags     agent.Flags     `json:"flags"`
	Pronto    json.RawMessage `json:"pronto"`
	Channels  []struct {
		Name     string  `json:"name"`
		Filtered float64 `json:"filtered"`
		Room     float64 `json:"room"`
	} `json:"channels"`
}

// asked is the context's key of the pod that a question goes to.
type asked struct{}

// nodeAgent is the agent of a node, as it has answered so far.
type nodeAgent struct {
	pod     string
	askedAt time.Time
	// sampledAt is that of the newest answer that counts, zero without one, and lag by how much it was
	// behind at least, by the clocks of two machines.
	sampledAt time.Time
	lag       time.Duration
	// err is why the last question got no answer that counts.
	err error
}

// poll is the asking of agents, again and again.
type poll struct {
	client *podforward.Client
	pods   typedcorev1.PodInterface
	nodes  map[string]*clusterNode
	agents map[string]*nodeAgent // by node
	now    func() time.Time
	// listedAt is when the agents' pods were listed.
	listedAt time.Time
}

// sample asks the agents of nodes and adds what they answer to the nodes' use. The first round takes as
// long as it takes, so that every agent is asked; the others end in time for the next.
func (o *objects) sample(ctx context.Context, c *Config, nodes map[string]*clusterNode) (notes []string, err error) {
	if len(o.agents) == 0 {
		return []string{fmt.Sprintf("No agents run in namespace %s: what nodes use is unknown.", deploy.AgentNamespace)}, nil
	}
	started := c.now()
	p, err := newPoll(c, nodes, o.agents, started)
	if err != nil {
		return nil, err
	}
	for round := time.Duration(0); round <= c.For; {
		bounded, cancel := ctx, context.CancelFunc(func() {})
		if round > 0 {
			bounded, cancel = c.bound(ctx, started.Add(round+sampleEvery))
		}
		p.ask(bounded, c.now())
		p.list(bounded, c.now())
		cancel()
		if ctx.Err() != nil && round == 0 {
			return nil, ctx.Err()
		}
		if c.Progress != nil && c.For > 0 && round%time.Minute == 0 {
			fmt.Fprintf(c.Progress, "%v of %v: %d of %s answer\n", round, c.For, p.answering(), text.Count(len(p.agents), "agent"))
		}
		took := c.now().Sub(started)
		for round += sampleEvery; round < took; round += sampleEvery { // rounds that were missed
		}
		if round <= c.For && c.wait(ctx, started.Add(round)) != nil {
			notes = append(notes, fmt.Sprintf("Interrupted after %v of %v.", took.Round(time.Second), c.For))
			break
		}
	}
	return append(notes, p.notes()...), nil
}

func newPoll(c *Config, nodes map[string]*clusterNode, pods map[string]string, at time.Time) (*poll, error) {
	config := rest.CopyConfig(c.Cluster)
	config.Timeout = c.Timeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("requestreport: %w", err)
	}
	p := &poll{nodes: nodes, now: c.now, pods: client.CoreV1().Pods(deploy.AgentNamespace), agents: map[string]*nodeAgent{}, listedAt: at}
	for node, pod := range pods {
		p.found(node, pod)
	}
	// One client asks all pods: those of thousands would take hundreds of megabytes.
	find := func(ctx context.Context, _ kubernetes.Interface, _ string) (string, error) {
		return ctx.Value(asked{}).(string), nil
	}
	p.client, err = podforward.NewClient(podforward.Config{Cluster: c.Cluster, Namespace: deploy.AgentNamespace, Port: agentPort, Find: find}, c.Timeout)
	return p, err
}

// found takes in which pod is a node's agent.
func (p *poll) found(node, pod string) {
	a := p.agents[node]
	if a == nil {
		a = &nodeAgent{}
		p.agents[node] = a
	}
	a.pod = pod
}

// list looks for agents that were replaced while some do not answer.
func (p *poll) list(ctx context.Context, at time.Time) {
	if p.answering() == len(p.agents) || at.Sub(p.listedAt) < silentEvery {
		return
	}
	p.listedAt = at
	pods, err := p.pods.List(ctx, metav1.ListOptions{LabelSelector: agentLabel + "=" + agentName})
	if err != nil {
		return // the notes name those that do not answer
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; isAgent(pod) && p.nodes[pod.Spec.NodeName] != nil {
			p.found(pod.Spec.NodeName, pod.Name)
		}
	}
}

// answering is how many agents have answered the last question.
func (p *poll) answering() (n int) {
	for _, a := range p.agents {
		if !a.sampledAt.IsZero() && a.err == nil {
			n++
		}
	}
	return n
}

// due are the nodes whose agents are asked now: those that failed last, before them those that were not
// asked for longest. One that has never answered is asked once a minute.
func (p *poll) due(at time.Time) (nodes []string) {
	for node, a := range p.agents {
		if !a.sampledAt.IsZero() || a.askedAt.IsZero() || at.Sub(a.askedAt) >= silentEvery {
			nodes = append(nodes, node)
		}
	}
	failed := func(node string) int {
		if p.agents[node].err != nil {
			return 1
		}
		return 0
	}
	slices.SortFunc(nodes, func(a, b string) int {
		return cmp.Or(failed(a)-failed(b), p.agents[a].askedAt.Compare(p.agents[b].askedAt), cmp.Compare(a, b))
	})
	return nodes
}

// ask asks each agent that is due once, until ctx ends. Its values count as of the round's beginning, so
// that those of all nodes are of one span.
func (p *poll) ask(ctx context.Context, at time.Time) {
	due := p.due(at)
	answers, errs, answeredAt := make([]reasons, len(due)), make([]error, len(due)), make([]time.Time, len(due))
	var group errgroup.Group
	group.SetLimit(mostAsked)
	for i, node := range due {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			a := p.agents[node]
			a.askedAt = at
			answers[i], errs[i] = podforward.Decode[reasons](context.WithValue(ctx, asked{}, a.pod), p.client, whyPath, url.Values{"format": {"json"}})
			answeredAt[i] = p.now()
			return nil
		})
	}
	_ = group.Wait() // each error is its node's
	for i, node := range due {
		a, of := p.agents[node], p.nodes[node]
		if of == nil || !a.askedAt.Equal(at) || errors.Is(errs[i], context.Canceled) {
			continue // not one of the cluster, not asked, or interrupted
		}
		if a.take(answeredAt[i], answers[i].SampledAt, errs[i]) {
			if of.Use == nil {
				of.Use = &nodeUse{}
			}
			of.Use.add(answers[i].sample(at, of))
		}
	}
}

// take takes in when the values of an answer at a time were measured, or why there is none. It reports whether they
// are new.
func (a *nodeAgent) take(at, sampledAt time.Time, err error) bool {
	lag := at.Sub(sampledAt)
	switch first := a.sampledAt.IsZero(); {
	case err != nil:
	case first:
		a.lag = lag
	case lag > a.lag+mostLag:
		err = fmt.Errorf("it has measured nothing since %s", sampledAt.UTC().Format(time.RFC3339))
	default:
		a.lag = min(a.lag, lag)
	}
	a.err = err
	if err != nil || !sampledAt.After(a.sampledAt) {
		return false
	}
	a.sampledAt = sampledAt
	return true
}

// notes name nodes whose agents never answered, and those whose agents no longer do.
func (p *poll) notes() (notes []string) {
	var silent, stopped []string
	for _, node := range slices.Sorted(maps.Keys(p.agents)) {
		switch a := p.agents[node]; {
		case a.err == nil:
		case a.sampledAt.IsZero():
			silent = append(silent, node)
		default:
			stopped = append(stopped, node)
		}
	}
	for _, node := range silent[:min(len(silent), mostNamed)] {
		notes = append(notes, fmt.Sprintf("The agent of node %s did not answer: %v.", node, p.agents[node].err))
	}
	if more := len(silent) - mostNamed; more > 0 {
		notes = append(notes, fmt.Sprintf("Nor did the agents of %d other nodes.", more))
	}
	if len(stopped) == 0 {
		return notes
	}
	first := p.agents[stopped[0]]
	return append(notes, fmt.Sprintf("%s stopped answering: their use is of the time before. The agent of %s answered last at %s: %v.",
		text.Count(len(stopped), "node"), stopped[0], first.sampledAt.UTC().Format(time.RFC3339), first.err))
}

// sample is an answer in cores and bytes, by the size of the machine.
func (r *reasons) sample(at time.Time, n *clusterNode) useSample {
	s := useSample{At: at, NoPressure: r.Flags.NoPressure}
	counted := r.Pronto == nil // Pronto's signal knows no room
	if counted && !r.Flags.CostUnknown && !r.Flags.WarmingUp {
		s.Room.Pods = Is(r.Avail)
	}
	for _, c := range r.Channels {
		switch m := newMachine(n.Capacity.CPU, n.Capacity.Memory, r.Flags.NoPressure); c.Name {
		case agent.CPU:
			s.CPU = m.tasks(c.Filtered)
			if counted {
				s.Room.CPU = m.cores(c.Room)
			}
		case agent.Memory:
			s.Memory = m.bytes(c.Filtered)
			if counted {
				s.Room.Memory = m.bytes(c.Room)
			}
		}
	}
	return s
}
