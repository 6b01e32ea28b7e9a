package page_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
)

func TestExplanationText(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	late := at.Add(10 * time.Minute)
	for name, test := range map[string]struct {
		e    plugin.Explanation
		want string
	}{
		"nothing": {plugin.Explanation{Pod: "shop/cart", UID: "u", Ours: true, State: "new"}, `
pod shop/cart (u) of profile - is new
no scheduling attempt is remembered`},
		"mistyped": {plugin.Explanation{Pod: "shop/cart", UID: "u", Profile: "spatzio", State: "exempt"}, `
pod shop/cart (u) is another scheduler's
its schedulerName is spatzio: Spazio does not place it
no scheduling attempt is remembered`},
		"refused": {plugin.Explanation{Pod: "shop/cart", UID: "u", Profile: "spazio", Ours: true, State: "waiting",
			RoomSince: &at, Unscheduled: "0/4 nodes are available",
			Attempt: &plugin.Attempt{At: at, Nodes: 4, WithRoom: 1, Refusals: []plugin.Refusal{{Nodes: 2, Message: "saturated"}, {Nodes: 1, Message: "stale"}}}}, `
pod shop/cart (u) of profile spazio is waiting
it has waited for measured room since 2026-05-04T03:02:01Z
last attempt at 2026-05-04T03:02:01Z: 1 of 4 nodes admitted it, 2 saturated, 1 stale
the scheduler with all its plugins: 0/4 nodes are available`},
		"overdue": {plugin.Explanation{Pod: "shop/cart", UID: "u", Profile: "spazio", Ours: true, State: "waiting",
			RoomSince: &at, Overdue: true, OverdueSince: &late}, `
pod shop/cart (u) of profile spazio is waiting
it has waited for measured room since 2026-05-04T03:02:01Z and is overdue since 2026-05-04T03:12:01Z: a node without room may take it where memory is not full
no scheduling attempt is remembered`},
		"placed": {plugin.Explanation{Pod: "shop/cart", UID: "u", Profile: "spazio", Ours: true, State: "in flight", Node: "worker-1",
			Overdue: true, Attempt: &plugin.Attempt{At: at, Nodes: 1, Reserved: "worker-1", Avail: new(7.25), InFlight: 2},
			Workload: &plugin.WorkloadState{Workload: "shop/Deployment/cart", Source: "typical"}}, `
pod shop/cart (u) of profile spazio is in flight on node worker-1
its workload is shop/Deployment/cart, without a usable profile (typical): it counts as a typical pod
it was overdue: its node took it without measured room
last attempt at 2026-05-04T03:02:01Z: 0 of 1 node admitted it
reserved on worker-1, which had 7.2 available and 2.0 in flight`},
		"placed on a silent node": {plugin.Explanation{Pod: "shop/cart", UID: "u", Profile: "spazio", Ours: true, State: "in flight", Node: "worker-1",
			Attempt: &plugin.Attempt{At: at, Nodes: 1, WithRoom: 1, Reserved: "worker-1"}}, `
pod shop/cart (u) of profile spazio is in flight on node worker-1
last attempt at 2026-05-04T03:02:01Z: 1 of 1 node admitted it
reserved on worker-1, which had an unknown room and 0.0 in flight`},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), page.ExplanationText(test.e)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	known := plugin.Explanation{Workload: &plugin.WorkloadState{
		Workload: "shop/Deployment/cart", Source: "profile",
		CPU:    plugin.ShareState{Amount: .25, SD: .05, Confidence: .9375},
		Memory: plugin.ShareState{Amount: 3 << 30, SD: 1 << 29, Confidence: 1},
	}}
	if text, want := page.ExplanationText(known), "its workload shop/Deployment/cart takes 0.25 ± 0.05 cores (confidence 0.94) and 3 ± 0.5 GiB (1)"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

func TestTextShowsWhatDecides(t *testing.T) {
	for source, want := range map[string]string{
		"profile":      "; decisions use that",
		"contradicted": "whose pods took other amounts than its profile predicts: it counts as a typical pod",
	} {
		e := plugin.Explanation{Workload: &plugin.WorkloadState{Workload: "shop/Deployment/cart", Source: source, Decides: true}}
		if text := page.ExplanationText(e); !strings.Contains(text, want) || strings.Contains(text, "observed") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct{ reason, byProfile, want string }{
		{"admitted", "", "admitted"}, {"admitted", "admitted", "admitted"}, {"no room", "admitted", "no room (admitted)"},
	} {
		n := plugin.NodeVerdict{NodeState: plugin.NodeState{Reason: test.reason}, ByProfile: test.byProfile}
		table := page.VerdictTable(plugin.Explanation{Nodes: []plugin.NodeVerdict{n}})
		if got := table.Rows[0][slices.Index(table.Header, "VERDICT")]; got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
