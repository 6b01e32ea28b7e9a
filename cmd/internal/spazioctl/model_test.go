package spazioctl_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/aggregator/service"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/svd"
)

// aggregator runs an aggregator with models that some nodes pushed at noon, until the test ends, and
// returns the URL of its debug address.
func aggregator(t *testing.T, locals ...agent.Local) string {
	t.Helper()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s, err := service.New(t.Context(), service.Config{
		Listen: "127.0.0.1:0", DebugListen: "127.0.0.1:0",
		Server: modelserver.Config{Tick: time.Millisecond, Now: func() time.Time { return noon }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range locals {
		if _, err := s.Models().Push(t.Context(), &spaziov1.PushRequest{Local: api.FromLocal(l)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for s.Models().Nodes() < len(locals) {
		time.Sleep(time.Millisecond)
	}
	return "http://" + s.DebugAddr().String()
}

func local(name, schema string, axis int, sigma float64) agent.Local {
	u := make([]float64, 2)
	u[axis] = 1
	return agent.Local{
		Node: name, Schema: schema,
		Model: svd.State{Dim: 2, Block: 10, Mass: 2, U: u, Sigma: []float64{sigma}},
		Costs: []agent.Cost{{Value: .5, SD: .1, Known: true}, {}},
	}
}

func TestModelTable(t *testing.T) {
	url := aggregator(t, local("a", "v2;cpu=half-runnable;memory=available", 0, 2), local("b", "v2;cpu=half-runnable;memory=available", 1, 1))
	code, got, stderr := run(t.Context(), "model", "--url", url)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	want := `schema v2;cpu=half-runnable;memory=available, version 1
2 nodes, mass 4.0; ages 0.0 s to 0.0 s, median 0.0 s
CHANNEL  DIRECTION  COST OF A POD     SD
cpu         1.0000            0.5  0.089
memory      0.0000        unknown      -
COMPONENT   SIGMA     RMS  ENERGY   SHARE  DIRECTION
1           1.414  0.4472       2  80.0 %  +1.000 +0.000
2          0.7071  0.2236     0.5  20.0 %  +0.000 +1.000
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModelJSON(t *testing.T) {
	url := aggregator(t, local("a", "cpu,memory", 0, 2), local("b", "something else", 1, 1))
	code, got, stderr := run(t.Context(), "model", "--url", url, "--output", "json")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	var answer modelserver.Status
	if err := json.Unmarshal([]byte(got), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Models) != 2 || answer.Models[1].Schema != "something else" || answer.Models[1].Channels[1].Direction != 1 {
		t.Errorf("%+v in\n%s", answer, got)
	}
}

func TestNoModelYet(t *testing.T) {
	url := aggregator(t)
	if code, got, _ := run(t.Context(), "model", "--url", url); code != 0 || got != "The aggregator has no model yet.\n" {
		t.Errorf("exit code %d, %q", code, got)
	}
	if code, got, _ := run(t.Context(), "model", "--url", url, "-o", "json"); code != 0 || strings.Join(strings.Fields(got), "") != `{"models":[]}` {
		t.Errorf("exit code %d, %q", code, got)
	}
}

// TestModelWatch continues until it is interrupted, which is a success.
func TestModelWatch(t *testing.T) {
	url := aggregator(t, local("a", "cpu,memory", 0, 2))
	ctx, cancel := context.WithCancel(t.Context())
	out := lines{got: make(chan string), done: ctx.Done()}
	code := make(chan int, 1)
	go func() {
		code <- spazioctl.Main(ctx, []string{"model", "--url", url, "--watch=1ms", "-o", "json"}, out, out)
	}()
	for range 3 {
		var got modelserver.Status
		if line := <-out.got; json.Unmarshal([]byte(line), &got) != nil || len(got.Models) != 1 {
			t.Errorf("printed %q", line)
		}
	}
	cancel()
	<-code
}

func TestModelFailures(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		line string
	}{
		{[]string{"--url", "http://" + transporttest.Address(t)}, 1, "connection refused"},
		{[]string{"--url", "elsewhere:9692"}, 2, "want an http or https URL"},
		{[]string{"--output", "yaml"}, 2, "neither table nor json"},
		{[]string{"--watch=-1s"}, 2, "--watch"},
		{[]string{"--timeout", "-1s"}, 2, "--timeout"},
		{[]string{"word"}, 2, "unknown command"},
	} {
		code, stdout, stderr := run(t.Context(), append([]string{"model"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stderr, tt.line) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%q: exit code %d, stderr %q, stdout %q; want code %d and a line with %q", tt.args, code, stderr, stdout, tt.code, tt.line)
		}
	}
}
