package plugin_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
)

// Room that rests on an assumed cost is marked in every output, and no share of a node exceeds the
// whole, even if older agents report one.
func TestAssumedRoomIsMarked(t *testing.T) {
	c := newCluster(t, setup{nodes: 2})
	cpu := agent.ChannelReport{Name: agent.CPU, Usage: .1, Capacity: 1.07, Cost: .05, CostSD: .01}
	memory := agent.ChannelReport{Name: agent.Memory, Usage: .2, Capacity: .8, Cost: .25}
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 2.3, Limiting: agent.Memory, Channels: []agent.ChannelReport{cpu, memory}})
	c.open(c.dial(), nodeName(1)).settle(agent.Report{Avail: 2.3, Limiting: agent.CPU, Channels: []agent.ChannelReport{cpu, memory}})
	nodes := c.hub.Snapshot()
	if !nodes[0].Assumed || nodes[1].Assumed || nodes[0].Channels[0].Assumed || !nodes[0].Channels[1].Assumed {
		t.Errorf("got assumed %+v and %+v", nodes[0], nodes[1])
	}
	if capacity := nodes[0].Channels[0].Capacity; capacity > 1 {
		t.Errorf("got %g of the CPU without pods", capacity)
	}
	rows := page.StatusTable(plugin.Status{Nodes: nodes}).Rows
	if got := []string{rows[0][len(rows[0])-1], rows[1][len(rows[1])-1]}; !slices.Equal(got, []string{"assumed", ""}) {
		t.Errorf("quality flags of spazio top: got %q", got)
	}
	row := page.VerdictTable(plugin.Explanation{Nodes: []plugin.NodeVerdict{{NodeState: nodes[0]}}}).Rows[0]
	table := strings.Join(row, "|")
	if !strings.Contains(table, "cpu 10%, C 100%, c 5.0%; memory 20%, C 80%, c 25.0% assumed|assumed") {
		t.Errorf("spazio explain: got\n%s", table)
	}
	words := strings.Join(page.Explain(nodes[0], time.Now()), "\n")
	for _, part := range []string{"It assumes room for 2.3 more pods", "a pod takes 5 %", "a pod is assumed to take 25 %"} {
		if !strings.Contains(words, part) {
			t.Errorf("no %q in\n%s", part, words)
		}
	}
	if shown := page.Node(nodes[0]); shown.Limiting != "memory (assumed)" {
		t.Errorf("page: got %q as the shortest", shown.Limiting)
	}
}
