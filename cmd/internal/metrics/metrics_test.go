package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api/kube/server"
	"github.com/spazio-scheduler/spazio/api/transport"
	aggregator "github.com/spazio-scheduler/spazio/cmd/aggregator/service"
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	profiler "github.com/spazio-scheduler/spazio/cmd/profiler/service"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/slots"
	"github.com/spazio-scheduler/spazio/telemetry"
)

var update = flag.Bool("update", false, "write cmd/deploy/observe/metrics.json")

const list = "../../../cmd/deploy/observe/metrics.json"

// metric is an entry of the list.
type metric struct {
	Type     string   `json:"type"`
	Labels   []string `json:"labels"`
	Programs []string `json:"programs"`
	Help     string   `json:"help"`
}

// TestList: the list has the metrics that the programs describe, and all follow Prometheus' rules.
// Packages operator/controller and external/server compare the metrics of spazio-testbed's controllers
// and interface with it, since those need an API server.
func TestList(t *testing.T) {
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]metric{}
	if err := json.Unmarshal(text, &listed); err != nil {
		t.Fatal(err)
	}
	shown := map[string]metric{}
	for name, m := range listed {
		if isTestbeds(name) || isOthers(name) {
			shown[name] = m
		}
	}
	registries := map[string]*prometheus.Registry{
		"spazio-agent": ofAgent(t), "spazio-aggregator": ofAggregator(t), "spazio-host-energy": ofPower(t),
		"spazio-profiler": ofProfiler(t), "spazio-scheduler": ofScheduler(t), "spazio-testbed": ofTestbed(t),
	}
	for _, program := range slices.Sorted(maps.Keys(registries)) {
		add(t, shown, listed, program, registries[program])
	}
	lint(t, shown)
	if *update {
		if err := os.WriteFile(list, format(t, shown), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), string(format(t, shown))); diff != "" {
		t.Errorf("%s differs from the programs' metrics: go test ./cmd/internal/metrics -update (-listed +shown):\n%s", list, diff)
	}
}

// isTestbeds reports whether another package's programs export the metric.
func isTestbeds(name string) bool {
	return strings.HasPrefix(name, "spazio_testbed_") && name != "spazio_testbed_swap_seconds" && name != "spazio_testbed_refused_callers_total"
}

// isOthers reports whether the metric is of Go's libraries or of Kubernetes. The dashboards determine
// which of them are listed; their check compares these with scraped ones.
func isOthers(name string) bool { return !strings.HasPrefix(name, "spazio_") }

// described matches the text of a Desc.
var described = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), (?:unit: "[^"]*", )?constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// stability matches the prefix of a help text of Kubernetes' libraries.
var stability = regexp.MustCompile(`^\[[A-Z]+\] `)

// add adds what a program describes. Existing series have a type; a vector without series gets it from
// its name, or from the list, which its own package's tests check.
func add(t *testing.T, shown, listed map[string]metric, program string, r *prometheus.Registry) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, f := range families {
		types[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	out := make(chan *prometheus.Desc)
	go func() { r.Describe(out); close(out) }()
	for d := range out {
		parts := described.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("a description has an unknown format: %s", d)
		}
		name, help := unquote(t, parts[1]), stability.ReplaceAllString(unquote(t, parts[2]), "")
		if isOthers(name) {
			continue
		}
		m := metric{Type: types[name], Labels: []string{}, Programs: append(shown[name].Programs, program), Help: help}
		for _, pair := range strings.Split(parts[3], ",") {
			if label, _, ok := strings.Cut(pair, "="); ok {
				m.Labels = append(m.Labels, label)
			}
		}
		if parts[4] != "" {
			m.Labels = append(m.Labels, strings.Split(parts[4], ",")...)
		}
		slices.Sort(m.Labels)
		switch {
		case m.Type != "":
		case strings.HasSuffix(name, "_total"):
			m.Type = "counter"
		case listed[name].Type != "":
			m.Type = listed[name].Type
		default:
			m.Type = "gauge"
			t.Logf("%s counts as a gauge: it has no series here", name)
		}
		if before, ok := shown[name]; ok && (before.Type != m.Type || !slices.Equal(before.Labels, m.Labels)) {
			t.Errorf("%s: got %v at one program, and %v at %s", name, before, m, program)
		} else if ok {
			m.Help = before.Help
		}
		m.Programs = slices.Compact(m.Programs)
		shown[name] = m
	}
}

func unquote(t *testing.T, text string) string {
	t.Helper()
	plain, err := strconv.Unquote(text)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// format returns the list with one metric per line.
func format(t *testing.T, all map[string]metric) []byte {
	t.Helper()
	var text bytes.Buffer
	text.WriteString("{")
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i > 0 {
			text.WriteString(",")
		}
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(all[name]); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "\n  %q: %s", name, bytes.TrimSpace(line.Bytes()))
	}
	text.WriteString("\n}\n")
	return text.Bytes()
}

// lint checks the names, types and helps against Prometheus' rules.
func lint(t *testing.T, all map[string]metric) {
	t.Helper()
	var families []*dto.MetricFamily
	for name, m := range all {
		if isOthers(name) {
			continue
		}
		kind := dto.MetricType(dto.MetricType_value[strings.ToUpper(m.Type)])
		one := &dto.Metric{}
		for _, label := range m.Labels {
			one.Label = append(one.Label, &dto.LabelPair{Name: &label, Value: new(string)})
		}
		families = append(families, &dto.MetricFamily{Name: &name, Help: &m.Help, Type: &kind, Metric: []*dto.Metric{one}})
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// machine is a meter that is never read.
type machine struct{}

func (machine) Schema() telemetry.Schema {
	return telemetry.Schema{ID: "none", Channels: []string{"cpu"}}
}
func (machine) SizesTo(dst []float64) []float64 { return append(dst[:0], 1) }
func (machine) Pressure() bool                  { return true }
func (machine) SampleTo(dst []float64, _ time.Time) ([]float64, error) {
	return append(dst[:0], 0), nil
}
func (machine) Run(context.Context, func(telemetry.PodEvent)) error { return nil }
func (machine) Observe(time.Time, []telemetry.Pod)                  {}
func (machine) ReadTo(*telemetry.Usage, time.Time) error            { return nil }
func (machine) ReadNode() (telemetry.NodeCPU, error)                { return telemetry.NodeCPU{Cores: 1}, nil }
func (machine) ReadCPUTo(*telemetry.CPUUsage, time.Time) error      { return nil }
func (machine) GuestsTo(dst []share.Guest) ([]share.Guest, error)   { return dst[:0], nil }

// meter is a source of energy that is never read.
type meter struct{}

func (meter) Name() string            { return "none" }
func (meter) Quality() energy.Quality { return energy.Measured }
func (meter) Period() time.Duration   { return time.Second }
func (meter) Close() error            { return nil }
func (meter) ReadTo(dst []energy.Reading, _ time.Time) ([]energy.Reading, error) {
	return dst[:0], nil
}

// nowhere is an address without a listener.
const nowhere = "127.0.0.1:1"

func ofAgent(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry, m := prometheus.NewPedanticRegistry(), machine{}
	_, err := node.New(node.Config{
		Name: "n", Meter: m, Pods: m, Registerer: registry, Usage: m,
		Schedulers: []string{nowhere}, Aggregator: nowhere, Profilers: []string{nowhere},
		Energy: &node.EnergyConfig{Source: meter{}, CPU: m},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := agentd.Register(registry, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return registry
}

func ofAggregator(t *testing.T) *prometheus.Registry {
	t.Helper()
	s, err := aggregator.New(t.Context(), aggregator.Config{
		Listen: "127.0.0.1:0", Peers: modelserver.PeersConfig{Targets: []string{nowhere}},
		Snapshot: filepath.Join(t.TempDir(), "state"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return s.Registry()
}

func ofPower(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry, m := prometheus.NewPedanticRegistry(), machine{}
	s, err := node.NewSharing(node.SharingConfig{Registerer: registry, Host: share.HostConfig{
		Dir: t.TempDir(), Source: meter{}, Guests: m,
		CPU: func() (time.Duration, int, error) { return 0, 1, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := build.Register(registry, "spazio-host-energy"); err != nil {
		t.Fatal(err)
	}
	return registry
}

func ofProfiler(t *testing.T) *prometheus.Registry {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "http://` + nowhere + `"}}],
contexts: [{name: c, context: {cluster: c, user: ""}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := profiler.New(t.Context(), profiler.Config{Listen: "127.0.0.1:0", Kubeconfig: kubeconfig, LeaseNamespace: "default", WriteRate: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return s.Registry()
}

// ofProcess registers once, as in spazio-scheduler, even if tests are repeated.
var ofProcess = sync.OnceFunc(func() { legacyregistry.RawMustRegister(build.Info("spazio-scheduler")) })

// ofScheduler returns the registry of the process, in which both plugins register.
func ofScheduler(t *testing.T) *prometheus.Registry {
	t.Helper()
	plugin.NewHub(plugin.HubOptions{})
	slots.NewFactory(nil)
	if _, err := autoscale.New(autoscale.Config{Namespace: "default"}); err != nil {
		t.Fatal(err)
	}
	ofProcess()
	registry, ok := legacyregistry.Registerer().(*prometheus.Registry)
	if !ok {
		t.Fatalf("got a registry of Kubernetes of type %T", legacyregistry.Registerer())
	}
	return registry
}

// ofTestbed returns the metrics that are not only spazio-testbed's.
func ofTestbed(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	guard, err := transport.NewConnLimiter(transport.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	registry.MustRegister(build.Info("spazio-testbed"), server.Certificates(transport.Config{}), server.Refusals("testbed", guard))
	return registry
}
