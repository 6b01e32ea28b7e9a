package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/web"
)

// TestNodes: the page describes each kind of node in a few words, for its tile, and in sentences.
func TestNodes(t *testing.T) {
	refused := &plugin.RefusedReport{At: second(-30), Reason: "avail is NaN"}
	for _, test := range []struct {
		name  string
		state plugin.NodeState
		node  web.Node
		lines string
	}{
		{
			"has room",
			plugin.NodeState{Node: "a", Signal: "fresh", Age: 340 * time.Millisecond, Avail: 4.25, Running: 12, InFlight: 1, Held: 1.5, Free: 1.75, Slots: 1, Limiting: "cpu", Reason: "admitted",
				Channels: []plugin.ChannelState{{Name: "cpu", Usage: .41, Capacity: .9, Cost: .034}, {Name: "memory", Usage: .5}}},
			web.Node{Name: "a", Signal: web.Fresh, Free: 1.75, Capacity: 16.25, Running: 12, InFlight: 1, Limiting: "cpu"},
			`It takes 1 pod more.
Its agent reported 300ms ago, and counts 12 pods.
It measured room for 4.2 more pods, by cpu; 1 pod on the way to it take their part; room for 1.5 pods is held: 1.8 are left.
cpu: 41 % in use, and 90 % without pods would be left; a pod takes 3 %.
memory: 50 % in use.`,
		},
		{
			"is full",
			plugin.NodeState{Node: "a", Signal: "fresh", Avail: -.01, Running: 2, Free: -.01, Limiting: "memory", Reason: "no room"},
			web.Node{Name: "a", Signal: web.Fresh, Free: -.01, Capacity: 2, Running: 2, Limiting: "memory", Reason: "no room, memory is shortest"},
			`It takes no pod: no room, memory is shortest.
Its agent reported 0s ago, and counts 2 pods.
It measured room for 0.0 more pods, by memory: 0.0 are left.`,
		},
		{
			"is saturated, with a quality flag",
			plugin.NodeState{Node: "a", Signal: "fresh", Saturated: true, Running: 1, Limiting: "cpu", Reason: "saturated", Overdue: 1,
				Flags: agent.Flags{WarmingUp: true, Churn: true, CostUnknown: true, NoPressure: true}},
			web.Node{Name: "a", Signal: web.Fresh, Capacity: 1, Running: 1, Limiting: "cpu", Saturated: true, Reason: "cpu is used up"},
			`It takes no pod: cpu is used up.
Its agent reported 0s ago, and counts 1 pod.
It measured room for 0.0 more pods, by cpu: 0.0 are left.
Its agent has not measured for long, and is careful.
Pods have just come or gone there, and the measurement has yet to follow.
What a pod takes there is not known yet.
Its kernel does not tell pressure.
1 pod came without measured room, as they had waited for too long.`,
		},
		{
			"has many pods starting",
			plugin.NodeState{Node: "a", Signal: "fresh", Avail: 9, InFlight: 7, Free: 2, Reason: "slow start"},
			web.Node{Name: "a", Signal: web.Fresh, Free: 2, Capacity: 9, InFlight: 7, Reason: "too many pods are still starting"},
			`It takes no pod: too many pods are still starting.
Its agent reported 0s ago, and counts 0 pods.
It measured room for 9.0 more pods; 7 pods on the way to it take their part: 2.0 are left.`,
		},
		{
			"is stale, and accepted",
			plugin.NodeState{Node: "a", Signal: "stale", Age: 31400 * time.Millisecond, Avail: 3, Running: 2, Free: 3, Slots: reserve.MaxSlots, Reason: "admitted"},
			web.Node{Name: "a", Signal: web.Stale, Free: 3, Capacity: 5, Running: 2, Reason: "no report for 31s", ByRequests: true},
			`What room it has is not known: no report for 31s. It takes pods as if there were no measurement, by their requests alone.
Its agent's last report is of 11:59:28, 31s ago: it does not run, or does not reach the scheduler.
It measured room for 3.0 more pods: 3.0 are left.`,
		},
		{
			"is stale, and refused",
			plugin.NodeState{Node: "a", Signal: "stale", Age: time.Minute, Running: 2, Reason: "stale", Refused: refused},
			web.Node{Name: "a", Signal: web.Stale, Capacity: 2, Running: 2, Reason: "no report for 1m0s"},
			`It takes no pod: no report for 1m0s.
Its agent's last report is of 11:59:00, 1m0s ago: it does not run, or does not reach the scheduler.
At 11:59:30 its agent sent a report that does not count: avail is NaN.
It measured room for 0.0 more pods: 0.0 are left.`,
		},
		{
			"is stale, with pods starting",
			plugin.NodeState{Node: "a", Signal: "stale", Age: 86 * time.Second, Avail: 3, Free: 2, InFlight: 1, Reason: "slow start"},
			web.Node{Name: "a", Signal: web.Stale, Free: 2, Capacity: 3, InFlight: 1, Reason: "too many pods are still starting, and no report for 1m26s"},
			`It takes no pod: too many pods are still starting, and no report for 1m26s.
Its agent's last report is of 11:58:34, 1m26s ago: it does not run, or does not reach the scheduler.
It measured room for 3.0 more pods; 1 pod on the way to it take their part: 2.0 are left.`,
		},
		{
			"never reported",
			plugin.NodeState{Node: "a", Signal: "missing", InFlight: 2, Slots: reserve.MaxSlots, Reason: "admitted"},
			web.Node{Name: "a", InFlight: 2, Reason: "no agent has reported", ByRequests: true},
			`What room it has is not known: no agent has reported. It takes pods as if there were no measurement, by their requests alone.
No report of it has come since this scheduler began: its agent does not run, or does not reach the scheduler.
2 pods are bound to it and not yet counted by any report.`,
		},
		{
			"has an agent with invalid reports",
			plugin.NodeState{Node: "a", Signal: "missing", Reason: "stale", Refused: refused},
			web.Node{Name: "a", Reason: "its agent's report is refused"},
			`It takes no pod: its agent's report is refused.
No report of it has come since this scheduler began: its agent does not run, or does not reach the scheduler.
At 11:59:30 its agent sent a report that does not count: avail is NaN.`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.node, page.Node(test.state)); diff != "" {
				t.Errorf("node (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(strings.Split(test.lines, "\n"), page.Explain(test.state, noon)); diff != "" {
				t.Errorf("node (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTimeline: the steps are the plugin's; a step of unknown time has none.
func TestTimeline(t *testing.T) {
	at := second(3)
	got := page.Timeline(plugin.Explanation{
		Pod: "shop/cart", Profile: "spazio", Ours: true, State: "counted", Node: "n",
		Steps: []plugin.Step{{Name: "bound", At: &at, Node: "n"}, {Name: "listed", Node: "n"}},
	})
	want := web.Timeline{Profile: "spazio", Node: "n", Steps: []web.Step{{Name: "bound", At: at, Detail: "node n"}, {Name: "listed", Detail: "node n"}},
		Lines: []string{"pod shop/cart () of profile spazio is counted on node n", "no scheduling attempt is remembered"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
