package plugin_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden records where the plugin places pods, and by what scores, on different nodes that report
// twice. A change that should not affect decisions must leave it as it is.
func TestGolden(t *testing.T) {
	const nodes, pods = 12, 50
	clock, rng := newClock(), rand.New(rand.NewPCG(14, 5))
	c := newCluster(t, setup{nodes: nodes, options: plugin.HubOptions{Now: clock.Now, Random: func() float64 { return 0 }}})
	client := c.dial()
	var streams []*stream
	var trace strings.Builder
	report := func() {
		for i, s := range streams {
			r := agent.Report{Avail: 6*rng.Float64() - .5, Allowance: 2 * rng.Float64(), K: 4 * rng.Float64(), Saturated: i == 5}
			s.settle(r)
			fmt.Fprintf(&trace, "%s avail %.10g k %.10g\n", s.node, r.Avail, r.K)
		}
	}
	for i := range nodes {
		streams = append(streams, c.open(client, nodeName(i)))
	}
	report()
	for i := range pods {
		if i == pods/2 {
			report()
		}
		pod := newPod(i, selective)
		state, feasible, status := c.attempt(pod, c.infos)
		if len(feasible) == 0 {
			fmt.Fprintf(&trace, "pod %d: %v\n", i, status.Reasons())
			continue
		}
		scores, err := c.scores(state, pod, feasible)
		if err != nil {
			t.Fatal(err)
		}
		best := slices.MaxFunc(slices.Sorted(maps.Keys(scores)), func(a, b string) int { return int(scores[a] - scores[b]) })
		fmt.Fprintf(&trace, "pod %d to %s of %v\n", i, best, scores)
		if status := c.Reserve(t.Context(), state, pod, best); !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
	}

	path := filepath.Join("testdata", "decisions.golden")
	if *update {
		if err := os.WriteFile(path, []byte(trace.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), trace.String()); d != "" {
		t.Errorf("decisions changed; if they should have, run go test -run Golden -update (-want +got):\n%s", d)
	}
}
