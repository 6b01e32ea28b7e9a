package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
)

// partingTime is what a cluster gets to end in order after an interrupt.
const partingTime = time.Minute

// outcome is what became of a batch on a cluster.
type outcome struct {
	demo.Outcome
	Effort effort
}

// ran is a batch and what became of it under each profile.
type ran struct {
	Config   demo.Config
	Outcomes []outcome
}

func save(path string, all []ran) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(file)
	return errors.Join(json.NewEncoder(z).Encode(all), z.Close(), file.Close())
}

func load(path string) ([]ran, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []ran
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// runCluster runs a batch under each profile in a process of its own: a process
// can hold one API server.
func runCluster(ctx context.Context, c demo.Config, stderr io.Writer) ([]outcome, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program's own file: %w", err)
	}
	input, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the batch: %w", err)
	}
	cmd := exec.CommandContext(ctx, executable)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = partingTime
	cmd.Env = append(os.Environ(), roleVariable+"="+roleCluster)
	var output bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run the cluster: %w", err)
	}
	var outcomes []outcome
	if err := json.Unmarshal(output.Bytes(), &outcomes); err != nil {
		return nil, fmt.Errorf("read what became of the batch: %w", err)
	}
	return outcomes, nil
}

// serveCluster is that process: it reads the configuration and writes what
// became of the batches.
func serveCluster(ctx context.Context, in io.Reader, out, progress io.Writer) error {
	var c demo.Config
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return fmt.Errorf("read the batch: %w", err)
	}
	var outcomes []outcome
	var before effort
	err := demo.Run(ctx, c, demo.Options{
		Progress: progress,
		OnBatch: func(o demo.Outcome) {
			now := spent()
			outcomes = append(outcomes, outcome{o, now.since(before)})
			before = now
		},
		OnResult: func(demo.Result) error { return nil },
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(outcomes)
}
