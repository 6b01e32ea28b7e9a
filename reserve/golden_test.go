package reserve_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/reserve"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden records the decisions for random pods on four nodes with late reports: verdicts, slots,
// scores and pods in flight. A change that should not affect decisions must leave it as it is.
func TestGolden(t *testing.T) {
	ledger, err := reserve.NewLedger(0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(14, 9))
	nodes := make([]*goldenNode, 4)
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		nodes[i] = &goldenNode{name: name, account: ledger.Account(name)}
	}
	rules, ranking := reserve.Rules{}.WithDefaults(), reserve.Ranking{Blend: .3, TieTolerance: .5}
	var trace strings.Builder
	now := epoch
	for i := range 200 {
		now = now.Add(time.Duration(rng.IntN(900)) * time.Millisecond)
		n := nodes[rng.IntN(len(nodes))]
		switch rng.IntN(6) {
		case 0, 1:
			n.signal = reserve.Signal{
				Avail: 8*rng.Float64() - 1, Allowance: 3 * rng.Float64(), K: 5 * rng.Float64(),
				Pods: len(n.bound), Saturated: rng.IntN(8) == 0,
			}
			absorbed := ledger.Confirm(n.name, 1, n.bound, now)
			fmt.Fprintf(&trace, "%s reports %.10g, absorbs %d\n", n.name, n.signal.Avail, len(absorbed))
		case 2:
			if len(n.bound) > 0 {
				where, flying := ledger.Delete(n.bound[0], now)
				n.bound = n.bound[1:]
				fmt.Fprintf(&trace, "%s ends one on %q, in flight %v\n", n.name, where, flying)
			}
		default:
			pod, demand := reserve.PodKey(i+1), []float64{1, 1, .5, 2}[rng.IntN(4)]
			signal, flight := n.account.Cap(n.signal, now), n.account.Flight()
			verdict := reserve.Fits(signal, flight, pods(demand), rules)
			free := reserve.Free(signal.Avail, flight)
			fmt.Fprintf(&trace, "%s pod %d of %g: %v, slots %d, score %.10g, flight %+v\n", n.name, pod, demand, verdict,
				reserve.Slots(signal, flight, pods(demand), rules), reserve.Score(free, signal.K, math.NaN(), rng.Float64(), ranking),
				struct{ Demand, Stalled, Overdue float64 }{flight.Demand, flight.Stalled, flight.Late})
			if verdict != reserve.Admitted {
				continue
			}
			if err := ledger.Reserve(n.name, pod, pods(demand), now); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(5) == 0 {
				ledger.Unreserve(n.name, pod)
				continue
			}
			ledger.MarkBound(pod)
			n.bound = append(n.bound, pod)
		}
	}
	census := ledger.Census()
	fmt.Fprintf(&trace, "%+v\n", struct{ Assumed, Bound, Absorbed, Unclaimed int }{census.Assumed, census.Bound, census.Confirmed, census.Unclaimed})

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

// goldenNode is a node with its bound pods, which its reports list.
type goldenNode struct {
	name    string
	account *reserve.Account
	signal  reserve.Signal
	bound   []reserve.PodKey
}
