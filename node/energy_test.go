package node_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// burning is a machine of four cores that alternates each second between idle and fully busy; a pod
// causes half of the load. It draws 40 W plus 20 W per busy core, and serves as the source of energy
// and of CPU times.
type burning struct {
	at     time.Time
	period time.Duration
	name   string
	watts  float64 // if set, the source is a gauge with this value
	silent bool
	err    error
	absent error // the error of a zone missing from the reading
	reads  atomic.Int64
}

// busy returns the machine's CPU time up to a time.
func busy(at time.Time) time.Duration {
	const second = int64(time.Second)
	ns := at.UnixNano()
	return time.Duration(4 * (ns/(2*second)*second + max(ns%(2*second)-second, 0)) % 1e17)
}

func (b *burning) Name() string            { return "powercap" + b.name }
func (b *burning) Quality() energy.Quality { return energy.Measured }
func (b *burning) Period() time.Duration   { return b.period }
func (b *burning) Close() error            { return nil }

func (b *burning) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	b.reads.Add(1)
	dst = dst[:0]
	b.at = at
	switch {
	case b.err != nil:
		return dst, b.err
	case b.silent:
		return dst, source.ErrUnchanged
	case b.watts != 0:
		return append(dst, energy.Reading{Zone: "board", Gauge: true, Watts: b.watts, At: at}), nil
	}
	micro := at.UnixNano()/1000%1e15*40 + busy(at).Microseconds()*20
	return append(dst, energy.Reading{Zone: "package-0", Counter: uint64(micro), At: at}), b.absent
}

func (b *burning) Observe(time.Time, []telemetry.Pod) {}

func (b *burning) ReadNode() (telemetry.NodeCPU, error) {
	return telemetry.NodeCPU{Busy: busy(b.at), Cores: 4}, b.err
}

func (b *burning) ReadCPUTo(dst *telemetry.CPUUsage, at time.Time) error {
	dst.At, dst.Node, dst.Tree = at, telemetry.NodeCPU{Busy: busy(at), Cores: 4}, busy(at)/2
	dst.Pods = append(dst.Pods[:0], telemetry.PodCPU{UID: "a1", CPU: busy(at) / 2, AgeUnknown: true})
	return nil
}

// TestAgentMeasuresEnergy follows energy from its source into reports, their explanations, metrics and
// a recording, which replays.
func TestAgentMeasuresEnergy(t *testing.T) {
	b, registry, dir := &burning{}, prometheus.NewRegistry(), t.TempDir()
	reports := make(chan agent.Report, 1<<16)
	c := config()
	c.Pods, c.Registerer, c.RecordDir = telemetry.StaticPods{"a1"}, registry, dir
	c.Energy = &node.EnergyConfig{Source: b, CPU: b, Pods: time.Second}
	c.OnReport = func(r agent.Report) { reports <- r }
	a, stop := running(t, c)
	power, pods := false, false
	for !power || !pods {
		r := <-reports
		power = power || r.Power.Known()
		pods = pods || r.Power.Known() && len(r.PodCores) == 1 && r.PodCores[0] > 0 && r.PodWatts[0] > 0
		if r.Power.Known() && !(r.Power.Quality == energy.Measured && r.Power.Watts >= 39 && r.Power.Watts <= 160 && r.Power.Cores == 4 && r.Power.Marginal > 5 && r.Power.Marginal < 60 && r.Power.Joules > 0) {
			t.Errorf("%+v", r.Power)
		}
		if n := len(r.PodCores); n > 1 || n == 1 && (r.Pods[0] != reserve.KeyOf("a1") || r.PodCores[0] > 2.5 || r.PodWatts[0] > 80) {
			t.Errorf("%v: %v cores, %v W", r.Pods, r.PodCores, r.PodWatts)
		}
	}
	why, err := a.Why(t.Context())
	if err != nil || why.Power == nil || why.Power.Quality != "measured" || len(why.Power.Pods) != 1 {
		t.Errorf("why: %+v, %v", why.Power, err)
	}
	if text := node.Explain(why); !strings.Contains(text, " W (sd ") || !strings.Contains(text, "a core more takes") {
		t.Errorf("explanation without the power:\n%s", text)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, f := range families {
		if name, ours := strings.CutPrefix(f.GetName(), "spazio_energy_"); ours {
			shown = append(shown, name)
		}
	}
	want := []string{
		"idle_watts", "max_watts", "node_joules_total", "node_watts", "pod_joules_stddev", "pod_joules_total", "quality", "refused_total",
		"unattributed_joules_total",
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("metrics of energy (-want +got):\n%s", diff)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, r := range replays(t, dir) {
		if r.Power.Known() {
			known++
		}
	}
	if known == 0 {
		t.Error("the recording has no power")
	}
}

func TestExplainPower(t *testing.T) {
	why := agent.Why{Node: "n", Power: &agent.WhyPower{Quality: "none"}}
	if text := node.Explain(why); !strings.Contains(text, "Its power is not known.") {
		t.Error(text)
	}
	why.Power = &agent.WhyPower{
		Quality: "shared", Watts: 81.25, SD: .5, Busy: 1.5, Cores: 4, Idle: 40, Max: 120, Marginal: 20, Projected: 20, PodsMeasured: 1.5, Flags: "projected",
	}
	want := "It takes 81.2 W (sd 0.50, shared) with 1.50 of 4 cores busy, 40.0 W without load and 120.0 W at full; a core more takes 20.0 W." +
		" +20.0 W of that are of pods that its measurement, of 1.5 pods, does not show. Its doubts: projected."
	for _, pronto := range []*agent.WhyPronto{nil, {}} {
		why.Pronto = pronto
		if text := node.Explain(why); !strings.Contains(text, want) {
			t.Errorf("%s\nlacks\n%s", text, want)
		}
	}
}

// TestUtilisation checks that the share of busy cores covers the time since the last call.
func TestUtilisation(t *testing.T) {
	b := &burning{at: time.Unix(1001, 0)}
	u := node.Utilisation(b)
	if got, err := u(); got != 0 || err != nil {
		t.Errorf("first call: got %v, %v", got, err)
	}
	b.at = b.at.Add(50 * time.Millisecond) // within the tolerance for a late read
	if got, err := u(); got != 1 || err != nil {
		t.Errorf("all cores busy: got %v, %v", got, err)
	}
	if got, err := u(); got != 0 || err != nil {
		t.Errorf("idle: %v, %v", got, err)
	}
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		b.at = b.at.Add(by)
		if got, err := u(); !errors.Is(err, node.ErrInvalid) {
			t.Errorf("counter moved by %v: got %v, %v", by, got, err)
		}
		if got, err := u(); got != 0 || err != nil {
			t.Errorf("idle: %v, %v", got, err)
		}
	}
	b.err = errors.New("no /proc")
	if _, err := u(); !errors.Is(err, b.err) {
		t.Error(err)
	}
}

// TestOpenEnergy: a model gets the CPU's use and reports the nameplate curve; the error of a source
// that refuses is returned unchanged.
func TestOpenEnergy(t *testing.T) {
	b := &burning{at: time.Unix(1001, 0)}
	given := source.Config{Source: source.NameModel, Model: &source.ModelConfig{Idle: 40, Max: 120}}
	c, chain, err := node.OpenEnergy(t.Context(), given, b)
	if err != nil {
		t.Fatal(err)
	}
	defer chain.Close()
	if c.Source != chain || c.CPU != node.CPUMeter(b) || c.Nameplate != (energy.CurveConfig{Idle: 40, Max: 120}) || given.Model.Utilisation != nil {
		t.Errorf("%+v of %+v", c, given)
	}
	at := time.Unix(0, 0)
	var readings []energy.Reading
	for range 3 {
		if readings, err = chain.ReadTo(readings, at); err != nil {
			t.Log(err) // a chain needs two sources
		}
		at, b.at = at.Add(time.Second), b.at.Add(50*time.Millisecond) // the machine is busy
	}
	if len(readings) != 1 {
		t.Fatalf("readings %+v", readings)
	}
	if _, _, err := node.OpenEnergy(t.Context(), source.Config{Source: source.NameModel}, b); !errors.Is(err, source.ErrInvalid) {
		t.Errorf("model without a machine: got error %v", err)
	}
}
