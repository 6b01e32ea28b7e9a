package agent_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// line formats a report for the golden trace.
func line(r agent.Report) string {
	cpu := r.Channels[0]
	var flags []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"saturated", r.Saturated}, {"churn", r.Flags.Churn},
		{"cost-unknown", r.Flags.CostUnknown}, {"warming-up", r.Flags.WarmingUp},
	} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	return strings.TrimRight(fmt.Sprintf("%5.1fs  #%-3d pods %d  avail %6.2f  k %6.2f  %-6s  cpu y %.2f C %.2f c %.3f  %s",
		r.SampledAt.Sub(start).Seconds(), r.Sequence, len(r.Pods), r.Avail, r.K, r.Limiting,
		cpu.Usage, cpu.Capacity, cpu.Cost, strings.Join(flags, " ")), " ")
}

// TestDecisions compares a shortened day of a node with a golden trace: cold start, pods with a startup
// spike, saturation, a fleet model, an empty node.
func TestDecisions(t *testing.T) {
	n := newNode(t, config())
	rng := rand.New(rand.NewPCG(17, 4))
	var trace strings.Builder
	seen := 0
	scene := func(name string, pods, samples int, cpu, memory float64) {
		fmt.Fprintf(&trace, "# %s\n", name)
		if pods != len(n.podsNow) {
			n.p.Churn(n.at)
			n.pods(pods)
			spike := min(cpu+.3, 1)
			n.samples(3, spike, memory)
			samples -= 3
		}
		for range samples {
			n.samples(1, min(max(cpu+.01*rng.NormFloat64(), 0), 1), memory)
		}
		for _, r := range n.reports[seen:] {
			fmt.Fprintln(&trace, line(r))
		}
		seen = len(n.reports)
	}
	scene("an idle node reports at once", 0, 20, .02, .05)
	scene("two pods start with a spike; each takes an eighth of the CPU", 2, 30, .27, .06)
	scene("two more", 4, 30, .52, .07)
	scene("a fifth pod fills the CPU: nothing is offered", 5, 30, 1, .08)
	scene("three end: room again within a second", 2, 30, .27, .06)
	f := fleet(t, [][]float64{{.5, .1}}, agent.Cost{Value: .6, SD: .05, Known: true}, agent.Cost{})
	if err := n.p.SetFleet(n.at, f); err != nil {
		t.Fatal(err)
	}
	scene("the fleet model has .6 cores per pod: the node is more certain of its own .5", 2, 20, .27, .06)
	scene("empty", 0, 20, .02, .05)

	golden(t, "decisions.golden", trace.String())
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Errorf("%s changed; if it should have, run go test -run %s -update (-want +got):\n%s", file, t.Name(), d)
	}
}
