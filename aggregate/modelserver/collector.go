package modelserver

import "github.com/prometheus/client_golang/prometheus"

// collector shows what a server, its exchange with replicas and its snapshots count.
type collector struct {
	server *Server
	peers  *Peers  // nil without replicas
	keeper *Keeper // nil without a snapshot
}

// Collector returns the metrics of a server, of its exchange with other replicas and
// of its snapshots; either of those may be nil, and then has none. It is safe for
// concurrent use.
func Collector(server *Server, peers *Peers, keeper *Keeper) prometheus.Collector {
	return collector{server, peers, keeper}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("spazio_aggregator_"+name, help, labels, nil)
}

var (
	pushesDesc    = desc("pushes_total", "Pushes by what became of them.", "result")
	refusalsDesc  = desc("refused_pushes_total", "Malformed pushes by what was wrong with them.", "cause")
	versionDesc   = desc("model_version", "Version of the models published last.")
	nodesDesc     = desc("nodes", "Nodes not forgotten.")
	clippedDesc   = desc("clipped_nodes", "Nodes that lost weight because they are far from the median model.")
	groupsDesc    = desc("models", "Global models, one a schema and dimension.")
	readyDesc     = desc("ready", "Whether pushes are answered with models.")
	peersDesc     = desc("peers", "Other replicas.")
	exchangesDesc = desc("exchanges_total", "Exchanges with other replicas by how they ended.", "result")
	statesDesc    = desc("exchanged_states_total", "States of nodes from other replicas by what became of them.", "result")
	lagDesc       = desc("exchange_lag_seconds", "Time since the last exchange with the replica for which it is longest.")
	savesDesc     = desc("snapshots_total", "Snapshots by how saving them ended.", "result")
	ageDesc       = desc("snapshot_age_seconds", "Time since the last snapshot was saved, or the process started.")
	bytesDesc     = desc("snapshot_bytes", "Size of the last snapshot.")
)

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pushesDesc, refusalsDesc, versionDesc, nodesDesc, clippedDesc, groupsDesc, readyDesc} {
		out <- d
	}
	if c.peers != nil {
		for _, d := range []*prometheus.Desc{peersDesc, exchangesDesc, statesDesc, lagDesc} {
			out <- d
		}
	}
	if c.keeper != nil {
		for _, d := range []*prometheus.Desc{savesDesc, ageDesc, bytesDesc} {
			out <- d
		}
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	to := metrics(out)
	stats := c.server.Stats()
	c.collectServer(to, stats)
	if c.peers != nil {
		p := c.peers.Stats()
		to.gauge(peersDesc, float64(p.Peers))
		to.gauge(lagDesc, p.Lag.Seconds())
		to.count(exchangesDesc, p.Exchanges, "completed")
		to.count(exchangesDesc, p.Failed, "failed")
		to.count(statesDesc, stats.Taken, "taken")
		to.count(statesDesc, stats.Known, "known")
		to.count(statesDesc, stats.Unfit, "unfit")
	}
	if c.keeper != nil {
		kept := c.keeper.Stats()
		to.count(savesDesc, kept.Saved, "saved")
		to.count(savesDesc, kept.Failed, "failed")
		to.gauge(bytesDesc, float64(kept.Size))
		to.gauge(ageDesc, kept.Age.Seconds())
	}
}

func (c collector) collectServer(to metrics, stats Stats) {
	to.count(pushesDesc, stats.Pushes, "accepted")
	to.count(pushesDesc, stats.Superseded, "superseded")
	to.count(pushesDesc, stats.Stale, "stale")
	to.count(pushesDesc, stats.Refused, "refused")
	to.count(pushesDesc, stats.Foreign, "foreign")
	to.count(pushesDesc, stats.Overflowed, "overflowed")
	to.count(pushesDesc, stats.Dropped, "dropped")
	to.count(pushesDesc, stats.Mixed, "mixed")
	for cause, n := range c.server.Refusals() {
		to.count(refusalsDesc, n, cause)
	}
	clipped := 0
	for _, g := range c.server.Globals() {
		clipped += g.Clipped
	}
	ready := 0.
	if c.server.Ready() {
		ready = 1
	}
	to.gauge(versionDesc, float64(stats.Version))
	to.gauge(nodesDesc, float64(stats.Nodes))
	to.gauge(clippedDesc, float64(clipped))
	to.gauge(groupsDesc, float64(stats.Groups))
	to.gauge(readyDesc, ready)
}

// metrics is where they go.
type metrics chan<- prometheus.Metric

func (m metrics) gauge(d *prometheus.Desc, v float64) {
	m <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
}

func (m metrics) count(d *prometheus.Desc, n uint64, label string) {
	m <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
}
