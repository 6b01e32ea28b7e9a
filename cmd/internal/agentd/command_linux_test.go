package agentd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func TestMainRefuses(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	none := filepath.Join(t.TempDir(), "none")
	for _, tc := range []struct {
		args []string
		code int
		line string
	}{
		{[]string{"--bogus"}, command.ExitUsage, "unknown flag: --bogus"},
		{[]string{"extra"}, command.ExitUsage, "extra"},
		{[]string{"--cpu-mode", "most"}, command.ExitUsage, "--cpu-mode"},
		{[]string{"--usage", "maybe"}, command.ExitUsage, "--usage"},
		{[]string{"--profiler", "127.0.0.1:1"}, command.ExitUsage, "--profiler: needs --usage on"},
		{[]string{"--usage", "on", "--profiler", "dns:///localhost:1"}, command.ExitUsage, "Profilers"},
		{[]string{"--usage", "on", "--profiler", "127.0.0.1:1", "--token-dir", none}, command.ExitUsage, "ProfilerTokenFile"},
		{[]string{"--energy", "coal"}, command.ExitUsage, "--energy: Source = coal: must be one of off, auto, powercap, shared, hwmon, redfish, model"},
		{[]string{"--energy-model", "idle=40,max=120"}, command.ExitUsage, "--energy-model: needs --energy"},
		{[]string{"--energy-shared", none}, command.ExitUsage, "--energy-shared: needs --energy"},
		{[]string{"--energy-zones", "psys"}, command.ExitUsage, "--energy-zones: needs --energy"},
		{[]string{"--energy-pods", "2s"}, command.ExitUsage, "--energy-pods: needs --energy"},
		{[]string{"--energy-idle", "even"}, command.ExitUsage, "--energy-idle: needs --energy"},
		{[]string{"--energy-redfish-url", "https://bmc/Power"}, command.ExitUsage, "--energy-redfish-url: needs --energy"},
		{[]string{"--energy", "auto", "--energy-redfish-token-file", none}, command.ExitUsage, "--energy-redfish-token-file: needs --energy-redfish-url"},
		{[]string{"--energy", "redfish"}, command.ExitUsage, "--energy-redfish-url: must be given, such as --energy-redfish-url https://"},
		{[]string{"--energy", "redfish", "--energy-redfish-url", "http://bmc/Power"}, command.ExitUsage, "--energy-redfish-url: URL = http://bmc/Power"},
		{[]string{"--energy", "model"}, command.ExitUsage, "--energy-model: must be given, such as --energy-model idle=40,max=120"},
		{[]string{"--energy", "model", "--energy-model", "idle=lots"}, command.ExitUsage, "--energy-model: idle=lots"},
		{[]string{"--energy", "model", "--energy-model", "most=120"}, command.ExitUsage, "--energy-model: most=120"},
		{[]string{"--energy", "model", "--energy-model", "idle=120,max=40"}, command.ExitUsage, "--energy-model: Idle = 120"},
		{[]string{"--energy", "model", "--energy-model", "idle=40,max=120", "--energy-pods", "10ms"}, command.ExitUsage, "--energy-pods: Energy.Pods = 10ms"},
		{[]string{"--energy-idle", "odd"}, command.ExitUsage, "--energy-idle: Idle = odd"},
		{[]string{"--energy-zones", "core"}, command.ExitUsage, "--energy-zones: Zones = core"},
		{[]string{"--energy", "powercap", "--sys-root", none}, command.ExitFailure, "--energy powercap"},
		{[]string{"--energy", "shared", "--energy-shared", none}, command.ExitFailure, "--energy shared"},
		{[]string{"--cpu-counter", "most"}, command.ExitUsage, "--cpu-counter"},
		{[]string{"--pod-source", "guess"}, command.ExitUsage, "--pod-source"},
		{[]string{"--pod-source", "cri", "--runtime-endpoint", "relative/path"}, command.ExitUsage, "Endpoint"},
		{[]string{"--reserve", "cpu=1"}, command.ExitUsage, "--reserve: Reserve[cpu] = 1: not a share in [0,1)"},
		{[]string{"--reserve", "io=.1"}, command.ExitUsage, "--reserve: Reserve[io] = 0.1: not measured, only cpu,memory"},
		{[]string{"--reserve", "cpu=half"}, command.ExitUsage, "--reserve: cpu=half is not a number"},
		{[]string{"--signal", "noise"}, command.ExitUsage, `--signal: "noise" is neither room nor pronto`},
		{[]string{"--rate", "20"}, command.ExitUsage, "--rate"},
		{[]string{"--channels", "cpu,gpu"}, command.ExitUsage, "--channels"},
		{[]string{"--link-speed", "-1"}, command.ExitUsage, "LinkSpeed"},
		{[]string{"--cpu-contention", "most"}, command.ExitUsage, "--cpu-contention"},
		{[]string{"--schedulers", "dns:///localhost"}, command.ExitUsage, "dns:///host:port"},
		{[]string{"--schedulers", "127.0.0.1:1,127.0.0.1:1"}, command.ExitUsage, "repeated"},
		{[]string{"--record", none, "--record-total-size", "20MiB"}, command.ExitUsage, "--record-total-size: 20MiB is less than two files of a recording, 32MiB"},
		{[]string{"--record", "/dev/null/x"}, command.ExitFailure, "/dev/null"},
		{[]string{"--listen", ":0"}, command.ExitUsage, "plaintext"},
		{[]string{"--listen", ":0", "--insecure"}, command.ExitUsage, "loopback"},
		{[]string{"--schedulers", "scheduler.example:9690"}, command.ExitUsage, "plaintext"},
		{[]string{"--aggregator", "aggregator.example:9692"}, command.ExitUsage, "plaintext"},
		{[]string{"--listen", busy.Addr().String()}, command.ExitFailure, "address already in use"},
		{[]string{"--proc-root", none}, command.ExitFailure, none},
		{[]string{"--cgroup-root", none}, command.ExitFailure, none},
		{[]string{"--tls-dir", none, "--schedulers", "127.0.0.1:1"}, command.ExitFailure, none},
	} {
		var stdout, stderr bytes.Buffer
		// An accepted configuration runs until it is interrupted.
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		// Another agent on this machine may use the default port.
		args := append([]string{"--listen", "127.0.0.1:0"}, tc.args...)
		code := agentd.Main(ctx, args, &stdout, &stderr)
		cancel()
		line := notStarted(stderr.String())
		if code != tc.code || !strings.Contains(line, tc.line) || strings.Count(line, "\n") != 1 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d\n%s%s", tc.args, code, tc.code, line, stdout.String())
		}
	}
}

// notStarted removes the line of the agent's start from a log: a recording fails after it.
func notStarted(log string) string {
	var lines strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"msg":"started"`) {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// peers are a scheduler and an aggregator that record what they receive.
type peers struct {
	spaziov1.UnimplementedSignalServiceServer
	spaziov1.UnimplementedModelServiceServer
	reports chan agent.Report
	models  chan *spaziov1.LocalModel
}

func (p *peers) Publish(stream grpc.BidiStreamingServer[spaziov1.Report, spaziov1.Notice]) error {
	for pod := uint64(1); ; pod++ {
		notice := &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{PodBound: &spaziov1.PodBound{Pod: pod}}}
		if err := stream.Send(notice); err != nil {
			return err
		}
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		r, err := api.ToReport(m)
		if err != nil {
			return err
		}
		p.reports <- r
	}
}

func (p *peers) Push(_ context.Context, r *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	p.models <- r.GetLocal()
	return &spaziov1.PushResponse{}, nil
}

// process is an agent in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	listen string
	ended  chan error
}

func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), ended: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), role+"=agent")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	lines := bufio.NewScanner(stderr)
	for p.listen == "" && lines.Scan() {
		var line struct {
			Msg, Listen string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("log line %q: %v", lines.Text(), err)
		}
		if line.Msg == "started" {
			p.listen = line.Listen
		}
	}
	go func() {
		for lines.Scan() {
			t.Log(lines.Text())
		}
		p.ended <- p.cmd.Wait()
	}()
	if p.listen == "" {
		t.Fatalf("the agent did not start: %v", <-p.ended)
	}
	return p
}

func (p *process) get(path string) (int, string) {
	p.t.Helper()
	response, err := http.Get("http://" + p.listen + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// An agent in a process of its own starts without peers, publishes to a scheduler and an aggregator
// once they start, receives the scheduler's notice, and ends cleanly.
func TestAgentProcess(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	cgroups := t.TempDir() // of a host whose kubelet has not started yet
	p := startProcess(t, "--node-name", "here", "--listen", "127.0.0.1:0", "--cgroup-root", cgroups,
		"--schedulers", "unix:"+socket, "--aggregator", "unix:"+socket)
	if code, body := p.get("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz without a scheduler: %d %s", code, body)
	}
	waitFor(t, "health", func() bool { code, _ := p.get("/healthz"); return code == http.StatusOK })
	some := regexp.MustCompile(`(?m)^spazio_agent_samples_total [1-9]`)
	waitFor(t, "samples", func() bool { _, body := p.get("/metrics"); return some.MatchString(body) })

	seen := &peers{reports: make(chan agent.Report, 10000), models: make(chan *spaziov1.LocalModel, 10000)}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	spaziov1.RegisterSignalServiceServer(server, seen)
	spaziov1.RegisterModelServiceServer(server, seen)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	deadline := time.After(patience)
	for got, churn := 0, false; got < 3 || !churn; got++ {
		select {
		case r := <-seen.reports:
			churn = churn || r.Flags.Churn
			if r.Node != "here" || len(r.Channels) != 2 || r.Channels[0].Name != "cpu" || r.Channels[1].Name != "memory" {
				t.Fatalf("report %+v", r)
			}
		case <-deadline:
			t.Fatalf("got %d reports, churn after the notice %v", got, churn)
		}
	}
	select {
	case m := <-seen.models:
		if m.GetNode() != "here" || m.GetModel().GetDim() != 2 {
			t.Errorf("model %v", m)
		}
	case <-deadline:
		t.Fatal("got no model")
	}
	if code, body := p.get("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "kubelet") {
		t.Errorf("/readyz without the kubelet's cgroup: %d %s", code, body)
	}
	if _, body := p.get("/metrics"); !strings.Contains(body, "spazio_agent_pod_source_healthy 0") {
		t.Errorf("metrics without the kubelet's cgroup:\n%s", body)
	}
	if err := os.Mkdir(filepath.Join(cgroups, "kubepods"), 0o755); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "readiness", func() bool { code, _ := p.get("/readyz"); return code == http.StatusOK })
	if _, body := p.get("/metrics"); !strings.Contains(body, "spazio_agent_pod_source_healthy 1") || !strings.Contains(body, "spazio_agent_avail_pods") {
		t.Errorf("metrics:\n%s", body)
	}
	if code, _ := p.get("/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles at --listen: got %d", code)
	}
	p.stop(syscall.SIGTERM)
}

func (p *process) stop(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	if err := <-p.ended; err != nil {
		p.t.Errorf("after %v: %v", s, err)
	}
}

func TestAgentProcessInterrupted(t *testing.T) {
	startProcess(t, "--listen", "127.0.0.1:0", "--pod-source", "none").stop(syscall.SIGINT)
	// An agent with only a CA for its peers has no key for its metrics.
	bare := t.TempDir()
	trust, err := os.ReadFile(transporttest.SelfSigned(t, "127.0.0.1").CAFile)
	if err == nil {
		err = os.WriteFile(filepath.Join(bare, "ca.crt"), trust, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	startProcess(t, "--listen", "127.0.0.1:0", "--metrics-listen", ":0", "--tls-dir", bare, "--pod-source", "none").stop(syscall.SIGINT)
}

// TestAgentProcessExplainsItself checks what an operator reads: the last report's explanation,
// a recording; and that the process respects its limits.
func TestAgentProcessExplainsItself(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recording")
	p := startProcess(t, "--node-name", "here", "--listen", "127.0.0.1:0",
		"--pod-source", "none", "--record", dir, "--channels", "cpu,memory")
	waitFor(t, "readiness", func() bool { code, _ := p.get("/readyz"); return code == http.StatusOK })
	code, body := p.get("/debug/why")
	var why struct {
		Node     string
		Sequence uint64
		Channels []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(body), &why); err != nil || code != http.StatusOK {
		t.Fatalf("/debug/why: %d, %v\n%s", code, err, body)
	}
	if why.Node != "here" || why.Sequence == 0 || len(why.Channels) != 2 || why.Channels[0].Name != "cpu" {
		t.Errorf("/debug/why: %s", body)
	}
	if code, body := p.get("/debug/why?format=text"); code != http.StatusOK || !strings.Contains(body, "here") || json.Valid([]byte(body)) {
		t.Errorf("/debug/why?format=text: %d\n%s", code, body)
	}
	if code, _ := p.get("/debug/why?format=xml"); code != http.StatusBadRequest {
		t.Errorf("/debug/why?format=xml: %d", code)
	}
	if _, body := p.get("/metrics"); !strings.Contains(body, "go_sched_gomaxprocs_threads 1\n") || !strings.Contains(body, "go_gc_gomemlimit_bytes 2.097152e+07\n") {
		t.Errorf("limits in the metrics:\n%s", body)
	}
	p.stop(syscall.SIGTERM)
	replays(t, dir)
}

// patience bounds each wait; it is no expected duration.
const patience = 5 * time.Minute

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// replays fails the test if a report of the recording differs from what is reported when it is
// replayed, or if there is none.
func replays(t *testing.T, path string) {
	t.Helper()
	reader, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	reports := 0
	for pair, err := range recording.Replay(reader, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if !pair.Identical() {
			t.Fatalf("replayed at %v: got a different report", pair.At())
		}
		reports++
	}
	if reports == 0 {
		t.Fatal("no report in the recording")
	}
}
