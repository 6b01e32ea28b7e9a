package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/svd"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// aggregator measures one while nodes push their models.
type aggregator struct {
	path                         string
	nodes, connections, channels int
	rate                         float64
	timing                       bench.Timing
}

func (a *aggregator) flags(f *pflag.FlagSet) {
	f.StringVar(&a.path, "aggregator", "", "spazio-aggregator to run (default built from this tree)")
	f.IntVar(&a.nodes, "nodes", 5000, "nodes that push")
	f.Float64Var(&a.rate, "rate", 1, "pushes a second of each node, above 0 to 1000")
	f.IntVar(&a.connections, "connections", 50, "connections that the nodes share")
	f.IntVar(&a.channels, "channels", 4, "dimension of the models, 1 to 64")
	a.timing.Flags(f, 5*time.Second, 30*time.Second)
}

func (a *aggregator) validate(args []string) error {
	switch {
	case a.channels > 64:
		return fmt.Errorf("--channels: %d is more than 64", a.channels)
	case !(a.rate > 0 && a.rate <= 1e3):
		return fmt.Errorf("--rate: %v is not above 0 and at most 1000", a.rate)
	}
	return errors.Join(bench.Positive(args, map[string]int{"nodes": a.nodes, "connections": a.connections, "channels": a.channels}), a.timing.Validate())
}

func (a *aggregator) measure(ctx context.Context, r *bench.Result, g *children.Group, progress io.Writer) error {
	debug.SetGCPercent(gcPercent)
	server, found, err := bench.Start(ctx, g, progress, a.path, "spazio-aggregator", `aggregator is listening" grpc=(\S+) metrics=(\S+)`, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p, err := newPushes(a, found[1])
	if err != nil {
		return err
	}
	used, err := during(ctx, a.timing, p.run, p.toggle, server.PID(), os.Getpid())
	if err != nil {
		return err
	}
	metrics, err := bench.Scrape(ctx, found[2])
	if err != nil {
		return err
	}
	if p.failure != nil {
		fmt.Fprintf(progress, "%d pushes failed, the last: %v\n", p.failed, p.failure)
	}
	if len(p.call) == 0 {
		return errors.New("no push was answered")
	}
	r.Add(
		bench.Row{What: "pushes answered", Value: float64(len(p.call)) / a.timing.Duration.Seconds(), Unit: "1/s"},
		bench.Row{What: "pushes failed", Value: float64(p.failed), Unit: "pushes"},
	)
	r.AddQuantiles("latency", "ms", p.call, .5, .9, .99, .999, 1)
	r.AddQuantiles("latency from when it was due", "ms", p.due, .5, .9, .99, .999, 1)
	for _, name := range []string{"push", "tick"} {
		histogram := "spazio_aggregator_" + name + "_seconds"
		r.Add(bench.Row{What: name + " within the aggregator, mean", Value: 1e3 * metrics[histogram+"_sum"] / metrics[histogram+"_count"], Unit: "ms"})
	}
	r.Add(
		bench.Row{What: "aggregator", Value: used[0].Cores, Unit: "cores"},
		bench.Row{What: "aggregator resident, most", Value: used[0].MaxMiB, Unit: "MiB"},
		bench.Row{What: "its heap in use", Value: metrics["go_memstats_heap_inuse_bytes"] / (1 << 20), Unit: "MiB"},
		bench.Row{What: "nodes that it knows", Value: metrics["spazio_aggregator_nodes"], Unit: "nodes"},
		bench.Row{What: "load generator", Value: used[1].Cores, Unit: "cores"},
	)
	return nil
}

// pushes are of nodes that push on a schedule, whether or not the last push of a node
// was answered: a slow server does not slow the load down.
type pushes struct {
	period      time.Duration // of a node
	connections []*grpc.ClientConn
	models      []*spaziov1.LocalModel

	mu    sync.Mutex
	noted bool
	// call and due are latencies in milliseconds: call is what the node sees, due counts from when
	// it was to push, and so holds what this process was late by.
	call, due []float64
	failed    int
	failure   error
}

func newPushes(a *aggregator, target string) (*pushes, error) {
	options, err := transport.DialOptions(target, transport.Config{})
	if err != nil {
		return nil, err
	}
	p := &pushes{period: time.Duration(float64(time.Second) / a.rate)}
	if p.models, err = models(a.nodes, a.channels); err != nil {
		return nil, err
	}
	for range a.connections {
		connection, err := grpc.NewClient(target, options...)
		if err != nil {
			return nil, err
		}
		p.connections = append(p.connections, connection)
	}
	return p, nil
}

// models are of random load, different for each node.
func models(nodes, dim int) ([]*spaziov1.LocalModel, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]*spaziov1.LocalModel, nodes)
	for n := range all {
		block := make([][]float64, 10)
		level := .2 + .6*rng.Float64()
		for j := range block {
			block[j] = make([]float64, dim)
			for i := range dim {
				block[j][i] = level * rng.Float64()
			}
		}
		model, err := svd.Update(svd.Model{}, block, svd.Options{})
		if err != nil {
			return nil, err
		}
		costs := make([]agent.Cost, dim)
		for i := range costs {
			costs[i] = agent.Cost{Value: math.Exp(rng.NormFloat64() / 4), SD: .05 + .2*rng.Float64(), Known: true}
		}
		all[n] = api.FromLocal(agent.Local{
			Node: nodeName(n), Incarnation: 1767225600000000000 + uint64(n), Schema: "v1;load", Model: model.State(), Costs: costs,
		})
	}
	return all, nil
}

// nodeName names a node of a fleet by its number.
func nodeName(n int) string { return fmt.Sprintf("node-%05d.fleet.example", n) }

// toggle begins or ends to note what becomes of pushes.
func (p *pushes) toggle() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noted = !p.noted
	return nil
}

// run pushes until ctx ends and every call has returned. A node pushes at its
// own phase of the period.
func (p *pushes) run(ctx context.Context) error {
	began := time.Now()
	var calls sync.WaitGroup
	for c := range p.connections {
		calls.Go(func() { p.connection(ctx, c, began, &calls) })
	}
	calls.Wait()
	return nil
}

// connection starts the pushes of every node that is its own.
func (p *pushes) connection(ctx context.Context, c int, began time.Time, calls *sync.WaitGroup) {
	client := spaziov1.NewModelServiceClient(p.connections[c])
	for round := 0; ; round++ {
		for n := c; n < len(p.models); n += len(p.connections) {
			phase := time.Duration(float64(p.period) * float64(n) / float64(len(p.models)))
			due := began.Add(time.Duration(round)*p.period + phase)
			if bench.Sleep(ctx, time.Until(due)) != nil {
				return
			}
			m := p.models[n]
			push := &spaziov1.PushRequest{Local: &spaziov1.LocalModel{
				Node: m.Node, Incarnation: m.Incarnation, Sequence: uint64(round) + 1, Schema: m.Schema, Model: m.Model, Costs: m.Costs,
			}}
			calls.Go(func() { p.push(ctx, client, push, due) })
		}
	}
}

func (p *pushes) push(ctx context.Context, client spaziov1.ModelServiceClient, push *spaziov1.PushRequest, due time.Time) {
	began := time.Now()
	_, err := client.Push(ctx, push)
	call, late := time.Since(began), time.Since(due)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil || !p.noted:
	case err != nil:
		p.failed++
		p.failure = err
	default:
		p.call, p.due = append(p.call, call.Seconds()*1e3), append(p.due, late.Seconds()*1e3)
	}
}
