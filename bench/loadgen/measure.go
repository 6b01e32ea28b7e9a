package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// measure makes one run.
func measure(ctx context.Context, c config, progress io.Writer) (r result, err error) {
	if c.aggregator == "" {
		dir, err := os.MkdirTemp("", "spazio-loadgen-")
		if err != nil {
			return r, err
		}
		defer os.RemoveAll(dir)
		if c.aggregator, err = program.Build(ctx, "spazio-aggregator", dir, progress); err != nil {
			return r, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := startAggregator(ctx, c.aggregator)
	if err != nil {
		return r, err
	}
	defer server.stop()
	l, closeAll, err := newLoad(c, server.grpc)
	if err != nil {
		return r, err
	}
	defer closeAll()
	ended := make(chan struct{})
	loading, stop := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		l.run(loading)
	}()
	defer func() {
		stop()
		<-ended
	}()
	if err := program.Sleep(ctx, c.warmUp); err != nil {
		return r, err
	}
	l.measuring.Store(true)
	before, err := use(server)
	if err != nil {
		return r, err
	}
	if err := program.Sleep(ctx, c.duration); err != nil {
		return r, err
	}
	after, err := use(server)
	if err != nil {
		return r, err
	}
	return results(ctx, c, server, l, before, after)
}

// used is the processor time of both processes at a moment.
type used struct {
	at             time.Time
	server, client time.Duration
}

func use(a *aggregator) (u used, err error) {
	u.at = time.Now()
	if u.server, err = process.CPU(a.process.Process.Pid); err != nil {
		return u, err
	}
	u.client, err = process.CPU(os.Getpid())
	return u, err
}

var errNothing = errors.New("no push was answered")

func results(ctx context.Context, c config, server *aggregator, l *load, before, after used) (result, error) {
	call, due, failed, failure := l.collect()
	if len(call) == 0 {
		return result{}, errors.Join(errNothing, failure)
	}
	metrics, err := scrape(ctx, server.metrics)
	if err != nil {
		return result{}, err
	}
	wall := after.at.Sub(before.at)
	r := result{
		Nodes: c.nodes, Rate: c.rate, Channels: c.channels, Connections: c.connections, Seconds: wall.Seconds(),
		Answered: float64(len(call)) / wall.Seconds(), Failed: failed,
		Call: quantilesOf(call), Due: quantilesOf(due),
		Handler: metrics.bounds("spazio_aggregator_push_seconds"), Tick: metrics.bounds("spazio_aggregator_tick_seconds"),
		Cores:       float64(after.server-before.server) / float64(wall),
		ResidentMiB: metrics.values["process_resident_memory_bytes"] / (1 << 20), HeapMiB: metrics.values["go_memstats_heap_inuse_bytes"] / (1 << 20),
		Known: int(metrics.values["spazio_aggregator_nodes"]), OwnCores: float64(after.client-before.client) / float64(wall),
	}
	if failure != nil {
		r.Failure = failure.Error()
	}
	return r, nil
}
