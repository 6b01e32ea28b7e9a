package spazioctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
)

// target are the flags of commands that change a cluster, or look at it whole.
type target struct {
	kubeconfig, context string
	timeout             time.Duration
	output              string
}

func (t *target) flags(f *pflag.FlagSet, timeout time.Duration) {
	f.StringVar(&t.kubeconfig, "kubeconfig", "", "leads to the API server (default: as kubectl's)")
	f.StringVar(&t.context, "context", "", "the kubeconfig's context, if not its current one")
	f.DurationVar(&t.timeout, "timeout", timeout, "time after which to give up; what was done stays, and the command can be run again")
	f.StringVarP(&t.output, "output", "o", "text", "text or json")
}

// open checks the flags and connects.
func (t *target) open() (*rest.Config, *deploy.Cluster, error) {
	switch {
	case t.output != "text" && t.output != "json":
		return nil, nil, command.Usage(fmt.Errorf("--output: %q is neither text nor json", t.output))
	case t.timeout <= 0:
		return nil, nil, command.Usage(fmt.Errorf("--timeout: %w", errPositive))
	}
	at, err := clusterOf(t.kubeconfig, t.context)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := deploy.Connect(at.Config)
	if err != nil {
		return nil, nil, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	return at.Config, cluster, nil
}

// do connects and calls work, which reports its steps, within the timeout.
func (t *target) do(ctx context.Context, out io.Writer, dryRun bool, work func(context.Context, *deploy.Cluster, *steps) error) error {
	_, cluster, err := t.open()
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	explain := func(err error) error { return t.explain(ctx, err) }
	return work(bounded, cluster, &steps{out: out, json: t.output == "json", dryRun: dryRun, explain: explain})
}

var (
	errInterrupted = errors.New("interrupted; what was done stays: run the same command again to go on")
	errTimeout     = errors.New("not done within --timeout; what was done stays: run the same command again to go on")
	errForce       = errors.New("change or delete what names \"schedulerName: spazio\" or is in its namespaces first; --force removes Spazio all the same")
)

// explain adds what to do about an error that does not say so. An interruption leaves
// what was done.
func (t *target) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", errTimeout, err)
	case errors.Is(err, deploy.ErrInUse):
		return fmt.Errorf("%w; %w", err, errForce)
	}
	return err
}

// steps prints the steps as they happen, or all of them at the end.
type steps struct {
	out     io.Writer
	json    bool
	dryRun  bool
	explain func(error) error
	all     []deploy.Step
}

func (s *steps) add(step deploy.Step) {
	s.all = append(s.all, step)
	if s.json {
		return
	}
	text := string(step.Action)
	if step.Text != "" {
		text += ": " + step.Text
	}
	if s.dryRun {
		text += " (dry run)"
	}
	fmt.Fprintf(s.out, "%s %s\n", step.Object, text)
}

// outcome is what a command says with --output json.
type outcome struct {
	OK       bool             `json:"ok"`
	DryRun   bool             `json:"dryRun,omitempty"`
	Problems []deploy.Problem `json:"problems,omitempty"`
	Steps    []deploy.Step    `json:"steps"`
	Error    string           `json:"error,omitempty"`
}

// conclude writes the outcome, or in words that all is well, and returns err with
// what to do about it.
func (s *steps) conclude(o outcome, err error, words string) error {
	err = s.explain(err)
	if !s.json {
		if err == nil {
			fmt.Fprintln(s.out, words)
		}
		return err
	}
	o.OK, o.DryRun, o.Steps = err == nil, s.dryRun, s.all
	if o.Steps == nil {
		o.Steps = []deploy.Step{}
	}
	if err != nil {
		o.Error = command.OneLine(err)
	}
	return errors.Join(err, encode(s.out, o, false))
}

// configFlags are the flags that say what is installed.
type configFlags struct {
	config  deploy.Config
	digests string
	tag     *pflag.Flag
}

func (c *configFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&c.config.Registry, "registry", "", "where the images are, such as registry.example/spazio, or "+deploy.NoRegistry+" where the nodes have them already; needed, there is no default")
	f.StringVar(&c.config.Tag, "tag", "dev", "tag of the images")
	c.tag = f.Lookup("tag")
	f.StringVar(&c.digests, "digests", "", "file of a JSON object that gives images, such as spazio-agent or spazio-scheduler-k8s1.35, their digests, which take the place of --tag")
	f.StringVar(&c.config.Kubernetes, "kubernetes", "", "minor version of Kubernetes that the scheduler is of, "+strings.Join(deploy.Schedulers(), " or ")+": an API server's own or the one before (default: the newest that the API server takes; "+deploy.DefaultScheduler()+" with --output yaml)")
	f.StringSliceVar(&c.config.Components, "component", nil, "what is added to the defaults, repeatable: "+strings.Join(deploy.Components(), ", "))
}

// parse reads the file of digests.
func (c *configFlags) parse() error {
	if c.digests == "" {
		return c.validate()
	}
	text, err := os.ReadFile(c.digests)
	if err == nil {
		err = json.Unmarshal(text, &c.config.Digests)
	}
	if err != nil {
		return fmt.Errorf("--digests %s: %w", c.digests, err)
	}
	return c.validate()
}

// tagged finds an image that is named by a tag.
var tagged = regexp.MustCompile(`"image":"[^"@]*/([^"/@]+):[^"@]+"`)

// objects returns what to install. Digests are for all its images, unless a tag for the others is
// given.
func (c *configFlags) objects() ([]*unstructured.Unstructured, error) {
	objects, err := c.config.Objects()
	if err != nil || c.digests == "" || c.tag.Changed {
		return objects, command.Usage(err)
	}
	text, err := json.Marshal(objects)
	if image := tagged.FindSubmatch(text); image != nil {
		err = command.Usage(fmt.Errorf("--digests %s: it has no %s: add it, or give --tag for what it does not have", c.digests, image[1]))
	}
	return objects, err
}

// validate names the flag of a field that is refused.
func (c *configFlags) validate() error {
	err := c.config.Validate()
	bad := field.By(err, "deploy")
	if bad == nil {
		return err
	}
	name, _, _ := strings.Cut(bad.Field, "[")
	flags := map[string]string{"Components": "component", "Registry": "registry", "Kubernetes": "kubernetes", "Tag": "tag", "Digests": "digests"}
	return fmt.Errorf("--%s: %w", flags[name], err)
}

// installOptions are the flags of spazio install.
type installOptions struct {
	target
	configFlags
	options deploy.Options
}

// newInstallCommand returns the command spazio install.
func newInstallCommand() *cobra.Command {
	o := installOptions{}
	c := &cobra.Command{
		Use:   "install",
		Short: "Install Spazio in a cluster, or bring it up to date",
		Long: "spazio install applies the manifests that it contains by server-side apply, and waits\n" +
			"until their pods run. It first checks versions, your rights, and fields that others manage;\n" +
			"if something is in the way, it reports that and changes nothing. It takes the scheduler of\n" +
			"the cluster's version of Kubernetes, or of one before. It may be interrupted and run again.\n" +
			"Only --force takes over fields that others have set.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	o.target.flags(f, 5*time.Minute)
	o.configFlags.flags(f)
	f.BoolVar(&o.options.DryRun, "dry-run", false, "ask the API server what it would answer, and store nothing; with --output yaml print the manifests without asking")
	f.BoolVar(&o.options.Force, "force", false, "take over fields that others have set")
	f.BoolVar(&o.options.NoWait, "no-wait", false, "do not wait until the pods run")
	f.Lookup("output").Usage = "text, json, or with --dry-run yaml: the manifests"
	return c
}

var (
	errPreflight = errors.New("the cluster is not ready for it, and nothing was changed")
	errForeign   = fmt.Errorf("%w; --force takes over the fields that others have set", errPreflight)
)

func (o *installOptions) run(ctx context.Context, out io.Writer) error {
	if err := o.parse(); err != nil {
		return command.Usage(err)
	}
	if o.output == "yaml" {
		return o.print(out)
	}
	return o.do(ctx, out, o.options.DryRun, func(ctx context.Context, cluster *deploy.Cluster, s *steps) error {
		objects, problems, err := o.prepare(ctx, cluster)
		foreign := func(p deploy.Problem) bool { return p.About == "fields" }
		if o.options.Force {
			problems = slices.DeleteFunc(problems, foreign)
		}
		if err == nil && len(problems) > 0 {
			err = errPreflight
			if slices.ContainsFunc(problems, foreign) {
				err = errForeign
			}
			if !s.json {
				fmt.Fprint(out, obstacles(problems))
			}
		}
		if err == nil {
			o.options.Progress = s.add
			err = cluster.Install(ctx, objects, o.options)
		}
		return s.conclude(outcome{Problems: problems}, err, o.verdict())
	})
}

// obstacles are the problems, few of each kind: who lacks one right lacks most.
func obstacles(problems []deploy.Problem) string {
	var kinds []string
	texts := map[string][]string{}
	for _, p := range problems {
		if texts[p.About] == nil {
			kinds = append(kinds, p.About)
		}
		texts[p.About] = append(texts[p.About], p.Text)
	}
	var b strings.Builder
	for _, kind := range kinds {
		for _, line := range some(texts[kind]) {
			fmt.Fprintf(&b, "%s: %s\n", kind, line)
		}
	}
	if texts["rights"] != nil {
		fmt.Fprintln(&b, "installing takes the rights of a cluster's administrator: ask for them, or have one install it")
	}
	return b.String()
}

// prepare chooses the scheduler for the cluster unless a flag has, and returns what to
// install and what is in the way.
func (o *installOptions) prepare(ctx context.Context, cluster *deploy.Cluster) (objects []*unstructured.Unstructured, problems []deploy.Problem, err error) {
	server, err := cluster.Version(ctx)
	if err != nil {
		return nil, nil, err
	}
	if o.config.Kubernetes == "" {
		o.config.Kubernetes, _ = server.Scheduler() // Preflight reports that there is none
	}
	if objects, err = o.objects(); err != nil {
		return nil, nil, err
	}
	problems, err = cluster.Preflight(ctx, objects)
	return objects, append(o.config.Preflight(server), problems...), err
}

var errYAML = errors.New("--output yaml prints the manifests and installs nothing: add --dry-run")

// print writes the manifests as YAML documents. It asks no cluster.
func (o *installOptions) print(out io.Writer) error {
	if !o.options.DryRun {
		return command.Usage(errYAML)
	}
	objects, err := o.objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// verdict is what is true after success.
func (o *installOptions) verdict() string {
	switch {
	case o.options.DryRun:
		return "The API server takes all of it. Nothing was changed."
	case o.options.NoWait:
		return "Everything is stored. \"" + called + " check\" says whether it works."
	}
	return "Spazio runs. Give pods \"schedulerName: spazio\"; \"" + called + " check --probe\" tries one."
}

// uninstallOptions are the flags of spazio uninstall.
type uninstallOptions struct {
	target
	options deploy.Options
}

// newUninstallCommand returns the command spazio uninstall.
func newUninstallCommand() *cobra.Command {
	o := uninstallOptions{}
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Spazio from a cluster",
		Long: "spazio uninstall removes everything that was installed, whatever the components, and\n" +
			"waits until it is gone; profiles of workloads are removed, too. It refuses while pods or\n" +
			"their templates name the scheduler, because they would wait for ever, and while other pods\n" +
			"or volumes are in Spazio's namespaces. Only \"helm uninstall\" removes Helm's record.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	o.flags(f, 5*time.Minute)
	f.BoolVar(&o.options.DryRun, "dry-run", false, "list what would be removed, and remove nothing")
	f.BoolVar(&o.options.Force, "force", false, "remove Spazio although pods need it")
	f.BoolVar(&o.options.NoWait, "no-wait", false, "do not wait until all is gone")
	return c
}

func (o *uninstallOptions) run(ctx context.Context, out io.Writer) error {
	return o.do(ctx, out, o.options.DryRun, func(ctx context.Context, cluster *deploy.Cluster, s *steps) error {
		o.options.Progress = s.add
		words := "Nothing of Spazio is left."
		switch {
		case o.options.DryRun:
			words = "That is all of Spazio. Nothing was changed."
		case o.options.NoWait:
			words = "Its removal has begun. The same command without --no-wait says when it has ended."
		}
		return s.conclude(outcome{}, cluster.Uninstall(ctx, o.options), words)
	})
}
