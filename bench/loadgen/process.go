package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
)

// aggregator is the process that is measured.
type aggregator struct {
	process       *exec.Cmd
	grpc, metrics string
}

var listening = regexp.MustCompile(`aggregator is listening" grpc=(\S+) metrics=(\S+)`)

// startAggregator returns once it listens. It ends with ctx or stop.
func startAggregator(ctx context.Context, path string) (*aggregator, error) {
	a := &aggregator{process: exec.CommandContext(ctx, path, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")}
	stderr, err := a.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := a.process.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	found := listening.FindStringSubmatch(line)
	if found == nil {
		a.stop()
		return nil, fmt.Errorf("the aggregator began with %q: %w", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	a.grpc, a.metrics = found[1], found[2]
	return a, nil
}

func (a *aggregator) stop() {
	_ = a.process.Process.Kill()
	_ = a.process.Wait()
}
