package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// pods is a pod source that sends the events of a test.
type pods struct {
	events chan telemetry.PodEvent
	blind  error // the error of Health
}

func (p *pods) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-p.events:
			if !open {
				return errors.New("the source broke")
			}
			notify(e)
		}
	}
}

func (p *pods) Health() error { return p.blind }

// scaled is a clock that runs faster than the wall clock by a factor.
type scaled struct {
	started time.Time
	factor  int
}

func (c scaled) Now() time.Time {
	return c.started.Round(0).Add(time.Since(c.started) * time.Duration(c.factor))
}
func (c scaled) Wall(d time.Duration) time.Duration { return d / time.Duration(c.factor) }

// config returns the config of an agent that samples 20 times as fast.
func config() node.Config {
	return node.Config{
		Name: "n1", Meter: quarter{}, Pods: telemetry.StaticPods(nil), Clock: scaled{time.Now(), 20},
		Backoff: publish.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond},
	}
}

// running runs an agent until the test ends or stop is called; stop returns the error of Run.
func running(t *testing.T, c node.Config) (a *node.Agent, stop func() error) {
	t.Helper()
	a, err := node.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = a.Run(ctx)
	}()
	stop = func() error {
		cancel()
		<-ended
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return a, stop
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// peers are a scheduler and an aggregator.
type peers struct {
	spaziov1.UnimplementedSignalServiceServer
	spaziov1.UnimplementedModelServiceServer
	addr    string
	reports chan *spaziov1.Report
	models  chan *spaziov1.LocalModel
	notices chan *spaziov1.Notice
	fleet   *spaziov1.GlobalModel
}

func newPeers(t *testing.T, fleet *spaziov1.GlobalModel) *peers {
	t.Helper()
	p := &peers{
		addr:    "unix:" + filepath.Join(t.TempDir(), "s"),
		reports: make(chan *spaziov1.Report, 1<<16), models: make(chan *spaziov1.LocalModel, 1<<16),
		notices: make(chan *spaziov1.Notice), fleet: fleet,
	}
	listener, err := net.Listen("unix", strings.TrimPrefix(p.addr, "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	spaziov1.RegisterSignalServiceServer(server, p)
	spaziov1.RegisterModelServiceServer(server, p)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-ended
	})
	return p
}

func (p *peers) Publish(stream grpc.BidiStreamingServer[spaziov1.Report, spaziov1.Notice]) error {
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			p.reports <- r
		}
	}()
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case n := <-p.notices:
			if err := stream.Send(n); err != nil {
				return err
			}
		}
	}
}

func (p *peers) Push(_ context.Context, r *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	p.models <- r.GetLocal()
	return &spaziov1.PushResponse{Global: p.fleet}, nil
}

// TestAgentPublishes: reports reach the scheduler, models reach the aggregator, and the aggregator's
// answer reaches the estimates.
func TestAgentPublishes(t *testing.T) {
	load, err := svd.Update(svd.Model{}, [][]float64{{.25, .25}}, svd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fleet := api.FromFleet(agent.Fleet{
		Schema: "example", Model: load, Nodes: 3,
		Costs: []agent.Cost{{Value: .4, SD: .001, Known: true}, {Value: 1 << 28, SD: 1, Known: true}},
	}, 1)
	p := newPeers(t, fleet)
	c := config()
	c.Schedulers, c.Aggregator = []string{p.addr}, p.addr
	c.Reserve = map[string]float64{agent.CPU: .5}
	reports := make(chan agent.Report, 1<<16)
	c.OnReport = func(r agent.Report) { reports <- r }
	a, _ := running(t, c)
	sent := <-p.reports
	made := <-reports
	if made.Avail != 1 { // (1 − .5 − .25)/.25; what comes later may know the fleet's cost
		t.Errorf("room for %v pods with half of the CPU reserved, want 1", made.Avail)
	}
	for made.Sequence < sent.GetSequence() {
		made = <-reports
	}
	if sent.GetNode() != "n1" || sent.GetSchema() != "example" || sent.GetIncarnation() == 0 || sent.GetAvail() != made.Avail || sent.GetSampleAgeNanos() <= 0 {
		t.Errorf("the scheduler got %v, OnReport %+v", sent, made)
	}
	if m := <-p.models; m.GetNode() != "n1" || m.GetSchema() != "example" {
		t.Errorf("the aggregator got %v", m)
	}
	waitFor(t, "the fleet's cost", func() bool { // .4 of 4 cores, where the first guess is a core
		r, ok := a.Report()
		return ok && r.Channels[0].Cost < .2
	})
	if err := a.Ready(); err != nil {
		t.Errorf("Ready = %v", err)
	}
}

// TestNoticesOfBoundPods: a scheduler's notice of a pod's init containers decides whether the pod
// counts as held in them.
func TestNoticesOfBoundPods(t *testing.T) {
	p := newPeers(t, nil)
	source := &pods{events: make(chan telemetry.PodEvent)}
	c := config()
	c.Pods, c.Schedulers = source, []string{p.addr}
	a, _ := running(t, c)
	<-p.reports
	number := func(n uint32) *uint32 { return &n }
	uids := []string{"10000000-0000-4000-8000-000000000000", "20000000-0000-4000-8000-000000000000", "30000000-0000-4000-8000-000000000000", "40000000-0000-4000-8000-000000000000"}
	// A pod in the first event is assumed to have run for long.
	source.events <- telemetry.PodEvent{Changed: true}
	waitFor(t, "the first event", func() bool { w, err := a.Why(t.Context()); return err == nil && w.Sequence > 1 })
	for i, inits := range []*uint32{number(0), number(1), number(2), nil} {
		p.notices <- &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{
			PodBound: &spaziov1.PodBound{Pod: uint64(reserve.KeyOf(uids[i])), InitContainers: inits},
		}}
	}
	p.notices <- &spaziov1.Notice{} // an empty notice
	waitFor(t, "churn by the notices", func() bool {
		w, err := a.Why(t.Context())
		return err == nil && !w.Churn.Last.IsZero()
	})
	state := func(starts int) {
		var all []telemetry.Pod
		for _, uid := range uids {
			all = append(all, telemetry.Pod{UID: uid, State: telemetry.PodRunning, Starts: starts})
		}
		source.events <- telemetry.PodEvent{Changed: true, Pods: all}
	}
	held := func(want int) {
		t.Helper()
		waitFor(t, "the pods", func() bool {
			w, err := a.Why(t.Context())
			return err == nil && w.Pods == len(uids) && w.Held == want
		})
	}
	state(1)
	held(2)
	// The notice of the last pod was missing before; it now exists.
	p.notices <- &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{
		PodBound: &spaziov1.PodBound{Pod: uint64(reserve.KeyOf(uids[3])), InitContainers: number(2)},
	}}
	held(3)
	state(2)
	held(2)
	state(3)
	held(0)
}

func TestReady(t *testing.T) {
	source := &pods{events: make(chan telemetry.PodEvent), blind: errors.New("no kubepods")}
	c := config()
	c.Pods = source
	a, err := node.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Ready(); !errors.Is(err, source.blind) {
		t.Errorf("source without pods: got error %v", err)
	}
	for _, single := range []error{nil, fmt.Errorf("one pod: %w", telemetry.ErrUnseenPods)} {
		source.blind = single
		if err := a.Ready(); !errors.Is(err, node.ErrNoReport) {
			t.Errorf("before the first report, health %v: %v", single, err)
		}
	}
	if _, ok := a.Report(); ok {
		t.Error("got a report of an agent that has not run")
	}
	if a.Health() == nil {
		t.Error("healthy before it runs")
	}
	a, _ = running(t, config())
	waitFor(t, "readiness without schedulers", func() bool { return a.Ready() == nil && a.Health() == nil })
	c = config()
	c.Schedulers = []string{"unix:" + filepath.Join(t.TempDir(), "nobody")}
	a, _ = running(t, c)
	waitFor(t, "a report", func() bool { _, ok := a.Report(); return ok })
	if err := a.Ready(); err == nil || errors.Is(err, node.ErrNoReport) {
		t.Errorf("without a scheduler: got error %v", err)
	}
}

// TestRunLeavesNothing: goroutines, files and streams end with Run; a new agent with the same config
// then runs and continues the recording in the same directory.
func TestRunLeavesNothing(t *testing.T) {
	p := newPeers(t, nil)
	c := config()
	c.Schedulers, c.Aggregator = []string{p.addr, "unix:" + filepath.Join(t.TempDir(), "nobody")}, p.addr
	c.RecordDir = filepath.Join(t.TempDir(), "recording")
	if _, err := node.New(c); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.RecordDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("New has made files: %v", err)
	}
	for range 2 {
		a, stop := running(t, c)
		waitFor(t, "readiness", func() bool { return a.Ready() == nil })
		if err := stop(); err != nil {
			t.Errorf("Run = %v", err)
		}
		waitFor(t, "its goroutines' end", func() bool {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			return !bytes.Contains(stacks, []byte("spazio/node.(*")) && !bytes.Contains(stacks, []byte("spazio/node/publish")) &&
				!bytes.Contains(stacks, []byte("agent/recording"))
		})
	}
	replays(t, c.RecordDir)
}

func TestRunFails(t *testing.T) {
	c := config()
	c.RecordDir = "/dev/null/x"
	if _, stop := running(t, c); !strings.Contains(stopped(stop), "/dev/null") {
		t.Error("New accepted a directory in which no recording can be made")
	}
	source := &pods{events: make(chan telemetry.PodEvent)}
	close(source.events)
	c = config()
	c.Pods = source
	a, err := node.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "the source broke") {
		t.Errorf("Run = %v", err)
	}
}

func stopped(stop func() error) string {
	if err := stop(); err != nil {
		return err.Error()
	}
	return ""
}

func TestHandler(t *testing.T) {
	get := func(a *node.Agent, query string) (int, string, string) {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/why"+query, nil))
		body, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, w.Header().Get("Content-Type"), string(body)
	}
	a, stop := running(t, config())
	waitFor(t, "a report", func() bool { _, ok := a.Report(); return ok })
	for _, query := range []string{"", "?format=json"} {
		code, kind, body := get(a, query)
		var why struct {
			Node     string
			Sequence uint64
			Channels []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(body), &why); err != nil || code != http.StatusOK || kind != "application/json" ||
			why.Node != "n1" || why.Sequence == 0 || len(why.Channels) != 2 {
			t.Errorf("%s: %d %s %v\n%s", query, code, kind, err, body)
		}
	}
	if code, kind, body := get(a, "?format=text"); code != http.StatusOK || !strings.HasPrefix(kind, "text/plain") || !strings.HasPrefix(body, "n1 has room for") {
		t.Errorf("as text: %d %s\n%s", code, kind, body)
	}
	if code, _, body := get(a, "?format=xml"); code != http.StatusBadRequest || !strings.Contains(body, "xml") {
		t.Errorf("as XML: %d %s", code, body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if code, _, body := get(a, ""); code != http.StatusServiceUnavailable {
		t.Errorf("after the end: %d %s", code, body)
	}
	c := config()
	c.Meter = priming{}
	a, _ = running(t, c)
	if code, _, body := get(a, ""); code != http.StatusNotFound {
		t.Errorf("before the first report: %d %s", code, body)
	}
}

// priming is a meter that never gets beyond its first sample.
type priming struct{ quarter }

func (priming) SampleTo(dst []float64, _ time.Time) ([]float64, error) {
	return dst, telemetry.ErrPriming
}

// shrunk is a meter that has lost the size of a channel.
type shrunk struct{ quarter }

func (shrunk) SizesTo(dst []float64) []float64 { return append(dst[:0], 4) }

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*node.Config)
	}{
		{"Name", func(c *node.Config) { c.Name = "" }},
		{"Meter", func(c *node.Config) { c.Meter = nil }},
		{"Meter", func(c *node.Config) { c.Meter = shrunk{} }},
		{"Pods", func(c *node.Config) { c.Pods = nil }},
		{"Period", func(c *node.Config) { c.Period = -1 }},
		{"Refresh", func(c *node.Config) { c.Refresh = -1 }},
		{"Reserve[cpu]", func(c *node.Config) { c.Reserve = map[string]float64{"cpu": -.1} }},
		{"Reserve[cpu]", func(c *node.Config) { c.Reserve = map[string]float64{"cpu": 1} }},
		{"Reserve[cpu]", func(c *node.Config) { c.Reserve = map[string]float64{"cpu": math.NaN()} }},
		{"Reserve[gpu]", func(c *node.Config) { c.Reserve = map[string]float64{"gpu": .1, "memory": 0} }},
		{"Schedulers", func(c *node.Config) { c.Schedulers = []string{""} }},
		{"Schedulers", func(c *node.Config) { c.Schedulers = []string{"unix:a", "unix:a"} }},
		{"Schedulers", func(c *node.Config) { c.Schedulers = []string{"dns:///localhost"} }},
		{"TokenFile", func(c *node.Config) { c.TokenFile = "token" }},
		{"AggregatorTokenFile", func(c *node.Config) { c.Aggregator, c.AggregatorTokenFile = "127.0.0.1:1", "token" }},
		{"Profilers", func(c *node.Config) { c.Profilers = []string{"127.0.0.1:1"} }},
		{"Profilers", func(c *node.Config) { c.Usage, c.Profilers = idle{}, []string{"dns:///localhost:1"} }},
		{"ProfilerTokenFile", func(c *node.Config) {
			c.Usage, c.Profilers, c.ProfilerTokenFile = idle{}, []string{"127.0.0.1:1"}, "token"
		}},
		{"Backoff.Min", func(c *node.Config) { c.Backoff.Min = -1 }},
		{"Energy.Source", func(c *node.Config) { c.Energy = &node.EnergyConfig{CPU: &burning{}} }},
		{"Energy.CPU", func(c *node.Config) { c.Energy = &node.EnergyConfig{Source: &burning{}} }},
		{"Energy.Pods", func(c *node.Config) { c.Energy = &node.EnergyConfig{Source: &burning{}, CPU: &burning{}, Pods: -1} }},
		{"Energy.Pods", func(c *node.Config) {
			c.Energy = &node.EnergyConfig{Source: &burning{}, CPU: &burning{}, Pods: time.Second - 1}
		}},
		{"Energy.Split.Idle", func(c *node.Config) {
			c.Energy = &node.EnergyConfig{Source: &burning{}, CPU: &burning{}, Split: energy.Split{Idle: "odd"}}
		}},
		{"Energy.Nameplate.Idle", func(c *node.Config) {
			c.Energy = &node.EnergyConfig{Source: &burning{}, CPU: &burning{}, Nameplate: energy.CurveConfig{Idle: 9, Max: 1}}
		}},
		{"Energy.Meter.MaxWatts", func(c *node.Config) {
			c.Energy = &node.EnergyConfig{Source: &burning{}, CPU: &burning{}, Meter: energy.MeterConfig{MaxWatts: -1}}
		}},
		{"Backoff.Max", func(c *node.Config) { c.Backoff.Max = -1 }},
	} {
		c := config()
		tt.spoil(&c)
		_, err := node.New(c)
		var bad *field.Error
		if !errors.As(err, &bad) || !errors.Is(err, node.ErrInvalid) || bad.Field != tt.name || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	c := config()
	c.RecordDir, c.Record.FileSize = t.TempDir(), 1
	var bad *field.Error
	if _, err := node.New(c); !errors.As(err, &bad) || bad.Field != "FileSize" {
		t.Errorf("a file of one byte: %v", err)
	}
	c = config()
	c.Aggregator = "aggregator.example:9692"
	if _, err := node.New(c); err == nil || !strings.Contains(err.Error(), "plaintext") {
		t.Errorf("plaintext to an aggregator elsewhere: %v", err)
	}
}

// TestConfigIsNotModified checks the slices and maps of the config, too.
func TestConfigIsNotModified(t *testing.T) {
	c := config()
	c.Schedulers, c.Reserve = []string{"unix:b", "unix:a"}, map[string]float64{"cpu": .5}
	if _, err := node.New(c); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Schedulers, []string{"unix:b", "unix:a"}) || len(c.Reserve) != 1 || c.Reserve["cpu"] != .5 {
		t.Errorf("config after New: %v, %v", c.Schedulers, c.Reserve)
	}
}

// TestNoticesOfPlaceholders: placeholder pods that a scheduler names are not counted, and one that was
// counted is removed.
func TestNoticesOfPlaceholders(t *testing.T) {
	p := newPeers(t, nil)
	source := &pods{events: make(chan telemetry.PodEvent)}
	c := config()
	c.Pods, c.Schedulers = source, []string{p.addr}
	a, _ := running(t, c)
	<-p.reports
	const uid, placeholder, late = "10000000-0000-4000-8000-000000000000", "20000000-0000-4000-8000-000000000000", "30000000-0000-4000-8000-000000000000"
	name := func(uids ...string) {
		keys := make([]reserve.PodKey, len(uids))
		for i, uid := range uids {
			keys[i] = reserve.KeyOf(uid)
		}
		p.notices <- &spaziov1.Notice{Event: &spaziov1.Notice_GhostPods{GhostPods: api.FromPlaceholders(keys)}}
	}
	counts := func(want int) {
		t.Helper()
		waitFor(t, "the pods", func() bool { w, err := a.Why(t.Context()); return err == nil && w.Pods == want })
	}
	source.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods(uid, late)}
	counts(2)
	name(placeholder)
	// A notice with too many pods is ignored, and the stream continues.
	p.notices <- &spaziov1.Notice{Event: &spaziov1.Notice_GhostPods{GhostPods: &spaziov1.GhostPods{Pods: make([]uint64, api.MaxAbsorbed+1)}}}
	name(placeholder, late)
	counts(1)
	source.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods(uid, placeholder, late)}
	source.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods(placeholder, late)}
	counts(0)
}
