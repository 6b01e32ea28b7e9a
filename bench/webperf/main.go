// Command webperf measures what the page of package web costs the process that serves it: it
// runs itself once more as a server of a cluster whose nodes change, follows the page's events
// as a browser does, and prints the size of frames and the processor time of the server.
//
//	go run ./bench/webperf
//
// CPU time is that of the serving process by the operating system's account, beside what the
// same process takes while nobody looks; what makes the cluster's nodes change is in it. When a
// browser has painted the page, .ci/run web tells.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func main() { program.Main(command()) }

// options are the flags.
type options struct {
	nodes, readers int
	changing       float64 // the share of nodes that change a frame
	duration       time.Duration
	output         string
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "webperf",
		Short: "Measure the page of a scheduler with many nodes",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := measure(c.Context(), o)
			if err != nil {
				return err
			}
			return r.tell(c.OutOrStdout(), o.output)
		},
	}
	f := c.Flags()
	f.IntVar(&o.nodes, "nodes", 5000, "nodes")
	f.IntVar(&o.readers, "readers", 1, "readers at a time")
	f.Float64Var(&o.changing, "changing", 1, "share of the nodes that change from frame to frame")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "time measured, with and without readers")
	f.StringVar(&o.output, "output", "table", "table or json")
	c.AddCommand(serveCommand())
	return c
}

func (o *options) validate() error {
	switch {
	case o.nodes < 1:
		return fmt.Errorf("--nodes: %d is not positive", o.nodes)
	case o.readers < 1 || o.readers > 32:
		return fmt.Errorf("--readers: %d is not from 1 to 32", o.readers)
	case !(o.changing >= 0 && o.changing <= 1):
		return fmt.Errorf("--changing: %v is not from 0 to 1", o.changing)
	case o.duration < 2*time.Second:
		return fmt.Errorf("--duration: %v is less than two frames", o.duration)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %s is neither table nor json", o.output)
	}
	return nil
}

// Bars of a page with 5,000 nodes, once a second, with one reader.
const (
	barBytes = 256 << 10
	barShare = .05
)

// result is what was measured. Bytes are of one reader's frames, shares of a core.
type result struct {
	Nodes    int     `json:"nodes"`
	Readers  int     `json:"readers"`
	Changing float64 `json:"changing"`
	Frames   int     `json:"frames"`
	First    int     `json:"firstBytes"`
	Mean     float64 `json:"meanBytes"`
	Largest  int     `json:"largestBytes"`
	Idle     float64 `json:"idleShare"`
	Share    float64 `json:"share"`
}

func (r result) tell(w io.Writer, output string) error {
	if output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	fmt.Fprintf(w, "%d nodes, %.0f %% of them changing each second, %d readers, %d frames\n", r.Nodes, 100*r.Changing, r.Readers, r.Frames)
	fmt.Fprintf(w, "frame       first %d bytes, then %.0f on average and %d at most, bar %d\n", r.First, r.Mean, r.Largest, barBytes)
	fmt.Fprintf(w, "processor   %.2f %% of a core with readers, %.2f %% without, bar %.0f %% with one\n", 100*r.Share, 100*r.Idle, 100*barShare)
	return nil
}
