package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/report/ratio"
)

// roleVariable makes the program act as one of the processes of a run.
const roleVariable = "SPAZIO_PERF_ROLE"

func main() {
	var err error
	switch role := os.Getenv(roleVariable); {
	case filepath.Base(os.Args[0]) == etcdName: // scheduler_perf looks for it on PATH
		err = serveEtcd(os.Args[1:])
	case role == roleRun:
		err = measure()
	case role == roleAgents:
		err = publishReports(os.Stdin)
	case role == roleBallast:
		err = burn(os.Stdin)
	default:
		err = compare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
}

func compare() error {
	var w workload
	flag.StringVar(&w.Name, "workload", "SchedulingBasic", "SchedulingBasic, Unschedulable or PreemptionAsync")
	flag.IntVar(&w.Nodes, "nodes", 1000, "nodes")
	flag.IntVar(&w.Init, "init", -1, "pods before the measured ones; -1 means upstream's number for the nodes")
	flag.IntVar(&w.Pods, "pods", 2000, "measured pods")
	flag.IntVar(&w.Percentage, "percentage", 0, "percentageOfNodesToScore, with the plugin and without; 0 means upstream's")
	flag.BoolVar(&w.Batching, "batching", false, "leave opportunistic batching on; scheduler_perf turns it off")
	pairs := flag.Int("pairs", 40, "pairs of runs at most")
	least := flag.Int("least", 5, "pairs of runs at least")
	width := flag.Float64("width", .03, "end when the interval of the throughput's ratio is no wider to either side")
	keep := flag.String("profiles", "", "directory to keep the CPU profiles in")
	flag.Parse()
	if flag.NArg() > 0 || *pairs < 2 {
		return fmt.Errorf("no arguments, and two pairs at least: got %q, -pairs %d", flag.Args(), *pairs)
	}
	if err := w.complete(); err != nil {
		return err
	}
	c, err := newComparison(w, *keep)
	if err != nil {
		return err
	}
	defer c.close()
	for i := range *pairs {
		if err := c.pair(i); err != nil {
			return err
		}
		if i+1 < max(*least, 2) {
			continue
		}
		e, err := c.estimate(func(r result) float64 { return r.throughput() })
		if err != nil {
			return err
		}
		if e.Width() <= *width {
			break
		}
	}
	return c.print()
}

// comparison collects the results of both sides, pair by pair.
type comparison struct {
	workload      workload
	dir, profiles string
	ballast       float64 // the cores that the agents took when last seen
	on, off       []result
	began         time.Time
}

func newComparison(w workload, profiles string) (*comparison, error) {
	dir, err := os.MkdirTemp("", "spazio-perf-")
	if err != nil {
		return nil, err
	}
	return &comparison{workload: w, dir: dir, profiles: profiles, began: time.Now()}, nil
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
		fmt.Printf("pair %2d %s  %7.1f pods/s  CPU/pod: process %6.2f ms, scheduler %5.2f ms, without server %5.2f ms  server %.3f cores, beside it %.3f\n",
			i+1, name, r.throughput(), 1e3*r.processCPU(), 1e3*r.schedulerCPU(), 1e3*r.cycleCPU(), r.Server/r.Seconds, r.Beside)
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

func (c *comparison) print() error {
	w := c.workload
	fmt.Printf("%s, %d nodes, %d + %d pods, percentageOfNodesToScore %d, %v; on over off, 95 %% interval:\n",
		w.Name, w.Nodes, w.Init, w.Pods, w.Percentage, time.Since(c.began).Round(time.Second))
	for _, q := range []struct {
		name string
		of   func(result) float64
	}{{"throughput", result.throughput}, {"CPU/pod, process", result.processCPU}, {"CPU/pod, scheduler", result.schedulerCPU}, {"the same without the server", result.cycleCPU}} {
		e, err := c.estimate(q.of)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		fmt.Printf("%-27s %v\n", q.name, e)
	}
	return nil
}
