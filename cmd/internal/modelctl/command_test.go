package modelctl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/cmd/internal/modelctl"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/svd"
)

// aggregator serves the models of some nodes at noon, until the test ends.
func aggregator(t *testing.T, locals ...agent.Local) string {
	t.Helper()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s, err := modelserver.New(modelserver.Config{Tick: time.Millisecond, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range locals {
		if _, err := s.Push(t.Context(), &spaziov1.PushRequest{Local: api.FromLocal(l)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.Run(ctx) }()
	for s.Stats().Nodes < len(locals) {
		time.Sleep(time.Millisecond)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	spaziov1.RegisterModelServiceServer(server, s)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		cancel()
		server.Stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return listener.Addr().String()
}

func node(name, schema string, axis int, sigma float64) agent.Local {
	u := make([]float64, 2)
	u[axis] = 1
	return agent.Local{
		Node: name, Schema: schema,
		Model: svd.State{Dim: 2, Block: 10, Mass: 2, U: u, Sigma: []float64{sigma}},
		Costs: []agent.Cost{{Value: .5, SD: .1, Known: true}, {}},
	}
}

func run(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = serve.Execute(ctx, modelctl.NewCommand(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestTable(t *testing.T) {
	addr := aggregator(t, node("a", "v2;cpu=half-runnable;memory=available", 0, 2), node("b", "v2;cpu=half-runnable;memory=available", 1, 1))
	code, got, stderr := run(t, t.Context(), "--aggregator", addr)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	want := `schema v2;cpu=half-runnable;memory=available, version 1
2 nodes, 0 clipped, mass 4.0; ages 0.0 s to 0.0 s, median 0.0 s
CHANNEL  DIRECTION  COST OF A POD  SD
cpu      1.0000     0.5            0.089
memory   0.0000     unknown        -
COMPONENT  SIGMA   RMS     ENERGY  SHARE   DIRECTION
1          1.414   0.4472  2       80.0 %  +1.000 +0.000
2          0.7071  0.2236  0.5     20.0 %  +0.000 +1.000
Nodes with a hundredth of the weight can have turned the direction by at most 9.01 degrees.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	addr := aggregator(t, node("a", "cpu,memory", 0, 2), node("b", "something else", 1, 1))
	code, got, stderr := run(t, t.Context(), "--aggregator", addr, "--output", "json", "--schema", "something else")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	var answer struct{ Models []modelctl.Model }
	if err := json.Unmarshal([]byte(got), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Models) != 1 {
		t.Fatalf("%d models:\n%s", len(answer.Models), got)
	}
	m := answer.Models[0]
	if m.Schema != "something else" || m.Nodes != 1 || len(m.Components) != 2 || m.Components[0].Share != 1 || m.SwayDegrees <= 0 {
		t.Errorf("the model is %+v", m)
	}
	channels := []modelctl.Channel{{Name: "channel 0", Cost: m.Channels[0].Cost}, {Name: "channel 1", Direction: 1}}
	if diff := cmp.Diff(channels, m.Channels); diff != "" || m.Channels[0].Cost == nil {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
}

func TestNoModelYet(t *testing.T) {
	addr := aggregator(t)
	if code, got, _ := run(t, t.Context(), "--aggregator", addr); code != 0 || got != "The aggregator has no model yet.\n" {
		t.Errorf("exit code %d, %q", code, got)
	}
	if code, got, _ := run(t, t.Context(), "--aggregator", addr, "-o", "json"); code != 0 || strings.Join(strings.Fields(got), "") != `{"models":[]}` {
		t.Errorf("exit code %d, %q", code, got)
	}
}

func TestWatchEndsWithTheContext(t *testing.T) {
	addr := aggregator(t, node("a", "cpu,memory", 0, 2))
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- serve.Execute(ctx, modelctl.NewCommand(), []string{"--aggregator", addr, "--watch", "--interval", "1ms"}, write, write)
		write.Close()
	}()
	seen := 0
	for buffer, text := make([]byte, 4096), ""; seen < 3; seen = strings.Count(text, "schema") {
		n, err := read.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		text += string(buffer[:n])
	}
	cancel()
	_, _ = io.Copy(io.Discard, read)
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

func TestFailures(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, tt := range []struct {
		args []string
		code int
		line string
	}{
		{[]string{"--aggregator", gone.Addr().String()}, 1, "connection refused"},
		{[]string{"--aggregator", "elsewhere:9692"}, 2, "refusing to send"},
		{[]string{"--output", "yaml"}, 2, "neither table nor json"},
		{[]string{"--interval", "0s"}, 2, "--interval"},
		{[]string{"--timeout", "-1s"}, 2, "--timeout"},
		{[]string{"--tls-cert-file", "x"}, 2, "CertFile"},
		{[]string{"word"}, 2, "unknown command"},
	} {
		code, stdout, stderr := run(t, t.Context(), tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.line) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%q: exit code %d, stderr %q, stdout %q; want code %d and a line with %q", tt.args, code, stderr, stdout, tt.code, tt.line)
		}
	}
}
