package spazioctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/debugsource"
	"github.com/spazio-scheduler/spazio/deploy"
	"github.com/spazio-scheduler/spazio/deploy/check"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/podforward"
)

// checkOptions are the flags of spazio check.
type checkOptions struct {
	target
	probe bool
	image string
}

// newCheckCommand returns the command spazio check.
func newCheckCommand() *cobra.Command {
	o := checkOptions{}
	c := &cobra.Command{
		Use:   "check",
		Short: "Say whether Spazio works in a cluster",
		Long: "spazio check looks at the cluster's version, your rights, workloads, nodes, the\n" +
			"scheduler's signals of them, certificates and clocks, and with --probe at a pod that\n" +
			"it places and takes away again. Its exit code is 1 if one of them has failed.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	o.flags(f, 2*time.Minute)
	f.BoolVar(&o.probe, "probe", false, "place a pod in a namespace of its own, see its agent list it, and take it away")
	f.StringVar(&o.image, "probe-image", "", "image of that pod, which runs until it is stopped (default the aggregator's)")
	return c
}

var errUnwell = errors.New("a check has failed")

func (o *checkOptions) run(ctx context.Context, out io.Writer) error {
	cluster, err := o.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	config, err := o.config(cluster)
	if err != nil {
		return err
	}
	report, err := check.Run(ctx, config)
	if err != nil {
		return err
	}
	if !report.OK {
		err = errUnwell
	}
	if o.output == "json" {
		return errors.Join(err, encode(out, report, false))
	}
	for _, r := range report.Results {
		fmt.Fprintf(out, "%-12s %-7s %s\n", r.Name, r.Status, command.OneLine(errors.New(r.Text)))
		for _, detail := range r.Details {
			fmt.Fprintf(out, "%-20s %s\n", "", detail)
		}
	}
	return err
}

// askTimeout bounds what one pod takes to answer.
const askTimeout = 10 * time.Second

// source reaches the programs' debug data through the API server.
func (o *checkOptions) source(namespace string, port int, find podforward.Finder) (*debugsource.Fetcher, error) {
	s := debugsource.Source{Kubeconfig: o.kubeconfig, Context: o.context, Namespace: namespace, Port: port, Timeout: askTimeout}
	return s.OpenRemote(find)
}

// config asks the programs where they show themselves.
func (o *checkOptions) config(cluster *deploy.Cluster) (check.Config, error) {
	scheduler, err := o.source(deploy.SystemNamespace, 9694, podforward.Leader("spazio-scheduler"))
	if err != nil {
		return check.Config{}, err
	}
	aggregator, err := o.source(deploy.SystemNamespace, 9693, podforward.Selected("app.kubernetes.io/name=spazio-aggregator", ""))
	if err != nil {
		return check.Config{}, err
	}
	c := check.Config{
		Cluster: cluster,
		Signals: func(ctx context.Context) ([]check.Signal, error) { return signals(ctx, scheduler) },
		Certificates: func(ctx context.Context) (map[string]time.Time, error) {
			ends := map[string]time.Time{}
			return ends, errors.Join(notAfter(ctx, "scheduler", scheduler, ends), notAfter(ctx, "aggregator", aggregator, ends))
		},
		Cgroup: o.cgroup,
	}
	if o.probe {
		c.Probe = &check.Probe{Image: o.image, Listed: func(ctx context.Context, pod *corev1.Pod) (bool, error) {
			e, err := debugsource.Ask[plugin.Explanation](ctx, scheduler, plugin.DebugPath, url.Values{"pod": {string(pod.UID)}})
			return e.State == plugin.PodCounted, err
		}}
	}
	return c, nil
}

func signals(ctx context.Context, scheduler *debugsource.Fetcher) (all []check.Signal, err error) {
	status, err := debugsource.Ask[plugin.Status](ctx, scheduler, plugin.DebugPath, nil)
	for _, n := range status.Nodes {
		all = append(all, check.Signal{Node: n.Node, Fresh: n.Signal == "fresh", State: n.Signal, NoPressure: n.Flags.NoPressure})
	}
	return all, err
}

// notAfter adds when the certificates end that a program uses.
func notAfter(ctx context.Context, program string, f *debugsource.Fetcher, ends map[string]time.Time) error {
	values, err := metric(ctx, f, "spazio_certificate_not_after_seconds", "use")
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	for use, seconds := range values {
		ends[program+"'s "+use] = time.Unix(int64(seconds), 0)
	}
	return nil
}

// cgroup asks a node's agent which control groups it sees.
func (o *checkOptions) cgroup(ctx context.Context, node string) (string, error) {
	agent, err := o.source(deploy.AgentNamespace, 9691, podforward.Selected("app.kubernetes.io/name=spazio-agent", node))
	if err != nil {
		return "", err
	}
	values, err := metric(ctx, agent, "spazio_agent_cgroups", "layout")
	for layout := range values {
		return layout, err
	}
	return "unknown", err
}

// metric returns the values of a gauge by its one label, as a program shows them.
func metric(ctx context.Context, f *debugsource.Fetcher, name, label string) (map[string]float64, error) {
	text, err := f.Fetch(ctx, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("/metrics: %w", err)
	}
	values := map[string]float64{}
	for _, m := range families[name].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				values[l.GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return values, nil
}
