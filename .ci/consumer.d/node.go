// A program of somebody else's: it embeds a node's agent, waits for a report and
// a full block of samples, ends it and looks for what it has left behind.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// half is a machine of two channels, both half full.
type half struct{}

func (half) Schema() telemetry.Schema {
	return telemetry.Schema{ID: "half", Channels: []string{agent.CPU, agent.Memory}}
}
func (half) SizesTo(dst []float64) []float64 { return append(dst[:0], 8, 32<<30) }
func (half) Pressure() bool                  { return true }
func (half) SampleTo(dst []float64, _ time.Time) ([]float64, error) {
	return append(dst[:0], .5, .5), nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "consumer:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "consumer")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// One round first, for what the runtime opens once and keeps.
	if err := embed(filepath.Join(dir, "first")); err != nil {
		return err
	}
	goroutines, files := runtime.NumGoroutine(), descriptors()
	if err := embed(filepath.Join(dir, "second")); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines || descriptors() > files; {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines and %d files instead of %d and %d are left:\n%s",
				runtime.NumGoroutine(), descriptors(), goroutines, files, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("an embedded agent leaves no goroutine and no file")
	return nil
}

// embed runs an agent whose scheduler and aggregator never come until its second
// report.
func embed(record string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	nobody := "unix:" + filepath.Join(filepath.Dir(record), "nobody")
	a, err := node.New(node.Config{
		Name: "n1", Meter: half{}, Pods: telemetry.StaticPods(nil),
		Schedulers: []string{nobody}, Aggregator: nobody, RecordDir: record,
		OnReport: func(r agent.Report) {
			if r.Sequence == 2 {
				cancel()
			}
		},
	})
	if err != nil {
		return err
	}
	if err := a.Run(ctx); err != nil {
		return err
	}
	r, ok := a.Report()
	if !ok || r.Avail <= 0 {
		return fmt.Errorf("report %+v, %v of a machine half full", r, ok)
	}
	return nil
}

// descriptors is the number of open files, 0 where the system does not tell.
func descriptors() int {
	open, _ := os.ReadDir("/proc/self/fd")
	return len(open)
}
