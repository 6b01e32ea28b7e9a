package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/field"
)

// Status of a Result.
type Status string

// What became of a check.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Unknown Status = "unknown" // it can't be found out
)

// Result is the result of one check.
type Result struct {
	// Name is version, rights, rollouts, nodes, signals, certificates, clocks, testbeds
	// or probe.
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Text is one line, Details are what it sums up.
	Text    string   `json:"text"`
	Details []string `json:"details,omitempty"`
	// Advice are commands that show more of what has failed, or mend it.
	Advice []string `json:"advice,omitempty"`
}

// Report is what was found, in the order of the checks.
type Report struct {
	// OK is set if no check has failed.
	OK      bool     `json:"ok"`
	Results []Result `json:"checks"`
}

// Signal is what the scheduler knows of a node.
type Signal struct {
	Node string
	// Fresh is set if its reports arrive; State is the scheduler's word for it.
	Fresh bool
	State string
	// NoPressure is set if its kernel lacks pressure stall information.
	NoPressure bool
}

// Testbed is what the operator of test beds knows of one.
type Testbed struct {
	Name string // NAMESPACE/NAME
	// Slots are their numbers by state.
	Slots map[string]int
	// SignalAge is for how long the measured room of one of its nodes has been unknown, if
	// its slots follow it.
	SignalAge time.Duration
}

// Config has the sources of a check. Cluster is required; the results of nil ones are unknown.
type Config struct {
	Cluster *deploy.Cluster
	// Kubernetes asks the scheduler which minor version of Kubernetes it is of, such as
	// 1.35; what was built without it says nothing.
	Kubernetes func(context.Context) (string, error)
	// Signals asks the scheduler for its nodes.
	Signals func(context.Context) ([]Signal, error)
	// Certificates asks the servers when the certificates that they use end, by
	// server and use. The operator of test beds, where it is installed, is one of them.
	Certificates func(ctx context.Context, testbeds bool) (map[string]time.Time, error)
	// Cgroup asks a node's agent which version of control groups it sees.
	Cgroup func(ctx context.Context, node string) (string, error)
	// Testbeds asks the operator of test beds, where it is installed, for its Testbeds.
	Testbeds func(context.Context) ([]Testbed, error)
	// Probe, unless nil, tries a pod.
	Probe *Probe
	// Now is the time; nil is time.Now.
	Now func() time.Time
	// Kubectl is how advice calls kubectl, such as with the flags that lead to the
	// cluster; default "kubectl".
	Kubectl string
}

// Limits of what passes.
const (
	// certificateLeft is what a certificate has left when runs of spazio-certs have
	// failed for nine days.
	certificateLeft = 21 * 24 * time.Hour
	// clockSkew is far beyond what a synchronized clock is off, and what
	// certificates are made to bear is ten times as much.
	clockSkew = 30 * time.Second
	// roomAge is what no node's room is unknown for while a scheduler or an agent is
	// restarted.
	roomAge = time.Minute
)

// mostAsked is how many nodes are asked at most, because each takes a connection.
const mostAsked = 20

// Run runs all checks. It returns a *field.Error for an invalid Config.
func Run(ctx context.Context, c Config) (Report, error) {
	if c.Cluster == nil {
		return Report{}, &field.Error{Package: "deploy", Field: "Cluster", Value: nil, Err: fmt.Errorf("%w: must be given", deploy.ErrInvalid)}
	}
	c.Kubectl = cmp.Or(c.Kubectl, "kubectl")
	if c.Now == nil {
		c.Now = time.Now
	}
	if _, err := c.Cluster.Version(ctx); err != nil && !answered(err) {
		// The other checks would say the same.
		return c.report([]Result{failed("version", fmt.Errorf("the API server does not answer: %w", err))}), nil
	}
	found, foundErr := c.Cluster.InstalledRollouts(ctx)
	results := []Result{c.version(ctx), c.rights(ctx), c.rollouts(found, foundErr)}
	if foundErr != nil || len(found) > 0 { // else there is nothing that could report, serve or end
		results = append(results, c.installed(ctx, found)...)
	}
	if c.Probe != nil { // a scheduler of one's own may have the plugin
		results = append(results, c.probe(ctx))
	}
	return c.report(results), nil
}

// installed runs the checks of what is installed.
func (c Config) installed(ctx context.Context, found []deploy.Rollout) []Result {
	nodes, nodesErr := c.nodes(ctx)
	signals, signalsErr := c.signals(ctx)
	testbeds := slices.ContainsFunc(found, func(r deploy.Rollout) bool { return r.Object.Name == operatorName })
	results := []Result{
		c.kernels(ctx, nodes, nodesErr, signals), c.reporting(nodes, nodesErr, signals, signalsErr),
		c.certificates(ctx, testbeds), c.clocks(ctx, nodes),
	}
	if testbeds {
		results = append(results, c.testbeds(ctx))
	}
	return results
}

// answered reports whether an error is the API server's own.
func answered(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status)
}

// report adds what to do about results that have failed.
func (c Config) report(results []Result) Report {
	report := Report{OK: true, Results: results}
	for i := range results {
		if r := &results[i]; r.Status == Failed {
			report.OK = false
			if len(r.Advice) == 0 {
				r.Advice = c.advice(r.Name)
			}
		}
	}
	return report
}

// failed is the result of a question that failed itself.
func failed(name string, err error) Result {
	return Result{Name: name, Status: Failed, Text: err.Error()}
}

func (c Config) version(ctx context.Context) Result {
	r := Result{Name: "version", Status: OK}
	server, err := c.Cluster.Version(ctx)
	if err != nil {
		return failed(r.Name, err)
	}
	scheduler, err := c.scheduler(ctx)
	if err == nil {
		err = server.Takes(scheduler)
	} else if _, none := server.Scheduler(); none != nil {
		err = none
	}
	switch {
	case errors.Is(err, deploy.ErrVersion):
		return failed(r.Name, err)
	case err != nil:
		r.Status, r.Text = Unknown, fmt.Sprintf("the API server is %s, the scheduler of an unknown version: %v", server.Text, err)
	case !server.Known():
		r.Status, r.Text = Unknown, fmt.Sprintf("the API server calls itself %s; the scheduler is of %s", server.Text, scheduler)
	default:
		r.Text = fmt.Sprintf("the API server is %s, the scheduler of %s", server.Text, scheduler)
	}
	return r
}

// errNoVersion is the error of a scheduler that was built without its version of Kubernetes.
var errNoVersion = errors.New("it does not say")

// scheduler is the minor version of Kubernetes of the scheduler that leads.
func (c Config) scheduler(ctx context.Context) (string, error) {
	if c.Kubernetes == nil {
		return "", errNoVersion
	}
	minor, err := c.Kubernetes(ctx)
	if err == nil && minor == "" {
		err = errNoVersion
	}
	return minor, err
}

// needed are the rights that operating Spazio takes: those of the commands that
// ask a pod, and of this package.
var needed = []authorizationv1.ResourceAttributes{
	{Verb: "list", Resource: "nodes"},
	{Verb: "list", Resource: "pods", Namespace: deploy.SystemNamespace},
	{Verb: "list", Resource: "pods", Namespace: deploy.AgentNamespace},
	{Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Namespace: deploy.SystemNamespace},
	{Verb: "create", Resource: "pods", Subresource: "portforward", Namespace: deploy.SystemNamespace},
	{Verb: "create", Resource: "pods", Subresource: "portforward", Namespace: deploy.AgentNamespace},
}

func (c Config) rights(ctx context.Context) Result {
	missing, err := c.Cluster.Missing(ctx, needed)
	switch {
	case err != nil:
		return failed("rights", err)
	case len(missing) > 0:
		return Result{Name: "rights", Status: Failed, Text: fmt.Sprintf("you lack %d of %s that these commands need", len(missing), count(len(needed), "right")), Details: missing}
	}
	return Result{Name: "rights", Status: OK, Text: "you have all rights that these commands need"}
}

func (c Config) rollouts(found []deploy.Rollout, err error) Result {
	if err != nil {
		return failed("rollouts", err)
	}
	r := Result{Name: "rollouts", Status: OK, Text: "running: " + count(len(found), "workload")}
	for _, one := range found {
		if !one.Ready {
			r.Status = Failed
			r.Details = append(r.Details, one.Object.String()+": "+one.Text)
			r.Advice = append(r.Advice, c.describe(one.Object))
		}
	}
	if r.Status == Failed {
		r.Text = fmt.Sprintf("not running: %d of %s", len(r.Details), count(len(found), "workload"))
	}
	if len(found) == 0 {
		r.Status, r.Text, r.Advice = Failed, "nothing is installed", []string{"spazio install --help"}
	}
	return r
}

// nodes are the names of those that agents are for, sorted.
func (c Config) nodes(ctx context.Context) (names []string, err error) {
	list, err := c.Cluster.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: corev1.LabelOSStable + "=linux"})
	if err != nil {
		return nil, err
	}
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names, nil
}

func (c Config) signals(ctx context.Context) (map[string]Signal, error) {
	if c.Signals == nil {
		return nil, nil
	}
	all, err := c.Signals(ctx)
	if err != nil {
		return nil, err
	}
	named := map[string]Signal{}
	for _, s := range all {
		named[s.Node] = s
	}
	return named, nil
}

// kernels reports which nodes lack what agents measure by.
func (c Config) kernels(ctx context.Context, nodes []string, err error, signals map[string]Signal) Result {
	r := Result{Name: "nodes", Status: OK}
	if err != nil {
		return failed(r.Name, err)
	}
	for _, node := range nodes {
		if signals[node].NoPressure {
			r.Details = append(r.Details, node+": its kernel has no pressure stall information")
		}
	}
	without := len(r.Details)
	versions := map[string]int{}
	if c.Cgroup != nil {
		for _, node := range nodes[:min(len(nodes), mostAsked)] {
			version, err := c.Cgroup(ctx, node)
			if err != nil {
				version = "unknown"
				r.Details = append(r.Details, fmt.Sprintf("%s: %v", node, err))
			}
			versions[version]++
		}
	}
	words := []string{count(len(nodes), "node")}
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		words = append(words, fmt.Sprintf("control groups %s on %d", version, versions[version]))
	}
	if left := len(nodes) - mostAsked; left > 0 && c.Cgroup != nil {
		words = append(words, fmt.Sprintf("%d not asked", left))
	}
	if without > 0 {
		words = append(words, fmt.Sprintf("%d without pressure", without))
	}
	r.Text = strings.Join(words, ", ")
	asked := 0
	for _, n := range versions {
		asked += n
	}
	if len(nodes) > 0 && versions["unknown"] == asked && signals == nil {
		r.Status = Unknown
	}
	return r
}

// reporting compares the nodes with those whose reports the scheduler gets.
func (c Config) reporting(nodes []string, err error, signals map[string]Signal, signalsErr error) Result {
	r := Result{Name: "signals", Status: OK}
	switch err := errors.Join(err, signalsErr); {
	case err != nil:
		return failed(r.Name, err)
	case signals == nil:
		r.Status, r.Text = Unknown, "the scheduler was not asked"
		return r
	}
	fresh := 0
	for _, node := range nodes {
		s, known := signals[node]
		if s.Fresh {
			fresh++
			continue
		}
		state := s.State
		if !known {
			state = "the scheduler does not know it"
		}
		r.Details = append(r.Details, node+": "+state)
		if len(r.Advice) == 0 { // what one of them shows will do
			r.Advice = append(c.logs(deploy.AgentNamespace, "spazio-agent"), c.Kubectl+" get pods --namespace "+deploy.AgentNamespace+" --output wide --field-selector spec.nodeName="+node)
		}
	}
	r.Text = fmt.Sprintf("fresh reports of %d of %s", fresh, count(len(nodes), "node"))
	if fresh < len(nodes) || len(nodes) == 0 {
		r.Status = Failed
	}
	return r
}

func (c Config) certificates(ctx context.Context, testbeds bool) Result {
	r := Result{Name: "certificates", Status: OK}
	if c.Certificates == nil {
		r.Status, r.Text = Unknown, "the servers were not asked"
		return r
	}
	ends, err := c.Certificates(ctx, testbeds)
	if err != nil {
		return failed(r.Name, err)
	}
	if len(ends) == 0 {
		r.Status, r.Text = Unknown, "the servers have none"
		return r
	}
	first := ""
	for name, end := range ends {
		if first == "" || end.Before(ends[first]) || end.Equal(ends[first]) && name < first {
			first = name
		}
		if left := end.Sub(c.Now()); left < certificateLeft {
			r.Status = Failed
			r.Details = append(r.Details, fmt.Sprintf("%s ends on %s", name, end.UTC().Format(time.DateOnly)))
		}
	}
	slices.Sort(r.Details)
	r.Text = fmt.Sprintf("the first to end is %s, in %s", first, count(int(ends[first].Sub(c.Now())/(24*time.Hour)), "day"))
	return r
}

// clocks compares the time that a node's kubelet writes into its lease with the
// API server's when it was written, which is in whole seconds.
func (c Config) clocks(ctx context.Context, nodes []string) Result {
	r := Result{Name: "clocks", Status: OK}
	leases, err := c.Cluster.Client().CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return failed(r.Name, err)
	}
	compared, most := 0, time.Duration(0)
	for _, l := range leases.Items {
		written := time.Time{}
		for _, f := range l.ManagedFields {
			if f.Time != nil && f.Time.After(written) {
				written = f.Time.Time
			}
		}
		if l.Spec.RenewTime == nil || written.IsZero() || !slices.Contains(nodes, l.Name) {
			continue
		}
		compared++
		skew := l.Spec.RenewTime.Sub(written)
		most = max(most, skew.Abs())
		if skew.Abs() > clockSkew {
			r.Status = Failed
			r.Details = append(r.Details, fmt.Sprintf("%s: %v off the API server's", l.Name, skew.Round(time.Second)))
		}
	}
	r.Text = fmt.Sprintf("within %v of the API server: %d of %s", max(most.Round(time.Second), time.Second), compared-len(r.Details), count(len(nodes), "node"))
	if compared == 0 {
		r.Status, r.Text = Unknown, "no node writes the time"
	}
	return r
}

// count is things in words, as in "1 node" and "2 nodes".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
