package spazioctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// checkOptions are the flags of spazio check.
type checkOptions struct {
	target
	probe bool
}

// newCheckCommand returns the command spazio check.
func newCheckCommand() *cobra.Command {
	o := checkOptions{}
	c := &cobra.Command{
		Use:   "check",
		Short: "Check that Spazio works in a cluster",
		Long: "spazio check looks at the cluster's version, your rights, workloads, nodes, the\n" +
			"scheduler's signals of them, certificates, clocks and test beds. With --probe it places a\n" +
			"pod of its own and removes it. It exits with 1 if something has failed, and names commands\n" +
			"that show more.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	o.flags(f, 2*time.Minute)
	f.BoolVar(&o.probe, "probe", false, "place a pod in a namespace of its own, wait until the agent lists it, and remove it")
	return c
}

var errUnwell = errors.New("a check has failed")

func (o *checkOptions) run(ctx context.Context, out io.Writer) error {
	config, cluster, err := o.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	asked, err := o.config(config, cluster)
	if err != nil {
		return err
	}
	report, err := check.Run(ctx, asked)
	if err != nil {
		return err
	}
	if !report.OK {
		err = errUnwell
	}
	if o.output == "json" {
		return errors.Join(err, encode(out, report, false))
	}
	_, wrong := io.WriteString(out, checked(report))
	return errors.Join(err, wrong)
}

// checked is a report for a person: a check in a line, and below it what it found and what to try.
func checked(report check.Report) string {
	var b strings.Builder
	for _, r := range report.Results {
		fmt.Fprintln(&b, text.Hang(fmt.Sprintf("%-12s %-7s ", r.Name, r.Status), command.OneLine(errors.New(r.Text)), text.Terminal))
		for _, detail := range some(r.Details) {
			fmt.Fprintln(&b, text.Hang(fmt.Sprintf("%-21s", ""), text.Plain(detail), text.Terminal))
		}
		for _, advice := range r.Advice {
			if flags, ours := strings.CutPrefix(advice, "spazio "); ours {
				advice = called + " " + flags
			}
			fmt.Fprintf(&b, "%-20s try: %s\n", "", advice) // unbroken: it is to be copied
		}
	}
	return b.String()
}

// mostDetails is how many lines of one kind a person is shown.
const mostDetails = 8

// some are the first of many lines, and how many more there are.
func some(lines []string) []string {
	if len(lines) <= mostDetails+1 {
		return lines
	}
	return append(slices.Clone(lines[:mostDetails]), fmt.Sprintf("and %d more: --output json lists all", len(lines)-mostDetails))
}

// kubectl returns the kubectl command with the flags for the same cluster.
func (t *target) kubectl() string {
	words := []string{"kubectl"}
	for _, flag := range []struct{ name, value string }{{"kubeconfig", t.kubeconfig}, {"context", t.context}} {
		if flag.value != "" {
			words = append(words, "--"+flag.name, quoted(flag.value))
		}
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plain are the characters that mean nothing to a shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@="

// askTimeout bounds what one pod takes to answer.
const askTimeout = 10 * time.Second

// config asks the programs where they show themselves.
func (o *checkOptions) config(config *rest.Config, cluster *deploy.Cluster) (check.Config, error) {
	programs, err := check.NewPrograms(config, askTimeout)
	if err != nil {
		return check.Config{}, err
	}
	c := check.Config{
		Cluster: cluster, Kubectl: o.kubectl(),
		Kubernetes: programs.Kubernetes, Signals: programs.Signals, Certificates: programs.Certificates, Cgroup: programs.Cgroup, Testbeds: programs.Testbeds,
	}
	if o.probe {
		c.Probe = &check.Probe{Listed: programs.Listed}
	}
	return c, nil
}
