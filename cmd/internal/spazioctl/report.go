package spazioctl

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/requestreport"
	"github.com/spazio-scheduler/spazio/field"
)

// reportOptions are the flags of spazio report.
type reportOptions struct {
	kubeconfig, context string
	timeout             time.Duration
	measure             time.Duration
	recordings          []string
	objects             string
	output              output
}

// newReportCommand returns the command spazio report.
func newReportCommand() *cobra.Command {
	o := reportOptions{}
	c := &cobra.Command{
		Use:   "report",
		Short: "Compare what pods request with what nodes measure",
		Long: "spazio report shows what over-declared requests cost: per node and in total what pods\n" +
			"request, what is used, and the measured room; nodes that are full by requests and idle by\n" +
			"measurement; nodes at risk; the workloads that request most above their need, with the\n" +
			"recommended requests and the saving, by namespace too; and pods that declare nothing.\n\n" +
			"It changes nothing. Agents are enough: no pod has to be scheduled by Spazio. What workloads\n" +
			"need is known where the profiler runs. One look gives one value, and no verdict: a p95 takes\n" +
			"--for 200s and a p99 takes --for 1000s; an interrupt shows what was measured until then. What\n" +
			"was not measured is \"-\" in a table, and null in JSON.\n\n" +
			"It takes the right to list nodes, pods and workloadprofiles, and to create\n" +
			"pods/portforward in namespace spazio-agent. With --recording, use is read from recordings of\n" +
			"agents instead, and requests from a file by --objects or the cluster of --kubeconfig or\n" +
			"--context; with none of these they are unknown.",
		Example: "  spazio report --for 20m -o html > report.html\n" +
			"  kubectl get nodes,pods,workloadprofiles -A -o json > objects.json\n" +
			"  spazio report --objects objects.json --recording node-1 --recording node-2",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "leads to the API server (default: as kubectl's)")
	f.StringVar(&o.context, "context", "", "the kubeconfig's context, if not its current one")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "time that an answer may take")
	f.DurationVar(&o.measure, "for", 0, "ask the agents for so long, every ten seconds; 0 asks them once")
	f.StringArrayVar(&o.recordings, "recording", nil, "file or directory of an agent's recording, repeatable; no agent is asked then")
	f.StringVar(&o.objects, "objects", "", "file of nodes, pods and workloadprofiles as kubectl get -A -o json writes it, read in place of a cluster")
	f.StringVarP(&o.output.format, "output", "o", reportOutputs[0], strings.Join(reportOutputs, ", "))
	o.output.wideFlag(f)
	return c
}

// reportOutputs are the forms of a report.
var reportOutputs = []string{"table", "json", "csv", "html"}

// reportFlags are the flags of the fields of a requestreport.Config.
var reportFlags = map[string]string{"For": "for", "Timeout": "timeout", "Recordings": "recording", "Objects": "objects"}

func (o *reportOptions) run(ctx context.Context, out, progress io.Writer) error {
	if !slices.Contains(reportOutputs, o.output.format) {
		return command.Usage(fmt.Errorf("--output: %q is none of %s", o.output.format, strings.Join(reportOutputs, ", ")))
	}
	c, done, err := o.config()
	if err != nil {
		return command.Usage(err)
	}
	defer done()
	c.Progress = progress
	in, err := requestreport.Collect(ctx, c)
	if bad := field.By(err, "requestreport"); bad != nil {
		if flag := reportFlags[bad.Field]; flag != "" {
			return command.Usage(fmt.Errorf("--%s: %w", flag, err))
		}
	}
	if err != nil {
		return err
	}
	report, err := requestreport.New(in)
	if err != nil && o.objects != "" {
		return command.Usage(fmt.Errorf("--objects %s: %w", o.objects, err))
	}
	if err != nil {
		return err
	}
	switch o.output.format {
	case "json":
		return encode(out, report, false)
	case "csv":
		return report.Rows().WriteCSV(out)
	case "html":
		return report.WriteHTML(out)
	}
	return report.WriteText(out, o.output.width())
}

// config is what the flags ask for; done closes what it opened. Its error is one of usage.
func (o *reportOptions) config() (c requestreport.Config, done func(), err error) {
	c = requestreport.Config{Recordings: o.recordings, For: o.measure, Timeout: o.timeout}
	if o.objects != "" {
		if o.kubeconfig != "" || o.context != "" {
			return c, nil, fmt.Errorf("--objects: %w", errBoth)
		}
		file, err := os.Open(o.objects)
		if err != nil {
			return c, nil, fmt.Errorf("--objects: %w", err)
		}
		c.Objects, c.Source = file, "the objects of "+o.objects
		return c, func() { file.Close() }, nil
	}
	if len(o.recordings) > 0 && o.kubeconfig == "" && o.context == "" {
		c.Source = "recordings" // of any cluster, and not of the one that kubectl leads to by default
		return c, func() {}, nil
	}
	target, err := podforward.Cluster(o.kubeconfig, o.context)
	if err != nil {
		return c, nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	c.Cluster, c.Source = target.Config, target.String()
	return c, func() {}, nil
}
