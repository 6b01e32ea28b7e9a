package profiler

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// ServerConfig of a Server. The zero value of a field is its default.
type ServerConfig struct {
	// Identify, if set, returns the node whose batches the caller of a stream may send, empty for
	// those of any, or the status that the stream ends with. By default any caller may send all.
	Identify func(context.Context) (node string, err error)
	// Logger gets one line about the first window that is refused; the rest are counted.
	// Nil logs nothing.
	Logger *slog.Logger
}

const (
	// streamsPerNode lets an agent connect again before its former stream is known to have ended.
	streamsPerNode = 4
	// batchesPerNode a second are many more than the one that an agent sends.
	batchesPerNode, burstPerNode = 20, 40
)

// Server is the gRPC UsageService over a Store: agents stream what the pods of their node take.
//
// A batch is checked, given to the store and acknowledged; the store counts what becomes of each
// window. A window out of range is left out, and the acknowledgement names it; the others of its
// batch are kept. A malformed batch ends the stream with InvalidArgument and the name of the field,
// one of another node than the caller's with PermissionDenied; neither changes anything. A node may
// have four streams and send twenty batches a second on all of them together; faster ones wait.
//
// A Server is safe for concurrent use.
type Server struct {
	spaziov1.UnimplementedUsageServiceServer
	config                     ServerConfig
	store                      *Store
	wake                       chan struct{}
	accepted, refused, foreign atomic.Uint64 // batches
	warned                     sync.Once

	mu    sync.Mutex
	nodes map[string]*streams
}

// streams are those of one node, with the limit on their batches.
type streams struct {
	count int
	limit *rate.Limiter
}

// NewServer returns a Server of a store.
func NewServer(store *Store, c ServerConfig) *Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{config: c, store: store, wake: make(chan struct{}, 1), nodes: map[string]*streams{}}
}

// Received has a token after windows have come. It is for one receiver, such as a controller's
// Config.Received.
func (s *Server) Received() <-chan struct{} { return s.wake }

// Report implements spaziov1.UsageServiceServer.
func (s *Server) Report(stream grpc.BidiStreamingServer[spaziov1.UsageBatch, spaziov1.UsageAck]) error {
	caller := ""
	if s.config.Identify != nil {
		var err error
		if caller, err = s.config.Identify(stream.Context()); err != nil {
			return err
		}
	}
	name, limit := "", (*rate.Limiter)(nil)
	defer func() { s.leave(name) }()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b, ack, err := api.ToUsage(m)
		if err != nil {
			s.refused.Add(1)
			return status.Error(codes.InvalidArgument, err.Error())
		}
		if caller != "" && caller != b.Node || name != "" && name != b.Node {
			s.foreign.Add(1)
			return status.Errorf(codes.PermissionDenied, "an agent on node %q sends windows of node %q", caller+name, b.Node)
		}
		if name == "" {
			if limit = s.enter(b.Node); limit == nil {
				return status.Errorf(codes.ResourceExhausted, "node %q has %d streams", b.Node, streamsPerNode)
			}
			name = b.Node
			transport.Admit(stream.Context())
		}
		if err := limit.Wait(stream.Context()); err != nil {
			return status.FromContextError(err).Err()
		}
		s.accepted.Add(1)
		s.countRefused(b.Node, ack)
		s.store.Windows(time.Now(), b)
		select {
		case s.wake <- struct{}{}:
		default:
		}
		if err := stream.Send(ack); err != nil {
			return err
		}
	}
}

// countRefused counts windows that were refused, and logs the first of all.
func (s *Server) countRefused(node string, ack *spaziov1.UsageAck) {
	if len(ack.Refused) == 0 {
		return
	}
	s.store.addRefused(len(ack.Refused))
	s.warned.Do(func() {
		s.config.Logger.Warn("a window of a pod's usage is out of range and left out; further ones are only counted", "node", node, "error", ack.Refusal)
	})
}

// enter counts a stream of a node and returns the limit on its batches, nil if it has too many.
func (s *Server) enter(name string) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[name]
	if n == nil {
		n = &streams{limit: rate.NewLimiter(batchesPerNode, burstPerNode)}
		s.nodes[name] = n
	}
	if n.count >= streamsPerNode {
		return nil
	}
	n.count++
	return n.limit
}

func (s *Server) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[name]; n != nil {
		if n.count--; n.count <= 0 {
			delete(s.nodes, name)
		}
	}
}

// Collector returns the metrics of a server and of its store.
func Collector(server *Server) prometheus.Collector { return prometheus.CollectorFunc(server.collect) }

// silentAfter is after what time a node counts as silent: agents send a batch every minute.
const silentAfter = 5 * time.Minute

// collect sends the metrics of the server and of its store.
func (s *Server) collect(out chan<- prometheus.Metric) {
	show := func(kind prometheus.ValueType, name, help string, n float64, label ...string) {
		d := prometheus.NewDesc("spazio_profiler_"+name, help, label[:len(label)/2], nil)
		out <- prometheus.MustNewConstMetric(d, kind, n, label[len(label)/2:]...)
	}
	gauge := func(name, help string, n int) { show(prometheus.GaugeValue, name, help, float64(n)) }
	count := func(name, help string, n uint64, label ...string) {
		show(prometheus.CounterValue, name, help, float64(n), label...)
	}
	stats := s.store.Stats()
	for i, n := range stats.Windows {
		count("windows_total", "Windows of pods by what became of them; one that waited is counted again in the end.", n, "result", Result(i).String())
	}
	for result, n := range map[string]*atomic.Uint64{"accepted": &s.accepted, "refused": &s.refused, "foreign": &s.foreign} {
		count("batches_total", "Batches of windows by what became of them.", n.Load(), "result", result)
	}
	const dropped = "Workloads dropped, to make room or because nothing was seen of them."
	count("dropped_workloads_total", dropped, stats.Evicted, "reason", "evicted")
	count("dropped_workloads_total", dropped, stats.Forgotten, "reason", "forgotten")
	gauge("nodes", "Nodes whose agents sent windows within five minutes.", s.store.nodesSince(time.Now().Add(-silentAfter)))
	gauge("workloads", "Workloads that are known.", stats.Workloads)
	gauge("pods", "Pods that are known.", stats.Pods)
	gauge("unpublished_workloads", "Workloads that wait to be published.", stats.Unpublished)
}
