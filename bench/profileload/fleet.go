package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Names of the fleet's parts, by number.
func nodeName(n int) string { return fmt.Sprintf("node-%05d.fleet.example", n) }
func podUID(n int) string   { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n+1) }

// readEvery is how often an agent reads a pod.
const readEvery = 10 * time.Second

// fleet is nodes whose agents stream what their pods take.
type fleet struct {
	config      config
	connections []*grpc.ClientConn
	streams     atomic.Int64
	failed      atomic.Int64
}

func newFleet(c config, target string) (*fleet, func(), error) {
	options, err := transport.DialOptions(target, transport.Config{})
	if err != nil {
		return nil, nil, err
	}
	f := &fleet{config: c}
	closeAll := func() {
		for _, c := range f.connections {
			_ = c.Close()
		}
	}
	for range c.connections {
		connection, err := grpc.NewClient(target, options...)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		f.connections = append(f.connections, connection)
	}
	return f, closeAll, nil
}

// run streams until ctx ends.
func (f *fleet) run(ctx context.Context) {
	var nodes sync.WaitGroup
	for n := range f.config.nodes {
		nodes.Go(func() {
			// Agents don't start in one instant.
			random := rand.New(rand.NewPCG(1, uint64(n)))
			start := time.NewTimer(time.Duration(random.Float64() * float64(readEvery)))
			defer start.Stop()
			select {
			case <-ctx.Done():
				return
			case <-start.C:
			}
			// An agent comes again, too.
			for ctx.Err() == nil {
				if err := f.stream(ctx, n, random); err != nil && ctx.Err() == nil {
					f.failed.Add(1)
					_ = program.Sleep(ctx, time.Second)
				}
			}
		})
	}
	nodes.Wait()
}

// pod is one as its agent reads it.
type pod struct {
	reading agent.PodReading
	phase   time.Duration
	cores   float64
	memory  float64
}

// pods are those of a node: a pod's workload says what it takes.
func (f *fleet) pods(n int, random *rand.Rand) (all []pod) {
	for i := n; i < f.config.pods; i += f.config.nodes {
		workload := float64(i % f.config.workloads)
		all = append(all, pod{
			reading: agent.PodReading{Pod: reserve.KeyOf(podUID(i)), Age: time.Minute, Pressure: true},
			phase:   time.Duration(random.Float64() * float64(readEvery)),
			cores:   .02 + .5*workload/float64(f.config.workloads)*(.9+.2*random.Float64()),
			memory:  50e6 + 1e9*workload/float64(f.config.workloads)*(.9+.2*random.Float64()),
		})
	}
	return all
}

// stream is a node's agent: it looks ten times in ten seconds which pods are due, and
// sends what its log has for the profiler.
func (f *fleet) stream(ctx context.Context, n int, random *rand.Rand) error {
	log, err := agent.NewUsageLog(agent.UsageLogConfig{Node: nodeName(n), Incarnation: uint64(time.Now().UnixNano())})
	if err != nil {
		return err
	}
	s, err := spaziov1.NewUsageServiceClient(f.connections[n%len(f.connections)]).Report(ctx)
	if err != nil {
		return err
	}
	f.streams.Add(1)
	defer f.streams.Add(-1)
	pods := f.pods(n, random)
	began := time.Now()
	next := make([]time.Time, len(pods))
	for i := range pods {
		next[i] = began.Add(pods[i].phase)
	}
	ticker := time.NewTicker(readEvery / 10)
	defer ticker.Stop()
	for {
		var at time.Time
		select {
		case <-ctx.Done():
			return nil
		case at = <-ticker.C:
		}
		var readings []agent.PodReading
		for i := range pods {
			if at.Before(next[i]) {
				continue
			}
			readings = append(readings, pods[i].read(readEvery, random))
			next[i] = next[i].Add(readEvery)
		}
		log.Take(at, readings)
		b, ok := log.Batch(at)
		if !ok {
			continue
		}
		if err := send(s, b); err != nil {
			return err
		}
		log.Acknowledge(b.Incarnation, b.Sequence)
	}
}

var errAnswer = errors.New("another batch was acknowledged")

func send(s spaziov1.UsageService_ReportClient, b agent.UsageBatch) error {
	_ = s.Send(api.FromUsage(b)) // Recv says why it failed
	ack, err := s.Recv()
	if err != nil {
		return err
	}
	if ack.GetSequence() != b.Sequence {
		return errAnswer
	}
	return nil
}

// read is the pod's next reading.
func (p *pod) read(after time.Duration, random *rand.Rand) agent.PodReading {
	r := &p.reading
	if r.CPU > 0 {
		r.Age += after
	}
	r.CPU += time.Duration(p.cores * (.8 + .4*random.Float64()) * float64(after))
	r.Memory = uint64(p.memory * (.95 + .1*random.Float64()))
	r.MemoryPeak = max(r.MemoryPeak, r.Memory)
	return *r
}
