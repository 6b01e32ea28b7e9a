package plugin_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
)

// TestNodeEvents: nodes get an event when they fall silent and when they report again; a node that
// never reported gets none.
func TestNodeEvents(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 3, options: plugin.WatchingSilence(plugin.HubOptions{Now: clock.Now, Leading: func() bool { return true }})})
	client := c.dial()
	first, second := c.open(client, nodeName(0)), c.open(client, nodeName(1))
	first.settle(agent.Report{Avail: 4})
	second.settle(agent.Report{Avail: 4})
	for range 10 { // in steps too short for a standstill
		clock.advance(31 * time.Second)
		second.settle(agent.Report{Avail: 4})
	}
	if got := <-c.events; !strings.HasPrefix(got, "Warning SpazioSignalLost no report of its agent for 5m") || !strings.HasSuffix(got, "1 of 3 nodes are silent") {
		t.Errorf("got event %q", got)
	}
	for range 25 {
		clock.advance(31 * time.Second)
		first.settle(agent.Report{Avail: 4})
		second.settle(agent.Report{Avail: 4})
	}
	if got := <-c.events; !strings.HasPrefix(got, "Normal SpazioSignalBack its agent reports again; it was silent from 20") {
		t.Errorf("got event %q", got)
	}
	select {
	case got := <-c.events:
		t.Errorf("got further event %q", got)
	default:
	}
}

// TestOnlyTheLeaderSendsEvents, and a new leader does not repeat earlier events.
func TestOnlyTheLeaderSendsEvents(t *testing.T) {
	clock := newClock()
	var leads atomic.Bool
	var looked atomic.Int64
	leading := func() bool { looked.Add(1); return leads.Load() }
	c := newCluster(t, setup{nodes: 2, args: plugin.SpazioArgs{SignalLostAfter: metav1.Duration{Duration: time.Minute}},
		options: plugin.WatchingSilence(plugin.HubOptions{Now: clock.Now, Leading: leading})})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 4})
	second := c.open(client, nodeName(1))
	second.settle(agent.Report{Avail: 4})
	for range 3 {
		clock.advance(30 * time.Second)
		second.settle(agent.Report{Avail: 4})
	}
	c.eventually("a standby has an event to send", func() bool { return looked.Load() == 1 })
	leads.Store(true)
	for range 3 {
		clock.advance(31 * time.Second)
	}
	// It sends the other node's event, and not the first one's again.
	if got := <-c.events; !strings.Contains(got, "2 of 2 nodes are silent") {
		t.Errorf("got event %q", got)
	}
	select {
	case got := <-c.events:
		t.Errorf("got further event %q", got)
	default:
	}
}

// leadsAlone is the answer of a process without leader election.
var leadsAlone = plugin.Leading()

// TestLeading: a process in client-go's leader election leads once elected, and a process without
// election always.
func TestLeading(t *testing.T) {
	if !leadsAlone {
		t.Error("got not leading, without an election")
	}
	client, began := fake.NewClientset(), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "scheduler"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
		},
		LeaseDuration: time.Hour, RenewDeadline: time.Minute, RetryPeriod: time.Second, Name: "kube-scheduler",
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(began) }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if plugin.Leading() {
		t.Error("leads before it is elected")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); elector.Run(ctx) }()
	<-began
	if !plugin.Leading() {
		t.Error("got not leading, although elected")
	}
	stop()
	<-ended
}
