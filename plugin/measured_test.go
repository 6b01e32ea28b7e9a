package plugin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// channels returns those of a node of 10 cores and 1000 bytes, of which shares are in use, and on which
// a pod takes two cores and 50 bytes.
func channels(cpu, memory float64) []agent.ChannelReport {
	return []agent.ChannelReport{
		{Name: agent.CPU, Usage: cpu / 2, Capacity: 1, Cost: 0.1, CostSD: 0.01, Unit: 0.05, Most: 1},
		{Name: agent.Memory, Usage: memory, Capacity: 1, Cost: 0.05, CostSD: 0.01, Unit: 0.001, Most: 1},
	}
}

// TestMeasuredNodes: figures that were not measured, or not recently, are not reported as measured.
func TestMeasuredNodes(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 5, options: plugin.HubOptions{Now: clock.Now}})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 4, Channels: channels(0.8, 0.5)})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 0, Channels: channels(0.8, 0.5), Flags: agent.Flags{NoPressure: true}})
	c.open(client, nodeName(2)).settle(agent.Report{Avail: 4, Channels: channels(0.8, 0.5)[:1]})
	c.open(client, nodeName(3)).settle(agent.Report{Avail: 4})
	want := []plugin.MeasuredNode{
		{Name: nodeName(0), HasReported: true, IsMeasured: true, CPU: 0.8, Memory: 0.5, Signal: reserve.Signal{Avail: 4}},
		{Name: nodeName(1), HasReported: true, Refuses: true, IsMeasured: true, CPU: 0.4, Memory: 0.5},
		{Name: nodeName(2), HasReported: true, CPU: 0.8, Signal: reserve.Signal{Avail: 4}},
		{Name: nodeName(3), HasReported: true, Signal: reserve.Signal{Avail: 4}},
		{Name: nodeName(4)},
	}
	got := c.hub.MeasuredNodes()
	for i := range got {
		if !got[i].IsMeasured {
			got[i].CPU, want[i].CPU = 0, 0 // undefined here
		}
		if !got[i].HasReported {
			got[i].Refuses = false // decided by its policy
		}
		got[i].Signal = reserve.Signal{Avail: got[i].Signal.Avail} // the rest is the ledger's, tested there
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.pass(clock, time.Minute)
	for _, n := range c.hub.MeasuredNodes() {
		if n.IsMeasured {
			t.Errorf("a minute later: got %+v", n)
		}
	}
}

// TestWaitingForRoom: pods that only the plugin refuses wait for room, and count with what nodes
// measure of a pod while their workload is unknown. A pod that other plugins refuse does not wait for
// room.
func TestWaitingForRoom(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now, Buffer: func(p *v1.Pod) string { return "system/of-" + p.Name }}})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 0, Channels: channels(0.8, 0.5)})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 0, Channels: channels(0.8, 0.5)})
	pod := newPod(0, ours)
	c.arrive(pod)
	if got := c.hub.WaitingForRoom(); len(got) > 0 {
		t.Errorf("before an attempt: got %+v", got)
	}
	began := clock.Now()
	if _, feasible, _ := c.attempt(pod, c.infos); len(feasible) > 0 {
		t.Fatal("found room")
	}
	got := c.hub.WaitingForRoom()
	if len(got) != 1 || got[0].Pod.Name != pod.Name || !got[0].Since.Equal(began) || got[0].Workload.Namespace != "default" {
		t.Fatalf("after an attempt: got %+v", got)
	}
	if diff := cmp.Diff([]float64{2, 50}, []float64{got[0].Cores, got[0].Bytes}); diff != "" {
		t.Errorf("cores and bytes (-want +got):\n%s", diff)
	}
	e, err := c.hub.Explain("default/" + pod.Name)
	if err != nil || e.Buffer != "system/of-"+pod.Name {
		t.Errorf("explained: %q, %v", e.Buffer, err)
	}
}
