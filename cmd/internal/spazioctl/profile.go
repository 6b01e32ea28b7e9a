package spazioctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler/view"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// profileOptions are the flags of spazio profile's commands.
type profileOptions struct {
	reading
	output                   output
	client                   *view.Client
	all, limits, connections bool
}

// profiles are what a command has read.
type profiles []v1alpha1.WorkloadProfile

// newProfileCommand returns the commands spazio profile.
func newProfileCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "profile",
		Short: "Show what workloads take, and should request",
		Long:  "spazio profile reads the WorkloadProfiles that spazio-profiler writes.",
	}
	add := func(use, short, long string, args cobra.PositionalArgs, outputs []string, show func(*profileOptions, context.Context, io.Writer, profiles) error, flags func(*profileOptions, *pflag.FlagSet)) {
		o := &profileOptions{}
		c := &cobra.Command{Use: use, Short: short, Long: long, Args: args, RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(outputs, o.output.format) {
				return command.Usage(fmt.Errorf("--output: %q is none of %s", o.output.format, strings.Join(outputs, ", ")))
			}
			read, err := o.read(c.Context(), args)
			if err != nil {
				return err
			}
			return show(o, c.Context(), c.OutOrStdout(), read)
		}}
		f := c.Flags()
		o.flags(f, "namespace of the workloads (default the context's)")
		f.StringVarP(&o.output.format, "output", "o", outputs[0], strings.Join(outputs, ", "))
		if outputs[0] == "table" {
			o.output.wideFlag(f)
		}
		flags(o, f)
		root.AddCommand(c)
	}
	everywhere := func(o *profileOptions, f *pflag.FlagSet) {
		f.BoolVarP(&o.all, "all-namespaces", "A", false, "workloads of all namespaces")
	}
	add("list", "List workloads and what their pods take", "With --connections it lists whom they call, and the bytes a second of calls and of answers.",
		cobra.NoArgs, []string{"table", "json"}, (*profileOptions).list, func(o *profileOptions, f *pflag.FlagSet) {
			everywhere(o, f)
			f.BoolVar(&o.connections, "connections", false, "list connections")
		})
	add("show KIND/NAME", "Show all that is known of a workload", "KIND is Deployment if left out.", cobra.ExactArgs(1), []string{"text", "json"}, (*profileOptions).show,
		func(*profileOptions, *pflag.FlagSet) {})
	add("recommend [KIND/NAME]", "Print what containers should request",
		"spazio profile recommend prints what containers should request, of one workload or of\n"+
			"all of a namespace. With -o yaml it prints objects that give them that. Pipe these into\n"+
			"`kubectl apply -f - --server-side --force-conflicts --field-manager spazio-recommend`.\n"+
			"The field manager matters: it then owns the requests and nothing else; under kubectl's own\n"+
			"field manager the rest of the object would be removed. For an object that is applied without\n"+
			"--server-side, write the output into a file and run\n"+
			"`kubectl patch -f FILE --patch-file FILE --field-manager spazio-recommend`.",
		cobra.MaximumNArgs(1), []string{"table", "yaml", "json"}, (*profileOptions).recommend, func(o *profileOptions, f *pflag.FlagSet) {
			everywhere(o, f)
			f.BoolVar(&o.limits, "limits", false, "also limits, of twice the requests")
		})
	return root
}

// read asks the API server for one profile, or for all.
func (o *profileOptions) read(ctx context.Context, args []string) (profiles, error) {
	at, err := o.cluster()
	if err != nil {
		return nil, err
	}
	if o.client, err = view.NewClient(at.Config); err != nil {
		return nil, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if len(args) == 0 {
		if o.all {
			o.namespace = ""
		}
		all, err := o.client.List(ctx, o.namespace)
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("no profiles are in this cluster: \"%s install\" adds them, unless with --component profiles-off (%w)", called, err)
		}
		return all, err
	}
	p, err := o.client.Get(ctx, o.namespace, args[0])
	if errors.Is(err, profile.ErrInvalid) {
		return nil, command.Usage(err)
	}
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w; a workload is named KIND/NAME, and NAME alone is a Deployment; %s profile list shows all", err, called)
	}
	if err != nil {
		return nil, err
	}
	return profiles{*p}, nil
}

func (o *profileOptions) list(_ context.Context, out io.Writer, all profiles) error {
	calls := view.Calls(all)
	switch {
	case o.connections && o.output.format == "json":
		return encode(out, calls, false)
	case o.connections:
		return text.Table(view.CallTable(calls)).WriteText(out, o.output.width())
	case o.output.format == "json":
		return encode(out, v1alpha1.WorkloadProfileList{Items: all}, false)
	}
	return text.Table(view.ListTable(all)).Compact("-", "APPLICATION", "CALLS", "MODE", "CONDITIONS").WriteText(out, o.output.width())
}

func (o *profileOptions) show(_ context.Context, out io.Writer, all profiles) error {
	if o.output.format == "json" {
		return encode(out, all[0], false)
	}
	return o.output.lines(out, strings.TrimSuffix(view.Text(time.Now(), &all[0]), "\n"))
}

func (o *profileOptions) recommend(ctx context.Context, out io.Writer, all profiles) error {
	switch advices := view.AdviceOf(all); o.output.format {
	case "yaml":
		return o.manifests(ctx, out, all)
	case "json":
		return encode(out, advices, false)
	default:
		return text.Table(view.AdviceTable(advices)).WriteText(out, o.output.width())
	}
}

func (o *profileOptions) template(ctx context.Context, p *v1alpha1.WorkloadProfile) (*view.Template, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	return o.client.Template(ctx, p)
}

// manifests prints what to apply. Of many workloads those that can't be changed are
// passed over, in a comment; so is that a template can't be read.
func (o *profileOptions) manifests(ctx context.Context, out io.Writer, all profiles) error {
	for i := range all {
		template, unread := o.template(ctx, &all[i])
		manifest, err := view.Manifest(&all[i], template, o.limits)
		if err != nil && len(all) == 1 {
			return err
		}
		if err != nil {
			fmt.Fprintf(out, "---\n# %s in namespace %s: %s\n", view.Workload(&all[i]), all[i].Namespace, command.OneLine(err))
			continue
		}
		text, err := json.Marshal(manifest)
		if err != nil {
			return err
		}
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
		fmt.Fprint(out, "---\n")
		if unread != nil {
			fmt.Fprintf(out, "# Take out the containers that are injected into its pods: %s\n", command.OneLine(unread))
		}
		fmt.Fprintf(out, "%s", text)
	}
	return nil
}
