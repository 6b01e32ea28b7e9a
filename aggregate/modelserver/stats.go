package modelserver

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/svd"
)

// Stats is what a Server has done so far, and where it stands.
type Stats struct {
	// Pushes were accepted; Superseded of them met another push of the same
	// node in the queue, and Stale ones were no newer than what was merged.
	Pushes, Superseded, Stale uint64
	// Refused pushes were malformed, Foreign ones of another node than the
	// caller's, Overflowed ones met a full queue, and Dropped ones were accepted
	// and then refused by the aggregate, Mixed ones of them because centred and other
	// models do not merge.
	Refused, Foreign, Overflowed, Dropped, Mixed uint64
	// Taken states of nodes came from other replicas and were news, Known ones
	// were not, Unfit ones the aggregate had no room for or could not merge.
	Taken, Known, Unfit uint64
	// Version, Nodes, Groups (of schema and dimension) and At describe what was
	// published last.
	Version       uint64
	Nodes, Groups int
	At            time.Time
}

// causes are why a push may be refused, by the names that metrics use. The last
// stands for any other.
var causes = [...]struct {
	name string
	is   []error
}{
	{"missing", []error{api.ErrMissing}},
	{"range", []error{api.ErrRange, svd.ErrRange}},
	{"length", []error{api.ErrLength, svd.ErrLength}},
	{"text", []error{api.ErrText}},
	{"not_finite", []error{svd.ErrNotFinite}},
	{"order", []error{svd.ErrOrder}},
	{"orthonormal", []error{svd.ErrOrthonormal}},
	{"other", nil},
}

func causeOf(err error) int {
	for i, c := range causes {
		for _, is := range c.is {
			if errors.Is(err, is) {
				return i
			}
		}
	}
	return len(causes) - 1
}

// Refusals counts the refused pushes by cause: "missing", "range", "length",
// "text", "not_finite", "order", "orthonormal" and "other".
func (s *Server) Refusals() map[string]uint64 {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	counts := make(map[string]uint64, len(causes))
	for i, c := range causes {
		counts[c.name] = s.refused[i]
	}
	return counts
}

// count adds one to a field of s.counts, or an element of s.refused.
func (s *Server) count(n *uint64) {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	*n++
}

// Stats returns the counts.
func (s *Server) Stats() Stats {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	stats, p := s.counts, s.published.Load()
	for _, n := range s.refused {
		stats.Refused += n
	}
	stats.Version, stats.Nodes, stats.Groups, stats.At = p.version, p.nodes, len(p.globals), p.at
	return stats
}

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
	stats := c.server.Stats()
	c.collectServer(to, stats)
	if c.peers != nil {
		p := c.peers.counts()
		to.gauge("peers", "Other replicas.", float64(p.Peers))
		to.gauge("exchange_lag_seconds", "Time since the last exchange with the replica for which it is longest.", p.Lag.Seconds())
		to.counts("exchanges_total", "Exchanges with other replicas by how they ended.", "result",
			map[string]uint64{"completed": p.Exchanges, "failed": p.Failed})
		to.counts("exchanged_states_total", "States of nodes from other replicas by what became of them.", "result",
			map[string]uint64{"taken": stats.Taken, "known": stats.Known, "unfit": stats.Unfit})
	}
	if c.keeper != nil {
		kept := c.keeper.Stats()
		to.counts("snapshots_total", "Snapshots by how saving them ended.", "result", map[string]uint64{"saved": kept.Saved, "failed": kept.Failed})
		to.gauge("snapshot_bytes", "Size of the last snapshot.", float64(kept.Size))
		to.gauge("snapshot_age_seconds", "Time since the last snapshot was saved, or the process started.", kept.Age.Seconds())
	}
}

func (c collector) collectServer(to metrics, stats Stats) {
	to.counts("pushes_total", "Pushes by what became of them.", "result", map[string]uint64{
		"accepted": stats.Pushes, "superseded": stats.Superseded, "stale": stats.Stale, "refused": stats.Refused,
		"foreign": stats.Foreign, "overflowed": stats.Overflowed, "dropped": stats.Dropped, "mixed": stats.Mixed,
	})
	to.counts("refused_pushes_total", "Malformed pushes by what was wrong with them.", "cause", c.server.Refusals())
	clipped := 0
	for _, g := range c.server.Globals() {
		clipped += g.Clipped
	}
	ready := 0.
	if c.server.Ready() {
		ready = 1
	}
	to.gauge("model_version", "Version of the models published last.", float64(stats.Version))
	to.gauge("nodes", "Nodes whose models are kept.", float64(stats.Nodes))
	to.gauge("clipped_nodes", "Nodes that lost weight because they are far from the median model.", float64(clipped))
	to.gauge("models", "Global models, one a schema and dimension.", float64(stats.Groups))
	to.gauge("ready", "Whether pushes are answered with models.", ready)
}

// metrics is where they go.
type metrics chan<- prometheus.Metric

const prefix = "spazio_aggregator_"

func (m metrics) gauge(name, help string, v float64) {
	m <- prometheus.MustNewConstMetric(prometheus.NewDesc(prefix+name, help, nil, nil), prometheus.GaugeValue, v)
}

// counts shows a counter by the values of its label.
func (m metrics) counts(name, help, label string, by map[string]uint64) {
	d := prometheus.NewDesc(prefix+name, help, []string{label}, nil)
	for value, n := range by {
		m <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), value)
	}
}
