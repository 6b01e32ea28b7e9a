package page_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/reserve"
)

// shown returns nodes of every kind.
func shown() []plugin.NodeState {
	cores, bytes := 1.25, 12.5*(1<<30)
	return []plugin.NodeState{
		{Node: "a", Signal: "fresh", Age: 340 * time.Millisecond, Avail: 7.25, Running: 12, K: 3, Limiting: "cpu", InFlight: 2, Free: 5.25, Slots: 5, Reason: "admitted",
			Cores: &cores, Bytes: &bytes, Channels: []plugin.ChannelState{{Name: "cpu", Usage: .41, Capacity: .9, Cost: .034}, {Name: "memory", Usage: .5}}},
		{Node: "b", Signal: "stale", Age: 20500 * time.Millisecond, Avail: .5, Running: 30, K: -.01, Limiting: "memory", Free: .5, Reason: "no room",
			Flags: agent.Flags{WarmingUp: true, Churn: true, CostUnknown: true, NoPressure: true}},
		{Node: "c", Signal: "missing", InFlight: 1, Reason: "admitted", Slots: reserve.MaxSlots},
	}
}

// lines returns a table's lines, with cells separated by bars.
func lines(t page.Table) string {
	all := []string{t.Title, strings.Join(t.Header, "|")}
	for _, row := range t.Rows {
		all = append(all, strings.Join(row, "|"))
	}
	right := make([]string, len(t.Header))
	for i := range right {
		if i < len(t.Right) && t.Right[i] {
			right[i] = ">"
		}
	}
	return strings.Join(append(all, strings.Join(right, "|")), "\n")
}

func TestStatusTable(t *testing.T) {
	s := plugin.Status{Nodes: shown(), Ledger: reserve.Census{Assumed: 1, Bound: 2, Confirmed: 42}, Waiting: 1}
	if got, want := page.StatusText(s), "3 nodes; 1 pod waiting, 3 in flight (1 assumed, 2 bound), 42 counted"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := `
NODE|SIGNAL|AGE|AVAIL|INFLIGHT|FREE|SLOTS|CORES|GIB|PODS|K|SHORTEST|VERDICT|DOUBTS
a|fresh|300ms|7.2|2.0|5.2|5|1.2|12.5|12|3.0|cpu|admitted|
b|stale|21s|0.5|0.0|0.5|0|-|-|30|0.0|memory|no room|warming-up,churn,cost-unknown,no-pressure
c|missing|-|-|1.0|-|any|-|-|-|-|-|admitted|
||>|>|>|>|>|>|>|>|>|||`
	if diff := cmp.Diff(want, lines(page.StatusTable(s))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHeldRoomIsShown if there is any, and so is room granted in advance.
func TestHeldRoomIsShown(t *testing.T) {
	s := plugin.Status{Nodes: shown()[:2], Ledger: reserve.Census{Held: 4}}
	s.Nodes[1].Held = 3.5
	if got, want := page.StatusText(s), "2 nodes; 0 pods waiting, 0 in flight (0 assumed, 0 bound), 0 counted, room held by 4 placeholders"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := `
NODE|SIGNAL|AGE|AVAIL|INFLIGHT|HELD|FREE|SLOTS|CORES|GIB|PODS|K|SHORTEST|VERDICT|DOUBTS
a|fresh|300ms|7.2|2.0|0.0|5.2|5|1.2|12.5|12|3.0|cpu|admitted|
b|stale|21s|0.5|0.0|3.5|0.5|0|-|-|30|0.0|memory|no room|warming-up,churn,cost-unknown,no-pressure
||>|>|>|>|>|>|>|>|>|>|||`
	if diff := cmp.Diff(want, lines(page.StatusTable(s))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Nodes[1].Allowance = .25
	e := plugin.Explanation{Nodes: []plugin.NodeVerdict{{NodeState: s.Nodes[1]}}}
	want = `
NODE|SCORE|AVAIL|INFLIGHT|HELD|FREE|AHEAD|AGE|VERDICT|TAKES|SHORTEST|CHANNELS|DOUBTS
b|-|0.5|0.0|3.5|0.5|0.2|21s|no room|-|memory|-|warming-up,churn,cost-unknown,no-pressure
|>|>|>|>|>|>|>|||||`
	if diff := cmp.Diff(want, lines(page.VerdictTable(e))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExplanationTable(t *testing.T) {
	nodes, score := shown(), int64(100)
	e := plugin.Explanation{Nodes: []plugin.NodeVerdict{
		{NodeState: nodes[0], Score: &score, ByProfile: "no memory", Takes: map[string]float64{"cpu": .5, "memory": 3, "network": .125}, Binding: "memory"},
		{NodeState: nodes[1]},
		{NodeState: nodes[2]},
	}}
	want := `
NODE|SCORE|AVAIL|INFLIGHT|FREE|AGE|VERDICT|TAKES|SHORTEST|CHANNELS|DOUBTS
a|100|7.2|2.0|5.2|300ms|admitted (no memory)|memory 3, cpu 0.5, network 0.12|cpu|cpu 41%, C 90%, c 3.4%; memory 50%, C 0%, c 0.0%|
b|-|0.5|0.0|0.5|21s|no room|-|memory|-|warming-up,churn,cost-unknown,no-pressure
c|-|-|1.0|-|-|admitted|-|-|-|
|>|>|>|>|>|||||`
	if diff := cmp.Diff(want, lines(page.VerdictTable(e))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// With profiles on, the tables show how many pods have a known demand, and its source.
func TestKnownPodsAreShown(t *testing.T) {
	nodes, known := shown(), 9
	nodes[0].Known = &known
	want := `
NODE|SIGNAL|AGE|AVAIL|INFLIGHT|FREE|SLOTS|CORES|GIB|PODS|KNOWN|K|SHORTEST|VERDICT|DOUBTS
a|fresh|300ms|7.2|2.0|5.2|5|1.2|12.5|12|9|3.0|cpu|admitted|
b|stale|21s|0.5|0.0|0.5|0|-|-|30|-|0.0|memory|no room|warming-up,churn,cost-unknown,no-pressure
c|missing|-|-|1.0|-|any|-|-|-|-|-|-|admitted|
||>|>|>|>|>|>|>|>|>|>|||`
	if diff := cmp.Diff(want, lines(page.StatusTable(plugin.Status{Nodes: nodes}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// names returns the names of nodes, in their order.
func names(nodes []plugin.NodeState) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Node)
	}
	return strings.Join(all, " ")
}

func TestChoice(t *testing.T) {
	nodes := []plugin.NodeState{
		{Node: "d", Signal: "missing", Avail: 9, Free: 1},
		{Node: "c", Signal: "fresh", Avail: 8, Free: 2, InFlight: 1, Age: 2, Limiting: "cpu"},
		{Node: "b", Signal: "stale", Avail: 8, Free: 2, InFlight: 1, Age: 9, Limiting: "cpu"},
		{Node: "a", Signal: "fresh", Avail: 7, Free: 3, InFlight: 5, Age: 1, Limiting: "memory"},
	}
	given := names(nodes)
	for _, test := range []struct {
		choice page.Choice
		want   string
	}{
		{page.Choice{}, "a b c d"},
		{page.Choice{Order: "free"}, "a b c d"},
		{page.Choice{Order: "avail"}, "d b c a"},
		{page.Choice{Order: "inflight"}, "a b c d"},
		{page.Choice{Order: "age"}, "d b c a"},
		{page.Choice{Order: "name"}, "a b c d"},
		{page.Choice{Order: "avail", Limit: 2}, "d b"},
		{page.Choice{Limit: 4}, "a b c d"},
		{page.Choice{Limiting: "cpu"}, "b c"},
		{page.Choice{Name: regexp.MustCompile("[ad]")}, "a d"},
		{page.Choice{Name: regexp.MustCompile("[ad]"), Limiting: "cpu"}, ""},
	} {
		got, err := test.choice.States(nodes)
		if err != nil || names(got) != test.want {
			t.Errorf("%+v: %s, %v; want %s", test.choice, names(got), err, test.want)
		}
	}
	if names(nodes) != given {
		t.Errorf("the argument was modified: %s", names(nodes))
	}
}

// Nodes that admit the pod come first, best first, in any input order.
func TestChoiceOfVerdicts(t *testing.T) {
	score := func(s int64) *int64 { return &s }
	nodes := []plugin.NodeVerdict{
		{NodeState: plugin.NodeState{Node: "e"}},
		{NodeState: plugin.NodeState{Node: "d", Free: 2}},
		{NodeState: plugin.NodeState{Node: "c", Free: 9}, Score: score(0)},
		{NodeState: plugin.NodeState{Node: "b"}, Score: score(100)},
		{NodeState: plugin.NodeState{Node: "a"}},
	}
	for _, test := range []struct {
		choice page.Choice
		want   string
	}{
		{page.Choice{}, "b c d a e"},
		{page.Choice{Order: "name", Limit: 3}, "b c d"},
		{page.Choice{Name: regexp.MustCompile("[ae]")}, "a e"},
	} {
		got, err := test.choice.Verdicts(nodes)
		var states []plugin.NodeState
		for _, n := range got {
			states = append(states, n.NodeState)
		}
		if err != nil || names(states) != test.want {
			t.Errorf("%+v: %s, %v; want %s", test.choice, names(states), err, test.want)
		}
	}
}

func TestChoiceRefuses(t *testing.T) {
	for name, c := range map[string]page.Choice{"Order": {Order: "size"}, "Limit": {Limit: -1}} {
		_, states := c.States(shown())
		_, verdicts := c.Verdicts(nil)
		for _, err := range []error{c.Validate(), states, verdicts} {
			var bad *field.Error
			if !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, plugin.ErrInvalid) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

// TestStepTable: times of the API have no fractions, and an unknown time is a dash.
func TestStepTable(t *testing.T) {
	at := func(ms int) *time.Time {
		x := time.Date(2026, 1, 1, 12, 0, 0, ms*1e6, time.UTC)
		return &x
	}
	e := plugin.Explanation{Steps: []plugin.Step{
		{Name: "created", At: at(0), WholeSeconds: true},
		{Name: "tried", At: at(250), Tries: &plugin.Tries{Count: 12, Last: *at(4500), Lost: 1, Returned: 2, Refusals: []plugin.RefusalClass{{Reason: "no room", Tries: 11, Nodes: 1}}}},
		{Name: "reserved", At: at(4501), Node: "a"},
		{Name: "listed", Node: "a"},
		{Name: "ended", At: at(65000), WholeSeconds: true, Phase: "Succeeded"},
	}}
	want := `
STEP|AT|AFTER|DETAIL
created|2026-01-01T12:00:00Z|0s|
tried|2026-01-01T12:00:00.250Z|250ms|12 times, last at 2026-01-01T12:00:04.500Z; no room in 11 (1 node); 1 found no room when it was to be reserved; 2 could not be bound
reserved|2026-01-01T12:00:04.501Z|4.501s|node a
listed|-|-|node a
ended|2026-01-01T12:01:05Z|1m5s|Succeeded
||>|`
	if diff := cmp.Diff(want, lines(page.StepTable(e))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	once := page.Timeline(plugin.Explanation{Steps: []plugin.Step{{Name: "tried", Tries: &plugin.Tries{Count: 1}}}})
	if got := once.Steps[0].Detail; got != "once" {
		t.Errorf("one attempt: got %q", got)
	}
}
