package compare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

// Where agents say what their nodes take.
const (
	agentLabels = "app.kubernetes.io/name=spazio-agent"
	agentPort   = 9691
	agentPath   = "/debug/why"
	agentWait   = 10 * time.Second
)

// agents are asked for the power of their nodes, through the API server.
type agents struct {
	config *rest.Config
	nodes  []string
}

// why is what is taken of an agent's answer.
type why struct {
	Incarnation uint64    `json:"incarnation"`
	SampledAt   time.Time `json:"sampledAt"`
	Power       *struct {
		Quality string  `json:"quality"`
		Joules  float64 `json:"joules"`
	} `json:"power"`
}

// power is what an agent had counted of its node at a time of its own clock.
type power struct {
	of      uint64 // the agent's life: another counts anew
	at      time.Time
	joules  float64
	quality string
}

// askedAtOnce bounds the connections to the API server.
const askedAtOnce = 16

// read asks all agents. The error wraps errNoPower if an agent reports no power, and names all such
// nodes.
func (a *agents) read(ctx context.Context) (map[string]power, error) {
	var (
		mu     sync.Mutex
		all    = map[string]power{}
		failed = map[string]error{}
		asking sync.WaitGroup
		places = make(chan struct{}, askedAtOnce)
	)
	for _, node := range a.nodes {
		places <- struct{}{}
		asking.Go(func() {
			defer func() { <-places }()
			p, err := a.ask(ctx, node)
			for again := 1; err != nil && again < attempts && pause(ctx, look) == nil; again++ {
				p, err = a.ask(ctx, node)
			}
			mu.Lock()
			defer mu.Unlock()
			if all[node] = p; err != nil {
				failed[node] = err
			}
		})
	}
	asking.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var errs []error
	for _, node := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, fmt.Errorf("%s: %w", node, failed[node]))
	}
	return all, errors.Join(errs...)
}

func (a *agents) ask(ctx context.Context, node string) (power, error) {
	client, err := podforward.NewClient(podforward.Config{
		Cluster: a.config, Namespace: deploy.AgentNamespace, Port: agentPort, Find: podforward.Selected(agentLabels, node),
	}, agentWait)
	if err != nil {
		return power{}, err
	}
	w, err := podforward.Decode[why](ctx, client, agentPath, nil)
	switch {
	case err != nil:
		return power{}, fmt.Errorf("%w: %w", errNoPower, err)
	case w.Power == nil || w.Power.Quality == "" || w.Power.Quality == "none":
		return power{}, fmt.Errorf("%w: its agent knows none", errNoPower)
	}
	return power{w.Incarnation, w.SampledAt, w.Power.Joules, w.Power.Quality}, nil
}

// quality says what the joules are.
func (a *agents) quality(ctx context.Context) (string, error) {
	all, err := a.read(ctx)
	if err != nil {
		return "", err
	}
	nodes := map[string]int{}
	for _, p := range all {
		nodes[p.quality]++
	}
	var parts []string
	for _, quality := range slices.Sorted(maps.Keys(nodes)) {
		part := quality
		if len(nodes) > 1 {
			part = fmt.Sprintf("%s on %d nodes", quality, nodes[quality])
		}
		parts = append(parts, part)
	}
	return "power that the nodes' agents call " + strings.Join(parts, ", "), nil
}

// errAgent is of a run in which an agent did not count from its beginning to its end.
var errAgent = errors.New("its agent has no joules of the whole run")

// between is what all nodes took in so many seconds: the mean power of each between its
// agent's reports that are nearest, for those are made each second of the agent's own.
func between(from, to map[string]power, seconds float64) (joules float64, err error) {
	for _, node := range slices.Sorted(maps.Keys(from)) { // sums of floats depend on their order
		began, end := from[node], to[node]
		if began.of != end.of || began.quality != end.quality || !end.at.After(began.at) || end.joules < began.joules {
			return 0, fmt.Errorf("%s: %w", node, errAgent)
		}
		joules += (end.joules - began.joules) / end.at.Sub(began.at).Seconds() * seconds
	}
	return joules, nil
}
