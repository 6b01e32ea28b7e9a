package waking

import (
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
)

const (
	nodeCount = 20
	podCount  = 200
)

func TestReservationsKeepToTheSignal(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	var seen plugintest.Reservations
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.Observe})
	nodes := cluster.NewPlaceNodes(t, client, nodeCount, cluster.Places, hub.Addr().String())
	full := nodes[0]
	full.Set(cluster.Places, true)
	cluster.WaitSignals(t, hub, "fresh", nodeCount)

	log := cluster.Watch(t, client)
	begin := time.Now()
	cluster.Submit(t, client, cluster.Batch{Prefix: "batch", Pods: podCount, Startup: 50 * time.Millisecond, Work: time.Second})
	log.WaitSucceeded(t, podCount)
	t.Logf("%d pods of 1.05 s through %d places in %v", podCount, (nodeCount-1)*cluster.Places, time.Since(begin))

	seen.Check(t, podCount)
	cluster.CheckHeld(t, nodes)
	_, reserved := seen.Counts(full.Name())
	if most := full.MostHeld(); most > 0 || reserved > 0 {
		t.Errorf("saturated node %s: got %d pods", full.Name(), most)
	}
	cluster.WaitEmpty(t, hub)
}

func TestRestartedSchedulerKeepsToTheSignal(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	var seen plugintest.Reservations
	options := plugin.HubOptions{OnReserve: seen.Observe}
	hub, stop := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{}, options)
	address := hub.Addr().String()
	nodes := cluster.NewPlaceNodes(t, client, nodeCount, cluster.Places, address)
	cluster.WaitSignals(t, hub, "fresh", nodeCount)

	log := cluster.Watch(t, client)
	// A startup of a second keeps dozens of bound pods out of the reports while the scheduler changes.
	cluster.Submit(t, client, cluster.Batch{Prefix: "batch", Pods: podCount, Startup: time.Second, Work: 500 * time.Millisecond})
	cluster.Eventually(t, "a quarter is bound", func() (bool, any) {
		bound, _ := log.Counts()
		return bound >= podCount/4, bound
	})
	stop()
	hub, _ = cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{Listen: address}, options)
	log.WaitSucceeded(t, podCount)

	seen.Check(t, podCount)
	cluster.CheckHeld(t, nodes)
	cluster.WaitEmpty(t, hub)
}
