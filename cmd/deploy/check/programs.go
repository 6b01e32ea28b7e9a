package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

// Programs asks Spazio's programs for what each shows on the loopback of its pod,
// through the API server. Its methods are what a Config and a Probe call; they are safe
// for concurrent use.
//
//	programs, err := check.NewPrograms(restConfig, 10*time.Second)
//	config.Kubernetes, config.Signals, config.Certificates = programs.Kubernetes, programs.Signals, programs.Certificates
//	config.Cgroup, config.Testbeds = programs.Cgroup, programs.Testbeds
type Programs struct {
	cluster                         *rest.Config
	timeout                         time.Duration
	scheduler, aggregator, operator *podforward.Client
}

// Where the programs show themselves.
const (
	schedulerPort  = 9694
	aggregatorPort = 9693
	agentPort      = 9691
	operatorPort   = 9704
	schedulerPath  = "/debug/spazio"
)

// NewPrograms sends no request yet. An answer may take as long as timeout; 0 leaves the
// context's bound.
func NewPrograms(cluster *rest.Config, timeout time.Duration) (*Programs, error) {
	p := &Programs{cluster: cluster, timeout: timeout}
	var err error
	if p.scheduler, err = p.client(deploy.SystemNamespace, schedulerPort, podforward.Leader("spazio-scheduler")); err != nil {
		return nil, err
	}
	if p.aggregator, err = p.client(deploy.SystemNamespace, aggregatorPort, podforward.Selected("app.kubernetes.io/name=spazio-aggregator", "")); err != nil {
		return nil, err
	}
	p.operator, err = p.client(deploy.SystemNamespace, operatorPort, podforward.Leader(operatorName))
	return p, err
}

func (p *Programs) client(namespace string, port int, find podforward.Finder) (*podforward.Client, error) {
	return podforward.NewClient(podforward.Config{Cluster: p.cluster, Namespace: namespace, Port: port, Find: find}, p.timeout)
}

// schedulerStatus is what is looked at of plugin.Status.
type schedulerStatus struct {
	Nodes []struct {
		Node   string `json:"node"`
		Signal string `json:"signal"`
		Flags  struct {
			NoPressure bool `json:"noPressure"`
		} `json:"flags"`
	} `json:"nodes"`
}

// release is how Kubernetes names its releases; the scheduler's is one that was built with it.
var release = regexp.MustCompile(`^v(1\.[0-9]+)\.`)

// Kubernetes asks the leading scheduler which minor version of Kubernetes it is of, such as
// 1.35; empty if it was built without saying.
func (p *Programs) Kubernetes(ctx context.Context) (string, error) {
	values, err := gauge(ctx, p.scheduler, "kubernetes_build_info", "git_version")
	for version := range values {
		if found := release.FindStringSubmatch(version); found != nil {
			return found[1], err
		}
	}
	return "", err
}

// Signals asks the leading scheduler for its nodes.
func (p *Programs) Signals(ctx context.Context) (all []Signal, err error) {
	status, err := podforward.Decode[schedulerStatus](ctx, p.scheduler, schedulerPath, nil)
	for _, n := range status.Nodes {
		all = append(all, Signal{Node: n.Node, Fresh: n.Signal == "fresh", State: n.Signal, NoPressure: n.Flags.NoPressure})
	}
	return all, err
}

// Listed asks the leading scheduler whether the pod's node has listed it.
func (p *Programs) Listed(ctx context.Context, pod *corev1.Pod) (bool, error) {
	explained, err := podforward.Decode[struct {
		State string `json:"state"`
	}](ctx, p.scheduler, schedulerPath, url.Values{"pod": {string(pod.UID)}})
	return explained.State == "counted", err
}

// Certificates asks the leading scheduler, an aggregator and, if there are test beds, the
// leading operator of these, which serves their interface.
func (p *Programs) Certificates(ctx context.Context, testbeds bool) (map[string]time.Time, error) {
	ends := map[string]time.Time{}
	err := errors.Join(notAfter(ctx, "scheduler", p.scheduler, ends), notAfter(ctx, "aggregator", p.aggregator, ends))
	if testbeds {
		err = errors.Join(err, notAfter(ctx, "testbed", p.operator, ends))
	}
	return ends, err
}

// notAfter adds when the certificates end that a program uses.
func notAfter(ctx context.Context, program string, c *podforward.Client, ends map[string]time.Time) error {
	values, err := gauge(ctx, c, "spazio_certificate_not_after_seconds", "use")
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	for use, seconds := range values {
		ends[program+"'s "+use] = time.Unix(int64(seconds), 0)
	}
	return nil
}

// Cgroup asks a node's agent which control groups it sees.
func (p *Programs) Cgroup(ctx context.Context, node string) (string, error) {
	agent, err := p.client(deploy.AgentNamespace, agentPort, podforward.Selected("app.kubernetes.io/name=spazio-agent", node))
	if err != nil {
		return "", err
	}
	values, err := gauge(ctx, agent, "spazio_agent_cgroups", "layout")
	for layout := range values {
		return layout, err
	}
	return "unknown", err
}

// Testbeds asks the leading operator of test beds for its Testbeds, sorted by name.
func (p *Programs) Testbeds(ctx context.Context) ([]Testbed, error) {
	families, err := metrics(ctx, p.operator)
	if err != nil {
		return nil, err
	}
	beds := map[string]*Testbed{}
	bed := func(m *dto.Metric) *Testbed {
		name := label(m, "testbed")
		if beds[name] == nil {
			beds[name] = &Testbed{Name: name, Slots: map[string]int{}}
		}
		return beds[name]
	}
	for _, m := range families["spazio_testbed_slots"].GetMetric() {
		bed(m).Slots[label(m, "state")] = int(m.GetGauge().GetValue())
	}
	for _, m := range families["spazio_testbed_signal_age_seconds"].GetMetric() {
		bed(m).SignalAge = time.Duration(m.GetGauge().GetValue() * float64(time.Second))
	}
	var all []Testbed
	for _, name := range slices.Sorted(maps.Keys(beds)) {
		all = append(all, *beds[name])
	}
	return all, nil
}

// gauge returns the values of a gauge by its one label, as a program shows them.
func gauge(ctx context.Context, c *podforward.Client, name, by string) (map[string]float64, error) {
	families, err := metrics(ctx, c)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, m := range families[name].GetMetric() {
		values[label(m, by)] = m.GetGauge().GetValue()
	}
	return values, nil
}

// metrics are all that a program shows, by name.
func metrics(ctx context.Context, c *podforward.Client) (map[string]*dto.MetricFamily, error) {
	text, err := c.Get(ctx, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("/metrics: %w", err)
	}
	return families, nil
}

// label is the value of a metric's label, empty without it.
func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
