package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/svd"
)

// load is nodes that push on a schedule, whether or not the last push of a node
// was answered: a slow server does not slow the load down.
type load struct {
	config  config
	clients []spaziov1.ModelServiceClient
	models  []*spaziov1.LocalModel

	measuring atomic.Bool
	calls     sync.WaitGroup

	mu        sync.Mutex
	latencies []latency
	failed    int
	failure   error
}

// latency of an answered push: call is what the node sees, due counts from when
// it was to push, and so holds what this process was late by.
type latency struct{ call, due time.Duration }

func newLoad(c config, target string) (*load, func(), error) {
	options, err := transport.DialOptions(target, transport.Config{})
	if err != nil {
		return nil, nil, err
	}
	var connections []*grpc.ClientConn
	closeAll := func() {
		for _, c := range connections {
			_ = c.Close()
		}
	}
	l := &load{config: c}
	for range c.connections {
		connection, err := grpc.NewClient(target, options...)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		connections = append(connections, connection)
		l.clients = append(l.clients, spaziov1.NewModelServiceClient(connection))
	}
	l.models, err = models(c.nodes, c.channels)
	return l, closeAll, err
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
			Node: fmt.Sprintf("node-%05d.fleet.example", n), Incarnation: 1767225600000000000 + uint64(n),
			Schema: "v1;load", Model: model.State(), Costs: costs,
		})
	}
	return all, nil
}

// run pushes until ctx ends and every call has returned. A node pushes at its
// own phase of the period.
func (l *load) run(ctx context.Context) {
	period := time.Duration(float64(time.Second) / l.config.rate)
	began := time.Now()
	var pushing sync.WaitGroup
	for c := range l.clients {
		pushing.Add(1)
		go func() {
			defer pushing.Done()
			l.connection(ctx, c, began, period)
		}()
	}
	pushing.Wait()
	l.calls.Wait()
}

// connection starts the pushes of every node that is its own.
func (l *load) connection(ctx context.Context, c int, began time.Time, period time.Duration) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for round := 0; ; round++ {
		for n := c; n < len(l.models); n += len(l.clients) {
			phase := time.Duration(float64(period) * float64(n) / float64(len(l.models)))
			due := began.Add(time.Duration(round)*period + phase)
			timer.Reset(time.Until(due))
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			m := &spaziov1.LocalModel{
				Node: l.models[n].Node, Incarnation: l.models[n].Incarnation, Sequence: uint64(round) + 1,
				Schema: l.models[n].Schema, Model: l.models[n].Model, Costs: l.models[n].Costs,
			}
			l.calls.Add(1)
			go l.push(ctx, c, m, due)
		}
	}
}

func (l *load) push(ctx context.Context, c int, m *spaziov1.LocalModel, due time.Time) {
	defer l.calls.Done()
	began := time.Now()
	_, err := l.clients[c].Push(ctx, &spaziov1.PushRequest{Local: m})
	took := latency{call: time.Since(began), due: time.Since(due)}
	if !l.measuring.Load() || ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed++
		l.failure = err
		return
	}
	l.latencies = append(l.latencies, took)
}

// collect ends the measurement and returns the latencies, each kind sorted.
func (l *load) collect() (call, due []time.Duration, failed int, failure error) {
	l.measuring.Store(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.latencies {
		call, due = append(call, one.call), append(due, one.due)
	}
	slices.Sort(call)
	slices.Sort(due)
	return call, due, l.failed, l.failure
}
