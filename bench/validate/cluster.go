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
	"strconv"
	"time"

	simbatch "github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

// partingTime is what a cluster gets to end in order after an interrupt.
const partingTime = time.Minute

// The profiles of the demo that are compared.
const (
	spazio           = "spazio"
	defaultScheduler = "default-scheduler"
)

// batch describes the pods of a run and the cluster.
type batch struct {
	Pods  int     `json:"pods"`
	Work  float64 `json:"cpuSeconds"`
	Law   string  `json:"workDistribution"`
	Nodes int     `json:"nodes"`
	Cores int     `json:"cores"`
	Rate  float64 `json:"rate"`
	// Burst is the rate from BurstAfter on, in seconds.
	Burst      float64 `json:"burst,omitempty"`
	BurstAfter float64 `json:"burstAfter,omitempty"`
	// Request is what a pod requests in cores.
	Request float64 `json:"requestCPU"`
	Seed    uint64  `json:"seed"`
}

// ran is a batch and what became of it under each profile: what spazio-demo
// --output json --records writes, as far as it is of use here.
type ran struct {
	Config  batch     `json:"config"`
	Batches []outcome `json:"batches"`
}

// outcome is what became of a batch under one profile.
type outcome struct {
	Profile string             `json:"profile"`
	Pods    []simbatch.Outcome `json:"pods"`
	Effort  effort             `json:"scheduler"`
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

// runDemo runs a batch under each profile by the program at path, on simulated
// nodes alone.
func runDemo(ctx context.Context, path string, b batch, progress io.Writer) (ran, error) {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	cmd := exec.CommandContext(ctx, path, "--output", "json", "--records", "--real-node=false",
		"--profiles", spazio+","+defaultScheduler,
		"--request-cpu", number(b.Request), "--pods", strconv.Itoa(b.Pods), "--cpu-seconds", number(b.Work), "--work-distribution", b.Law,
		"--nodes", strconv.Itoa(b.Nodes), "--cores", strconv.Itoa(b.Cores), "--rate", number(b.Rate), "--burst", number(b.Burst), "--burst-after", number(b.BurstAfter),
		"--seed", strconv.FormatUint(b.Seed, 10))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = partingTime
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, progress
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ran{}, ctx.Err()
		}
		return ran{}, fmt.Errorf("run the cluster: %w", err)
	}
	var r ran
	if err := json.Unmarshal(output.Bytes(), &r); err != nil {
		return ran{}, fmt.Errorf("read what became of the batch: %w", err)
	}
	if len(r.Batches) == 0 {
		return ran{}, errors.New("the demo says nothing of its pods")
	}
	return r, nil
}
