package agentd_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// quick is a clock at four times the wall clock's speed.
type quick struct{ began time.Time }

func (q quick) Now() time.Time { return q.began.Add(4 * time.Since(q.began)) }

func (quick) Wall(d time.Duration) time.Duration { return d / 4 }

// half is a machine of four cores, a fifth of which are busy for 8 s and four fifths for the next, half
// in all, with one named pod that causes half of that.
type half struct{ quick }

const halfPod = "f2a6a5a4-0000-4000-8000-000000000001"

func (half) Schema() telemetry.Schema {
	return telemetry.Schema{ID: "half", Channels: []string{agent.CPU, agent.Memory}}
}

func (half) SizesTo(dst []float64) []float64 { return append(dst[:0], 4, 16<<30) }

func (half) Pressure() bool { return true }

func (half) SampleTo(dst []float64, _ time.Time) ([]float64, error) {
	return append(dst[:0], .5, .5), nil
}

func (half) Observe(time.Time, []telemetry.Pod) {}

func (h half) ReadNode() (telemetry.NodeCPU, error) {
	const turn = 8 * time.Second
	past := h.Now().Sub(h.began)
	turns, part := past/(2*turn), past%(2*turn)
	busy := 4*turns*turn + part*4/5 + max(part-turn, 0)*12/5
	return telemetry.NodeCPU{Busy: busy, Cores: 4}, nil
}

func (h half) ReadCPUTo(dst *telemetry.CPUUsage, at time.Time) error {
	machine, _ := h.ReadNode()
	dst.At, dst.Node, dst.Tree = at, machine, machine.Busy/2
	dst.Pods = append(dst.Pods[:0], telemetry.PodCPU{UID: halfPod, CPU: dst.Tree, AgeUnknown: true})
	return nil
}

func (half) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	pod := telemetry.Pod{UID: halfPod, State: telemetry.PodRunning, Starts: 1, Namespace: "default", Name: "web-0"}
	notify(telemetry.PodEvent{At: time.Now(), Changed: true, Pods: []telemetry.Pod{pod}})
	<-ctx.Done()
	return nil
}

// backwards is a counter that never wraps, of 20 W plus 20 W per busy core of the machine, and runs
// backwards once.
type backwards struct {
	machine half
	reads   int
}

func (*backwards) Name() string            { return "backwards" }
func (*backwards) Quality() energy.Quality { return energy.Measured }
func (*backwards) Period() time.Duration   { return time.Millisecond }
func (*backwards) Close() error            { return nil }

func (b *backwards) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	const fall = 3
	cpu, err := b.machine.ReadNode()
	counter := uint64(1e12) + 20*uint64((at.Sub(b.machine.began)+cpu.Busy).Microseconds())
	if b.reads++; b.reads >= fall {
		counter -= 1e12
	}
	return append(dst[:0], energy.Reading{Zone: "package-0", Counter: counter, At: at}), err
}

// ofOthers are the energy metrics of a scheduler, tested by package plugin, and of spazio-host-energy,
// tested by package powerd.
var ofOthers = []string{
	"spazio_energy_workload_watts", "spazio_energy_guest_joules_total", "spazio_energy_guest_refused_total",
}

// Each energy metric in cmd/deploy/observe/metrics.json, and thus in the dashboards, is exported with
// its type and labels, and no other is; all follow Prometheus' rules.
func TestEnergyMetrics(t *testing.T) {
	type metric struct {
		Type   string   `json:"type"`
		Labels []string `json:"labels"`
	}
	var wanted map[string]metric
	text, err := os.ReadFile("../../../cmd/deploy/observe/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &wanted); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(wanted, func(name string, _ metric) bool {
		return !strings.HasPrefix(name, "spazio_energy_") || slices.Contains(ofOthers, name)
	})
	clock := quick{time.Now()}
	machine, registry := half{clock}, prometheus.NewPedanticRegistry()
	a, err := node.New(node.Config{
		Name: "n", Meter: machine, Pods: machine, Registerer: registry, Clock: clock,
		Energy: &node.EnergyConfig{Source: &backwards{machine: machine}, CPU: machine, Pods: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	var shown map[string]metric
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("exported: %v", shown)
		}
	}()
	waitFor(t, "the metrics of cmd/deploy/observe/metrics.json", func() bool {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		shown = map[string]metric{}
		for _, f := range families {
			if !strings.HasPrefix(f.GetName(), "spazio_energy_") {
				continue
			}
			m := metric{Type: strings.ToLower(f.GetType().String()), Labels: []string{}}
			for _, pair := range f.GetMetric()[0].GetLabel() {
				m.Labels = append(m.Labels, pair.GetName())
			}
			slices.Sort(m.Labels)
			shown[f.GetName()] = m
		}
		return reflect.DeepEqual(shown, wanted)
	})
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
