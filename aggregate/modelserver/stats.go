package modelserver

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// stats is what a Server has done so far, and where it stands.
type stats struct {
	// Pushes were accepted; Superseded of them met another push of the same
	// node in the queue, and Stale ones were no newer than what was merged.
	Pushes, Superseded, Stale uint64
	// Refused pushes were malformed, Foreign ones of another node than the
	// caller's, Overflowed ones met a full queue, and Dropped ones were accepted
	// and then refused by the aggregate, Mixed ones of them because centred and other
	// models do not merge.
	Refused, Foreign, Overflowed, Dropped, Mixed uint64
	// Version, Nodes, Groups (of schema and dimension) and At describe what was
	// published last.
	Version       uint64
	Nodes, Groups int
	At            time.Time
}

// count adds one to a field of s.counts.
func (s *Server) count(n *uint64) {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	*n++
}

// stats returns the counts.
func (s *Server) stats() stats {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	counts, p := s.counts, s.published.Load()
	counts.Version, counts.Nodes, counts.Groups, counts.At = p.version, p.nodes, len(p.globals), p.at
	return counts
}

// Nodes is how many nodes' models were published last.
func (s *Server) Nodes() int { return s.published.Load().nodes }

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

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, out) }

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	to := metrics(out)
	stats := c.server.stats()
	to.pushes(map[string]uint64{
		"accepted": stats.Pushes, "superseded": stats.Superseded, "stale": stats.Stale, "refused": stats.Refused,
		"foreign": stats.Foreign, "overflowed": stats.Overflowed, "dropped": stats.Dropped, "mixed": stats.Mixed,
	})
	ready := 0.
	if c.server.Ready() {
		ready = 1
	}
	to.gauge("model_version", "Version of the models published last.", float64(stats.Version))
	to.gauge("nodes", "Nodes whose models are kept.", float64(stats.Nodes))
	to.gauge("ready", "Whether pushes are answered with models.", ready)
	if c.peers != nil {
		const help = "Time since the last exchange with the replica for which it is longest."
		to.gauge("exchange_lag_seconds", help, c.peers.lag().Seconds())
	}
	if c.keeper != nil {
		to.gauge("snapshot_age_seconds", "Time since the last snapshot was saved, or the process started.", c.keeper.age().Seconds())
	}
}

// metrics is where they go.
type metrics chan<- prometheus.Metric

const prefix = "spazio_aggregator_"

func (m metrics) gauge(name, help string, v float64) {
	m <- prometheus.MustNewConstMetric(prometheus.NewDesc(prefix+name, help, nil, nil), prometheus.GaugeValue, v)
}

// pushes shows them by what became of them.
func (m metrics) pushes(by map[string]uint64) {
	d := prometheus.NewDesc(prefix+"pushes_total", "Pushes by what became of them.", []string{"result"}, nil)
	for result, n := range by {
		m <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), result)
	}
}
