package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Names of the fleet's parts, by number.
func nodeName(n int) string { return fmt.Sprintf("node-%05d.fleet.example", n) }
func podUID(n int) string   { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n+1) }

// readEvery is how often an agent reads a pod.
const readEvery = 10 * time.Second

// fleet is nodes whose agents send what their pods take, as spazio-agent does.
type fleet struct {
	config config
	target string
	trust  *trust // nil: plaintext
	hears  *complaints
}

// run sends until ctx ends.
func (f *fleet) run(ctx context.Context) error {
	nodes, ctx := errgroup.WithContext(ctx)
	for n := range f.config.nodes {
		nodes.Go(func() error { return f.node(ctx, n) })
	}
	return nodes.Wait()
}

// node is a node's agent: each second it looks which pods are due, and gives what it has
// read to what sends it to the profiler.
func (f *fleet) node(ctx context.Context, n int) error {
	to := publish.UsagesConfig{Node: nodeName(n), Incarnation: uint64(time.Now().UnixNano()), Targets: []string{f.target}, Logger: slog.New(f.hears)}
	if f.trust != nil {
		if err := f.trust.agent(n, &to); err != nil {
			return err
		}
	}
	usages, err := publish.NewUsages(to)
	if err != nil {
		return err
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() { _ = usages.Run(ctx) })
	// Agents don't start in one instant.
	random := rand.New(rand.NewPCG(1, uint64(n)))
	if program.Sleep(ctx, time.Duration(random.Float64()*float64(readEvery))) != nil {
		return nil
	}
	pods := f.pods(n, random)
	next := make([]time.Time, len(pods))
	for i := range pods {
		next[i] = time.Now().Add(pods[i].phase)
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
		usages.Take(at, readings)
	}
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
