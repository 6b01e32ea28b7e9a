package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/sim/report/table"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

func main() {
	program.Main(command())
}

// options are the flags.
type options struct {
	agent, exporter  string
	duration, warmUp time.Duration
	pods             int
	rate             float64
	scrapeAgent      time.Duration
	output           string
	usage, energy    bool
	cgroups          string
	agentArgs        []string
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "footprint [flags] [-- flags of spazio-agent]",
		Short: "Measure CPU time and memory of spazio-agent while pods come and go",
		Args: func(_ *cobra.Command, args []string) error {
			o.agentArgs = args
			return o.validate()
		},
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := run(c.Context(), o, c.ErrOrStderr())
			if err != nil {
				return err
			}
			return r.write(c.OutOrStdout(), o.output)
		},
	}
	f := c.Flags()
	f.StringVar(&o.agent, "agent", "", "spazio-agent to run (default built from this tree)")
	f.StringVar(&o.exporter, "node-exporter", "prometheus-node-exporter", "node exporter to compare with; empty for none")
	f.DurationVar(&o.duration, "duration", 5*time.Minute, "how long to measure")
	f.DurationVar(&o.warmUp, "warm-up", time.Minute, "how long to run before measuring, so that the pods that were there before the agent are gone")
	f.IntVar(&o.pods, "pods", 50, "pods on the node, 1 to 1000")
	f.Float64Var(&o.rate, "rate", 1, "pods that start, and end, in a second, 0 to 1000")
	f.DurationVar(&o.scrapeAgent, "scrape-agent", 15*time.Second, "how often the agent's /metrics are read")
	f.BoolVar(&o.usage, "usage", false, "have the agent read what each pod takes and tell a profiler, in turn with one that does not, each for the duration; with --energy both do")
	f.BoolVar(&o.energy, "energy", false, "have the agent read made-up energy counters, in turn with one that does not, each for the duration")
	f.StringVar(&o.cgroups, "cgroups", groupsAuto, "cgroups of the pods: the kernel's own with kernel, which takes root, directories made up with made-up, or auto for the kernel's where they can be made")
	f.StringVarP(&o.output, "output", "o", "table", "table or json")
	return c
}

func (o options) validate() error {
	switch {
	case o.duration <= 0:
		return fmt.Errorf("--duration: %v is not positive", o.duration)
	case o.warmUp < 0:
		return fmt.Errorf("--warm-up: %v is negative", o.warmUp)
	case o.pods < 1 || o.pods > 1000:
		return fmt.Errorf("--pods: %d is not in 1 to 1000", o.pods)
	case !(o.rate >= 0 && o.rate <= 1000):
		return fmt.Errorf("--rate: %v is not in 0 to 1000", o.rate)
	case o.scrapeAgent <= 0:
		return fmt.Errorf("--scrape-agent: %v is not positive", o.scrapeAgent)
	case o.cgroups != groupsAuto && o.cgroups != groupsKernel && o.cgroups != groupsMadeUp:
		return fmt.Errorf("--cgroups: %q is none of auto, kernel and made-up", o.cgroups)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	return nil
}

// result is what a run found. Its JSON names are for scripts.
type result struct {
	Seconds float64 `json:"seconds"`
	Pods    int     `json:"pods"`
	Rate    float64 `json:"rate"`
	// Cgroups is "kernel" or "made-up".
	Cgroups string `json:"cgroups"`
	// Started and Ended count pods, Reports (full ones), Heartbeats and Pushes what
	// the agent sent.
	Started    int `json:"started"`
	Ended      int `json:"ended"`
	Reports    int `json:"reports"`
	Heartbeats int `json:"heartbeats"`
	Pushes     int `json:"pushes"`
	// Windows are those of pods' usage.
	Windows int `json:"windows"`
	// Powers are reports that say what the node, or its pods, take in watts.
	Powers int `json:"powers"`
	// Counted is the pods in the agent's last report, Running those of the tree
	// at that time, for a check that it saw them all.
	Counted int   `json:"counted"`
	Running int   `json:"running"`
	Agent   usage `json:"agent"`
	// WithoutUsage and WithoutEnergy are of an agent that reads none, if it was in turn
	// with one that does.
	WithoutUsage  *usage `json:"agent_without_usage,omitempty"`
	WithoutEnergy *usage `json:"agent_without_energy,omitempty"`
	// Exporter is nil without a node exporter.
	Exporter *usage `json:"node_exporter,omitempty"`
	Scrapes  int    `json:"scrapes"`
}

// barMemory is the agent's bar in MiB.
const barMemory = 25

// barCPU is the agent's bar in millicores at a rate of starts a second: 4 at one,
// 6 at five; where it reads what pods take 5 and 8.
func (r result) barCPU() float64 {
	if r.WithoutUsage != nil || r.WithoutEnergy != nil {
		return 4.25 + .75*r.Rate
	}
	return 3.5 + r.Rate/2
}

// barMore is how much of it reading what pods take may add, and energy as much.
const barMore = .5

func (r result) write(w io.Writer, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	about := fmt.Sprintf("%.0f s, %d pods (%s cgroups), %g starts and ends a second: %d starts, %d ends, %d reports, %d heartbeats, %d pushes; %d of %d pods counted at the end",
		r.Seconds, r.Pods, r.Cgroups, r.Rate, r.Started, r.Ended, r.Reports, r.Heartbeats, r.Pushes, r.Counted, r.Running)
	fmt.Fprintf(w, "%s\n\n", text.Fold(about, table.Terminal))
	fmt.Fprintf(w, "%-26s %10s %12s %12s %12s\n", "", "millicores", "RSS mean MiB", "RSS max MiB", "VmHWM MiB")
	row := func(name string, u usage) {
		fmt.Fprintf(w, "%-26s %10.2f %12.1f %12.1f %12.1f\n", name, u.Millicores, u.MeanMiB, u.MaxMiB, u.PeakMiB)
	}
	row("spazio-agent", r.Agent)
	fmt.Fprintf(w, "%-26s %10.2f %12s %12d\n", "  bar", r.barCPU(), "", barMemory)
	adds := func(what string, without *usage) {
		if without == nil {
			return
		}
		row("  without "+what, *without)
		fmt.Fprintf(w, "%-26s %10.2f %12.1f\n", "  "+what+" adds", r.Agent.Millicores-without.Millicores, r.Agent.MeanMiB-without.MeanMiB)
		fmt.Fprintf(w, "%-26s %10.2f\n", "  bar", barMore)
	}
	adds("usage", r.WithoutUsage)
	adds("energy", r.WithoutEnergy)
	if r.Exporter != nil {
		row(fmt.Sprintf("node exporter, %d scrapes", r.Scrapes), *r.Exporter)
	}
	return nil
}

// errNotLinux: there is no /proc to measure with.
var errNotLinux = errors.New("no /proc of this process: footprint needs Linux")
