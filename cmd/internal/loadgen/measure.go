package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// measure returns a report of one run.
func measure(ctx context.Context, c config) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := startAggregator(ctx)
	if err != nil {
		return "", err
	}
	defer server.stop()
	l, closeAll, err := newLoad(c, server.grpc)
	if err != nil {
		return "", err
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
	if err := wait(ctx, c.warmUp); err != nil {
		return "", err
	}
	l.measuring.Store(true)
	before, err := use(server)
	if err != nil {
		return "", err
	}
	if err := wait(ctx, c.duration); err != nil {
		return "", err
	}
	after, err := use(server)
	if err != nil {
		return "", err
	}
	return report(ctx, c, server, l, before, after)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// used is the processor time of both processes at a moment.
type used struct {
	at             time.Time
	server, client time.Duration
}

func use(a *aggregator) (u used, err error) {
	u.at = time.Now()
	if u.server, err = cpuTime(a.process.Process.Pid); err != nil {
		return u, err
	}
	u.client, err = cpuTime(os.Getpid())
	return u, err
}

var errNothing = errors.New("no push was answered")

func report(ctx context.Context, c config, server *aggregator, l *load, before, after used) (string, error) {
	call, due, failed, failure := l.collect()
	if len(call) == 0 {
		return "", errors.Join(errNothing, failure)
	}
	metrics, err := scrape(ctx, server.metrics)
	if err != nil {
		return "", err
	}
	wall := after.at.Sub(before.at)
	var out strings.Builder
	fmt.Fprintf(&out, "%d nodes at %g/s, d=%d, over %d connections for %v\n", c.nodes, c.rate, c.channels, c.connections, c.duration)
	fmt.Fprintf(&out, "pushes answered   %.0f/s, %d failed\n", float64(len(call))/wall.Seconds(), failed)
	if failure != nil {
		fmt.Fprintf(&out, "last failure      %v\n", failure)
	}
	fmt.Fprintf(&out, "latency           %s\n", quantiles(call))
	fmt.Fprintf(&out, "from due          %s\n", quantiles(due))
	fmt.Fprintf(&out, "handler           p50 < %v, p99 < %v\n", metrics.quantile("spazio_aggregator_push_seconds", .5), metrics.quantile("spazio_aggregator_push_seconds", .99))
	fmt.Fprintf(&out, "tick              p50 < %v, p99 < %v\n", metrics.quantile("spazio_aggregator_tick_seconds", .5), metrics.quantile("spazio_aggregator_tick_seconds", .99))
	fmt.Fprintf(&out, "aggregator        %.2f cores, %.1f MiB resident, %.1f MiB of heap in use, %.0f nodes\n", float64(after.server-before.server)/float64(wall),
		metrics.values["process_resident_memory_bytes"]/(1<<20), metrics.values["go_memstats_heap_inuse_bytes"]/(1<<20), metrics.values["spazio_aggregator_nodes"])
	fmt.Fprintf(&out, "load generator    %.2f cores\n", float64(after.client-before.client)/float64(wall))
	return out.String(), nil
}

func quantiles(sorted []time.Duration) string {
	at := func(q float64) time.Duration { return sorted[int(q*float64(len(sorted)-1))].Round(time.Microsecond) }
	return fmt.Sprintf("p50 %v, p90 %v, p99 %v, p99.9 %v, max %v", at(.5), at(.9), at(.99), at(.999), at(1))
}
