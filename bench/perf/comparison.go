package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/ratio"
	"github.com/spazio-scheduler/spazio/sim/report/table"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// comparison collects the results of both sides, pair by pair.
type comparison struct {
	workload      workload
	dir, profiles string
	progress      io.Writer
	ballast       float64 // the cores that the agents took when last seen
	on, off       []result
	began         time.Time
}

func newComparison(w workload, profiles string, progress io.Writer) (*comparison, error) {
	dir, err := os.MkdirTemp("", "spazio-perf-")
	if err != nil {
		return nil, err
	}
	return &comparison{workload: w, dir: dir, profiles: profiles, progress: progress, began: time.Now()}, nil
}

func (c *comparison) close() { os.RemoveAll(c.dir) }

// pair runs both sides. The order changes from pair to pair; the first begins
// with the plugin, to learn what the agents take.
func (c *comparison) pair(i int) error {
	sides := []bool{true, false}
	if i%2 == 1 {
		sides = []bool{false, true}
	}
	for _, plugin := range sides {
		r, err := c.run(i, plugin)
		if err != nil {
			return err
		}
		name := "off"
		if plugin {
			name, c.ballast = "on ", r.Beside
			c.on = append(c.on, r)
		} else {
			c.off = append(c.off, r)
		}
		told := fmt.Sprintf("%7.1f pods/s; CPU/pod in ms: process %.2f, scheduler %.2f, without server %.2f; cores: server %.3f, beside %.3f",
			r.throughput(), 1e3*r.processCPU(), 1e3*r.schedulerCPU(), 1e3*r.cycleCPU(), r.Server/r.Seconds, r.Beside)
		fmt.Fprintln(c.progress, text.Hang(fmt.Sprintf("pair %2d %s ", i+1, name), told, table.Terminal))
	}
	return nil
}

func (c *comparison) estimate(quantity func(result) float64) (ratio.Estimate, error) {
	var on, off []float64
	for i := range c.on {
		on, off = append(on, quantity(c.on[i])), append(off, quantity(c.off[i]))
	}
	return ratio.Of(on, off)
}

// outcome is what a comparison found. Its JSON names are for scripts.
type outcome struct {
	Workload workload `json:"workload"`
	Seconds  float64  `json:"seconds"`
	// On and Off are the runs with the plugin and without it, pair by pair.
	On     []result     `json:"on"`
	Off    []result     `json:"off"`
	Ratios []namedRatio `json:"ratios"`
}

// namedRatio is a quantity with the plugin over that without it.
type namedRatio struct {
	Quantity string  `json:"quantity"`
	Ratio    float64 `json:"ratio"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// quantities are what is compared.
var quantities = []struct {
	name string
	of   func(result) float64
}{
	{"throughput", result.throughput},
	{"CPU/pod, process", result.processCPU},
	{"CPU/pod, scheduler", result.schedulerCPU},
	{"the same without the server", result.cycleCPU},
}

func (c *comparison) write(w io.Writer, output string) error {
	o := outcome{Workload: c.workload, Seconds: time.Since(c.began).Seconds(), On: c.on, Off: c.off}
	for _, q := range quantities {
		e, err := c.estimate(q.of)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		o.Ratios = append(o.Ratios, namedRatio{q.name, e.Ratio, e.Low, e.High})
	}
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(o)
	}
	about := fmt.Sprintf("%s, %d nodes, %d + %d pods, percentageOfNodesToScore %d, %d pairs in %.0f s; on over off, 95 %% interval:",
		o.Workload.Name, o.Workload.Nodes, o.Workload.Init, o.Workload.Pods, o.Workload.Percentage, len(o.On), o.Seconds)
	fmt.Fprintln(w, text.Fold(about, table.Terminal))
	for _, q := range o.Ratios {
		fmt.Fprintf(w, "%-27s %.3f (%.3f to %.3f)\n", q.Quantity, q.Ratio, q.Low, q.High)
	}
	return nil
}
