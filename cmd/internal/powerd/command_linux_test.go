package powerd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/powerd"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// TestMain lets the test binary act as guests.
func TestMain(m *testing.M) {
	fakerapl.GuestMain()
	os.Exit(m.Run())
}

// counters maintains energy counters of this machine's CPU time below a directory that replaces /sys,
// until the test's end.
func counters(t *testing.T) (sys string) {
	t.Helper()
	sys = t.TempDir()
	machine, err := fakerapl.New(fakerapl.Config{Dir: sys, Sockets: 1, Cores: 64, Idle: 40, Max: 180, DRAM: 10})
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := telemetry.NewPodUsage(telemetry.CgroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				ended <- machine.Close()
				return
			case at := <-ticker.C:
				node, err := cpu.ReadNode()
				if err == nil {
					err = machine.Advance(at, []fakerapl.Consumer{{CPU: node.Busy}})
				}
				if err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := cpu.Close(); err != nil {
			t.Error(err)
		}
	})
	return sys
}

// daemon is spazio-host-energy in this process.
type daemon struct {
	t    *testing.T
	url  string
	stop func()
	log  *transporttest.Output
}

func start(t *testing.T, args ...string) *daemon {
	t.Helper()
	addr := transporttest.Address(t)
	ctx, cancel := context.WithCancel(t.Context())
	d := &daemon{t: t, url: "http://" + addr, log: &transporttest.Output{}}
	ended := make(chan int, 1)
	go func() {
		ended <- powerd.Main(ctx, append([]string{"--metrics-listen", addr, "--listen", ""}, args...), io.Discard, d.log)
	}()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != command.ExitOK {
			t.Errorf("exit code %d: %s", code, d.log)
		}
	})
	t.Cleanup(d.stop)
	return d
}

// get returns its answer; nothing and 0 before it listens.
func (d *daemon) get(path string) (int, string) {
	response, err := http.Get(d.url + path)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Error(err)
	}
	return response.StatusCode, string(text)
}

func (d *daemon) wait(what string, ok func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			_, metrics := d.get("/metrics")
			d.t.Fatalf("no %s:\n%s\n%s", what, d.log, metrics)
		}
	}
}

// value returns the value of a series in a text of metrics, NaN if there is none.
func value(metrics, series string) float64 {
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			var v float64
			if _, err := fmt.Sscan(rest, &v); err == nil {
				return v
			}
		}
	}
	return math.NaN()
}

// TestPower: guests that are processes of this machine get their share of the energy, as an agent with
// --energy shared reads it; the exported metrics are those in cmd/deploy/observe/metrics.json; totals
// continue after a restart.
func TestPower(t *testing.T) {
	own := fmt.Sprintf("powerd-test-%d-", os.Getpid())
	for i, name := range []string{"busy", "idle", "../up"} {
		g, err := fakerapl.StartGuest(t.Context(), own+name, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Stop)
		if i == 0 {
			if err := g.Set(.5); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "power")
	args := []string{"--dir", dir, "--sys-root", counters(t), "--guests", "process", "--energy", "powercap"}
	d := start(t, args...)
	busy, idle := own+"busy", own+"idle"
	joules := func(text, guest string) float64 {
		return value(text, `spazio_energy_guest_joules_total{guest="`+guest+`"}`)
	}
	var text string
	d.wait("guests", func() bool {
		_, text = d.get("/metrics")
		return joules(text, busy) > 1 && joules(text, idle) > 0 && value(text, `spazio_energy_guest_refused_total{cause="name"}`) > 0
	})
	if code, body := d.get("/readyz"); code != http.StatusOK {
		t.Error(code, body)
	}
	lint(t, text)
	beside(t, text)
	agent, err := source.Open(t.Context(), source.Config{Source: source.NameShared, SharedRoot: filepath.Join(dir, busy)})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	meter, err := energy.NewMeter(energy.MeterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var took energy.Interval
	d.wait("joules at the agent", func() bool {
		readings, err := agent.ReadTo(nil, time.Now())
		if err != nil {
			return false
		}
		in, err := meter.Add(readings)
		took.Joules += in.Joules
		return err == nil && took.Joules > 1
	})
	d.stop()
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), own); ok {
			left = append(left, name)
		}
	}
	if err != nil || !slices.Equal(left, []string{"busy", "idle"}) {
		t.Error(left, err)
	}
	counter := func() (n uint64) {
		text, err := os.ReadFile(filepath.Join(dir, busy, "class/powercap/intel-rapl:0/energy_uj"))
		if _, failed := fmt.Sscan(string(text), &n); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		return n
	}
	was := counter()
	d = start(t, args...)
	d.wait("joules after the restart", func() bool {
		_, text = d.get("/metrics")
		return joules(text, busy) > 1
	})
	if now := counter(); now <= was || float64(now-was)*1e-6 > 100 {
		t.Errorf("got the counter from %d to %d", was, now)
	}
}

// lint expects no complaint of promtool about metrics.
func lint(t *testing.T, text string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// beside compares metrics with those of spazio-host-energy in cmd/deploy/observe/metrics.json.
func beside(t *testing.T, text string) {
	t.Helper()
	type metric struct {
		Type   string   `json:"type"`
		Labels []string `json:"labels"`
	}
	var known map[string]metric
	file, err := os.ReadFile("../../../cmd/deploy/observe/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &known); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		if strings.HasPrefix(name, "spazio_energy_guest") && families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	for name, f := range families {
		if !strings.HasPrefix(name, "spazio_") {
			continue
		}
		got := metric{Type: strings.ToLower(f.GetType().String())}
		for _, pair := range f.GetMetric()[0].GetLabel() {
			got.Labels = append(got.Labels, pair.GetName())
		}
		slices.Sort(got.Labels)
		if want := known[name]; got.Type != want.Type || !slices.Equal(got.Labels, want.Labels) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// TestNoPower: on a machine without energy readings the log has the reason, and the source is tried
// again; with an explicitly named source it is an error.
func TestNoPower(t *testing.T) {
	sys := t.TempDir()
	d := start(t, "--dir", t.TempDir(), "--sys-root", sys, "--energy-shared", sys)
	d.wait("reason", func() bool {
		code, body := d.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, source.ErrNoPower.Error())
	})
	if code, _ := d.get("/healthz"); code != http.StatusOK {
		t.Error("want healthy, got", code)
	}
	d.stop()
	if n := strings.Count(d.log.String(), `"level":"WARN","msg":"energy is not shared`); n != 1 {
		t.Errorf("got %d lines:\n%s", n, d.log)
	}
	var stderr bytes.Buffer
	code := powerd.Main(t.Context(), []string{"--dir", t.TempDir(), "--sys-root", sys, "--energy", "powercap", "--listen", ""}, io.Discard, &stderr)
	if code != command.ExitFailure || !strings.Contains(stderr.String(), "--energy powercap: ") || !strings.Contains(stderr.String(), source.ErrNoPower.Error()) {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

// TestModel: a nameplate curve suffices.
func TestModel(t *testing.T) {
	d := start(t, "--dir", t.TempDir(), "--guests", "process", "--energy", "model", "--energy-model", "idle=40,max=120")
	d.wait("joules", func() bool {
		_, text := d.get("/metrics")
		return value(text, `spazio_energy_node_joules_total{part="false",source="model",zone="model"}`) >= 40
	})
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--guests", "vmware"}, "--guests: "},
		{[]string{"--idle", "usage"}, "--idle usage: "},
		{[]string{"--energy", "redfish"}, "--energy: redfish has no reading each second"},
		{[]string{"--energy", "off"}, "--energy: Source = off: must be one of auto, powercap, shared, hwmon, model"},
		{[]string{"--energy", "model"}, "--energy-model: "},
		{[]string{"--energy-model", "idle=x"}, "--energy-model: idle=x"},
		{[]string{"--energy-zones", "cores"}, "--energy-zones: "},
		{[]string{"--dir", ""}, "Dir = "},
		{[]string{"--listen", "0.0.0.0:0"}, "debug data is for loopback alone"},
		{[]string{"--log-level", "loud"}, "--log-level: "},
		{[]string{"word"}, "unknown command"},
	} {
		var stderr bytes.Buffer
		args := append([]string{"--dir", t.TempDir(), "--listen", ""}, c.args...)
		if code := powerd.Main(t.Context(), args, io.Discard, &stderr); code != command.ExitUsage || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: exit code %d: %s", c.args, code, &stderr)
		}
	}
}
