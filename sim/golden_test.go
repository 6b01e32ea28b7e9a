package sim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGoldenProfiles records the fate of each pod of very different workloads under profiles.
func TestGoldenProfiles(t *testing.T) {
	var trace strings.Builder
	for _, c := range []sim.Config{
		{Nodes: 3, Scheduler: counting(sim.Profiles{}), Seed: 14},
		{Sizes: []int{2, 4, 16}, Scheduler: counting(sim.Profiles{Known: 1}), Seed: 3},
		{Nodes: 3, Scheduler: counting(sim.Profiles{Known: 1, Scalar: true}), Seed: 14},
	} {
		c.Node.Overcommit = node.Kill
		write(&trace, run(t, c, apart(14, 120)))
	}
	golden(t, "profiles.golden", trace.String())
}

// TestGolden records the fate of each pod of a mixed workload under Spazio, in a small cluster and
// on nodes of different sizes. A change that is not meant to affect decisions must leave it
// unchanged.
func TestGolden(t *testing.T) {
	var trace strings.Builder
	for _, c := range []sim.Config{
		{Nodes: 3, Scheduler: sim.Spazio{}, Seed: 14},
		{Sizes: []int{2, 4, 16}, Scheduler: sim.Spazio{NodeReserve: .2}, Seed: 3},
	} {
		c.Node.Overcommit = node.Kill
		r := run(t, c, mixed(14, 80))
		write(&trace, r)
	}

	golden(t, "decisions.golden", trace.String())
}

// TestGoldenKubelet records the fate of each pod, under schedulers that overload nodes and one that
// does not, on nodes with a kubelet and at the default latency.
func TestGoldenKubelet(t *testing.T) {
	var trace strings.Builder
	for _, c := range []sim.Config{
		{Nodes: 2, Scheduler: sim.Default{}, Seed: 11},
		{Nodes: 2, Scheduler: sim.Spazio{}, Seed: 11},
		{Sizes: []int{2, 4, 4}, Scheduler: counting(sim.Profiles{}), Seed: 11},
	} {
		c.Latency = .25
		r := run(t, c, crammed(11, 120))
		write(&trace, r)
		for i, record := range r.Records {
			if record.Evictions > 0 || record.GaveUp {
				fmt.Fprintf(&trace, "%d: evictions %d gave up %v\n", i, record.Evictions, record.GaveUp)
			}
		}
	}
	golden(t, "kubelet.golden", trace.String())
}

// write writes the fate of each pod.
func write(trace *strings.Builder, r sim.Result) {
	for i, record := range r.Records {
		fmt.Fprintf(trace, "%d: node %d bound %.9g running %.9g done %.9g attempts %d kills %d\n",
			i, record.Node, record.Bound, record.Running, record.Done, record.Attempts, record.Kills)
	}
	fmt.Fprintf(trace, "end %.9g waited %.9g over %.9g most %d\n", r.End, r.Waited, r.Overcommitted, r.Most)
}

// golden compares a trace with the file that keeps it.
func golden(t *testing.T, name, trace string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(trace), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), trace); d != "" {
		t.Errorf("decisions changed; if they should have, run go test -run Golden -update (-want +got):\n%s", d)
	}
}
