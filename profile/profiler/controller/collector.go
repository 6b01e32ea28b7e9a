package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/usageserver"
)

// collector shows what a store and its server count.
type collector struct {
	store  *profiler.Store
	server *usageserver.Server
}

// Collector returns the metrics of a store and of the server that feeds it.
func Collector(store *profiler.Store, server *usageserver.Server) prometheus.Collector {
	return collector{store, server}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("spazio_profiler_"+name, help, labels, nil)
}

var (
	windowsDesc     = describe("windows_total", "Windows of pods by what became of them; one that waited is counted again in the end.", "result")
	batchesDesc     = describe("batches_total", "Batches of windows by what became of them.", "result")
	nodesDesc       = describe("nodes", "Nodes whose agents were heard within five minutes.")
	workloadsDesc   = describe("workloads", "Workloads that are known.")
	podsDesc        = describe("pods", "Pods that are known.")
	waitingDesc     = describe("waiting_windows", "Windows that wait for their pod.")
	unpublishedDesc = describe("unpublished_workloads", "Workloads that wait to be published.")
	restartsDesc    = describe("evidence_restarts_total", "Workloads whose pods contradicted what was known of them.")
	droppedDesc     = describe("dropped_workloads_total", "Workloads dropped, to make room or because nothing was seen of them.", "reason")
)

// silentAfter is some minutes: agents have something to say every minute.
const silentAfter = 5 * time.Minute

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{windowsDesc, batchesDesc, nodesDesc, workloadsDesc, podsDesc, waitingDesc, unpublishedDesc, restartsDesc, droppedDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n int) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	s, heard := c.store.Stats(), c.server.Stats()
	s.Windows[profiler.Refused] += heard.RefusedWindows
	for i, n := range s.Windows {
		count(windowsDesc, n, profiler.Result(i).String())
	}
	count(batchesDesc, heard.Batches, "accepted")
	count(batchesDesc, heard.Refused, "refused")
	count(batchesDesc, heard.Foreign, "foreign")
	count(restartsDesc, s.Restarts)
	count(droppedDesc, s.Evicted, "evicted")
	count(droppedDesc, s.Forgotten, "forgotten")
	gauge(nodesDesc, c.store.Nodes(time.Now().Add(-silentAfter)))
	gauge(workloadsDesc, s.Workloads)
	gauge(podsDesc, s.Pods)
	gauge(waitingDesc, s.WaitingWindows)
	gauge(unpublishedDesc, s.Unpublished)
}
