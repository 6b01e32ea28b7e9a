package aggregatord_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/aggregator/service"
	"github.com/spazio-scheduler/spazio/cmd/internal/aggregatord"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/svd"
)

// The test binary acts as the command if this variable is set.
const asCommand = "SPAZIO_TEST_AGGREGATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		go func() { // standard input ends with the test process, however that ends
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(command.ExitFailure)
		}()
		command.Main(aggregatord.Main)
	}
	os.Exit(m.Run())
}

// node is a node's connection to the aggregator.
type node struct {
	models *publish.Models
	fleets chan agent.Fleet
}

func newNode(t *testing.T, target string) node {
	t.Helper()
	n := node{fleets: make(chan agent.Fleet, 1<<10)}
	var err error
	n.models, err = publish.NewModels(publish.ModelsConfig{
		Target:    target,
		OnFleet:   func(f agent.Fleet) { n.fleets <- f },
		Backoff:   publish.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond},
		Staleness: publish.Staleness{MinInterval: time.Millisecond, MaxAge: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.models.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Models.Run: %v", err)
		}
	})
	return n
}

// awaitFleet waits for a fleet of so many nodes.
func (n node) awaitFleet(t *testing.T, nodes int) agent.Fleet {
	t.Helper()
	for {
		select {
		case f := <-n.fleets:
			if f.Nodes == nodes {
				return f
			}
		case <-t.Context().Done():
			t.Fatalf("got no fleet of %d nodes", nodes)
		}
	}
}

func local(name string, axis int) agent.Local {
	u := make([]float64, 2)
	u[axis] = 1
	return agent.Local{
		Node: name, Incarnation: 1, Sequence: 1, Schema: "cpu,memory",
		Model: svd.State{Dim: 2, Block: 10, Mass: 2, U: u, Sigma: []float64{1}},
		Costs: []agent.Cost{{Value: .5, SD: .1, Known: true}, {}},
	}
}

func body(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status + "\n" + string(b)
}

func TestServiceInProcess(t *testing.T) {
	inProcess, err := service.New(t.Context(), service.Config{
		Listen: transporttest.Address(t), MetricsListen: transporttest.Address(t), // no other process uses them once they are released
		Server: modelserver.Config{Tick: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- inProcess.Run(ctx) }()

	one, two := newNode(t, inProcess.Addr().String()), newNode(t, inProcess.Addr().String())
	one.models.Offer(local("one", 0))
	two.models.Offer(local("two", 1))
	one.awaitFleet(t, 2)
	if fleet := two.awaitFleet(t, 2); fleet.Costs[0].Value != .5 || fleet.Model.Mass() < 3.9 {
		t.Errorf("got fleet %+v", fleet)
	}
	metrics := body(t, "http://"+inProcess.MetricsAddr().String()+"/metrics")
	for _, line := range []string{"spazio_aggregator_nodes 2\n", "spazio_aggregator_push_seconds_bucket", `spazio_aggregator_pushes_total{result="refused"} 0`,
		"spazio_aggregator_ready 1\n"} {
		if !strings.Contains(metrics, line) {
			t.Errorf("/metrics lacks %q:\n%s", line, metrics)
		}
	}
	if health := body(t, "http://"+inProcess.MetricsAddr().String()+"/healthz"); health != "200 OK\nok\n" {
		t.Errorf("/healthz: %q", health)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	for _, addr := range []net.Addr{inProcess.Addr(), inProcess.MetricsAddr()} {
		free, err := net.Listen("tcp", addr.String())
		if err != nil {
			t.Fatalf("the port is not free: %v", err)
		}
		free.Close()
	}
}

// process is the command as a process of its own, with its log.
type process struct {
	*exec.Cmd
	log    []string // until it listened
	logged chan struct{}
}

// start runs the command and waits until it listens.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), logged: make(chan struct{})}
	p.Env = append(os.Environ(), asCommand+"=1")
	if _, err := p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		p.log = append(p.log, line)
		if err != nil {
			close(p.logged)
			t.Fatalf("got start of the aggregator %q, %v", p.log, err)
		}
		if strings.Contains(line, "aggregator is listening") {
			break
		}
	}
	go func() {
		defer close(p.logged)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return p
}

// kill sends SIGKILL.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.logged // the log must be read before Wait closes the pipe
	_ = p.Wait()
}

// interrupt sends SIGINT, and expects success.
func (p *process) interrupt(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-p.logged
	if err := p.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
}

// TestKilledAggregator kills the process and starts a new one at the same address: the nodes push again
// by themselves.
func TestKilledAggregator(t *testing.T) {
	addr := transporttest.Address(t)
	args := []string{"--listen", addr, "--metrics-listen", ""}
	process := start(t, args...)
	one, two := newNode(t, addr), newNode(t, addr)
	one.models.Offer(local("one", 0))
	two.models.Offer(local("two", 1))
	one.awaitFleet(t, 2)
	process.kill()
	for len(one.fleets) > 0 {
		<-one.fleets
	}
	start(t, args...)
	one.awaitFleet(t, 2)
}

func TestRefusedStarts(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	tls := filepath.Dir(transporttest.SelfSigned(t, "127.0.0.1").CertFile)
	for _, tt := range []struct {
		args []string
		code int
		line string
	}{
		{[]string{"--listen", busy.Addr().String()}, 1, "address already in use"},
		{[]string{"--listen", "127.0.0.1:0", "--metrics-listen", busy.Addr().String()}, 1, "address already in use"},
		{[]string{"--listen", ":0"}, 2, "refusing to listen"},
		{[]string{"--listen", "127.0.0.1:0", "--debug-listen", ":0", "--insecure"}, 2, "loopback"},
		{[]string{"--listen", ":0", "--tls-dir", tls}, 2, "unauthenticated callers"},
		{[]string{"--agent-service-account", "a/b"}, 2, "plaintext"},
		{[]string{"--agent-service-account", "a", "--tls-dir", tls}, 2, "namespace/name"},
		{[]string{"--agent-service-account", "a/b", "--peer", "x:1", "--tls-dir", tls}, 2, "clients' authority"},
		{[]string{"--agent-service-account", "a/b", "--listen", "127.0.0.1:0", "--kubeconfig", "/nonexistent/k", "--tls-dir", tls}, 1, "/nonexistent/k"},
		{[]string{"--half-life", "-1s"}, 2, "HalfLife"},
		{[]string{"--peer", "nowhere"}, 2, "Targets = nowhere"},
		{[]string{"--peer", "dns:///elsewhere:9692"}, 2, "refusing to send"},
		{[]string{"--snapshot-interval", "-1s"}, 2, "SnapshotInterval"},
		{[]string{"--tls-dir", "/nonexistent"}, 1, "no such file"},
		{[]string{"--nonsense"}, 2, "unknown flag"},
		{[]string{"word"}, 2, "unknown command"},
	} {
		var stdout, stderr bytes.Buffer
		code := aggregatord.Main(t.Context(), tt.args, &stdout, &stderr)
		if code != tt.code || !strings.Contains(stderr.String(), tt.line) || strings.Count(stderr.String(), "\n") != 1 || stdout.Len() != 0 {
			t.Errorf("%q: got exit code %d, stderr %q, stdout %q; want code %d and a line with %q", tt.args, code, &stderr, &stdout, tt.code, tt.line)
		}
	}
}

func TestInterruptedCommandSucceeds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- aggregatord.Main(ctx, []string{"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"}, io.Discard, write)
		write.Close()
	}()
	lines := bufio.NewScanner(read)
	if !lines.Scan() {
		t.Fatal("the command printed nothing")
	}
	cancel()
	for lines.Scan() {
	}
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

func ExampleMain() {
	code := aggregatord.Main(context.Background(), []string{"--listen", ":9692"}, os.Stdout, os.Stdout)
	fmt.Println("exit code", code)
	// Output:
	// spazio-aggregator: refusing to listen on ":9692" in plaintext: use a loopback address, give TLS files, or allow it with insecure
	// exit code 2
}
