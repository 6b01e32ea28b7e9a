package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/requestreport"
)

const (
	// agentPort and whyPath are where an agent gives the reasons of its last report.
	agentPort = 9691
	whyPath   = "/debug/why"
	// sampleEvery is the time between two questions to an agent: the length of the spans that use is
	// averaged over.
	sampleEvery = 10 * time.Second
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

// poll is the asking of agents, again and again.
type poll struct {
	client *podforward.Client
	nodes  []string
	agents map[string]string
	last   map[string]time.Time // SampledAt of a node's last answer
	failed map[string]error     // why a node has never answered
}

// sample asks the agents of nodes and adds what they answer to the nodes' use.
func (o *objects) sample(ctx context.Context, c *Config, nodes map[string]*requestreport.Node) (notes []string, err error) {
	if len(o.agents) == 0 {
		return []string{fmt.Sprintf("No agents run in namespace %s: what nodes use is unknown.", deploy.AgentNamespace)}, nil
	}
	p := poll{agents: o.agents, nodes: slices.Sorted(maps.Keys(o.agents)), last: map[string]time.Time{}, failed: map[string]error{}}
	// One client asks all pods: those of thousands would take hundreds of megabytes.
	find := func(ctx context.Context, _ kubernetes.Interface, _ string) (string, error) {
		return ctx.Value(asked{}).(string), nil
	}
	p.client, err = podforward.NewClient(podforward.Config{Cluster: c.Cluster, Namespace: deploy.AgentNamespace, Port: agentPort, Find: find}, c.Timeout)
	if err != nil {
		return nil, err
	}
	started := c.Now()
	for round := time.Duration(0); round <= c.For; round += sampleEvery {
		if round > 0 {
			if err := c.Wait(ctx, started.Add(round)); err != nil {
				return nil, err
			}
		}
		if err := p.ask(ctx, c.Now(), nodes); err != nil {
			return nil, err
		}
	}
	return p.notes(), nil
}

// ask asks each agent once. The error is that ctx has ended.
func (p *poll) ask(ctx context.Context, at time.Time, nodes map[string]*requestreport.Node) error {
	answers, errs := make([]reasons, len(p.nodes)), make([]error, len(p.nodes))
	var group errgroup.Group
	group.SetLimit(mostAsked)
	for i, node := range p.nodes {
		group.Go(func() error {
			to := context.WithValue(ctx, asked{}, p.agents[node])
			answers[i], errs[i] = podforward.Decode[reasons](to, p.client, whyPath, url.Values{"format": {"json"}})
			return nil
		})
	}
	_ = group.Wait() // each error is its node's
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, node := range p.nodes {
		of := nodes[node]
		switch {
		case of == nil:
		case errs[i] != nil:
			if p.last[node].IsZero() {
				p.failed[node] = errs[i]
			}
		case answers[i].SampledAt.Equal(p.last[node]): // it has not measured since
		default:
			p.last[node] = answers[i].SampledAt
			delete(p.failed, node)
			if of.Use == nil {
				of.Use = &requestreport.Use{}
			}
			of.Use.Add(answers[i].sample(at, of))
		}
	}
	return nil
}

// notes name nodes of which nothing was heard.
func (p *poll) notes() (notes []string) {
	silent := slices.Sorted(maps.Keys(p.failed))
	for _, node := range silent[:min(len(silent), mostNamed)] {
		notes = append(notes, fmt.Sprintf("The agent of node %s did not answer: %v.", node, p.failed[node]))
	}
	if more := len(silent) - mostNamed; more > 0 {
		notes = append(notes, fmt.Sprintf("Nor did the agents of %d other nodes.", more))
	}
	return notes
}

// sample is an answer in cores and bytes, by the size of the machine.
func (r *reasons) sample(at time.Time, n *requestreport.Node) requestreport.Sample {
	s := requestreport.Sample{At: at}
	counted := r.Pronto == nil // Pronto's signal knows no room
	if counted && !r.Flags.CostUnknown && !r.Flags.WarmingUp {
		s.Room.Pods = requestreport.Is(r.Avail)
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
