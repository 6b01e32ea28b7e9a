package publish_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// peer is a scheduler, an aggregator and a profiler at one address, which tests stop and restart.
type peer struct {
	spaziov1.UnimplementedSignalServiceServer
	spaziov1.UnimplementedModelServiceServer
	spaziov1.UnimplementedUsageServiceServer

	t       *testing.T
	addr    string
	server  *grpc.Server
	ended   chan error
	reports chan *spaziov1.Report
	pushes  chan *spaziov1.LocalModel
	usages  chan *spaziov1.UsageBatch
	// hold, if set, keeps streams from being read until it is closed.
	hold chan struct{}
	// notice and answer, if set, are the replies to a stream and to a push.
	notice *spaziov1.Notice
	answer *spaziov1.PushResponse
	err    error
	// refuse, if set, returns the error that ends the stream of a batch, or nil.
	refuse func(*spaziov1.UsageBatch) error
	// without, if set, returns the indexes of the windows that the profiler refuses in a batch.
	without func(*spaziov1.UsageBatch) []uint32
	// report, if set, handles a stream of windows instead.
	report func(spaziov1.UsageService_ReportServer) error
	// connections, if set, gets true for each connection that begins, and false at its end.
	connections chan bool
	// tls is the server's identity; the zero value is plaintext.
	tls transport.Config
}

func newPeer(t *testing.T) *peer {
	p := &peer{t: t, addr: transporttest.Address(t), reports: make(chan *spaziov1.Report, 1<<16), pushes: make(chan *spaziov1.LocalModel, 1<<10), usages: make(chan *spaziov1.UsageBatch, 1<<10)}
	t.Cleanup(p.kill)
	return p
}

// start listens at the address that the peer had before.
func (p *peer) start() {
	p.t.Helper()
	guard, err := transport.NewConnLimiter(transport.Limits{})
	if err != nil {
		p.t.Fatal(err)
	}
	listener, err := guard.Listen(context.Background(), p.addr, p.tls)
	if err != nil {
		p.t.Fatal(err)
	}
	options, err := guard.ServerOptions(p.tls)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = grpc.NewServer(append(options, grpc.StatsHandler(connected(p.connections)))...)
	p.ended = make(chan error, 1)
	spaziov1.RegisterSignalServiceServer(p.server, p)
	spaziov1.RegisterModelServiceServer(p.server, p)
	spaziov1.RegisterUsageServiceServer(p.server, p)
	go func(server *grpc.Server, listener net.Listener, ended chan error) { ended <- server.Serve(listener) }(p.server, listener, p.ended)
}

// kill closes every connection at once.
func (p *peer) kill() {
	if p.server == nil {
		return
	}
	p.server.Stop()
	if err := <-p.ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		p.t.Errorf("Serve: %v", err)
	}
	p.server = nil
}

func (p *peer) Publish(stream spaziov1.SignalService_PublishServer) error {
	if p.notice != nil {
		if err := stream.Send(p.notice); err != nil {
			return err
		}
	}
	if p.hold != nil {
		select {
		case <-p.hold:
		case <-stream.Context().Done():
		}
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		p.reports <- m
	}
}

func (p *peer) Push(_ context.Context, r *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	p.pushes <- r.GetLocal()
	if p.err != nil {
		return nil, p.err
	}
	return p.answer, nil
}

func (p *peer) Report(stream spaziov1.UsageService_ReportServer) error {
	if p.report != nil {
		return p.report(stream)
	}
	for {
		b, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.usages <- b
		if p.refuse != nil {
			if err := p.refuse(b); err != nil {
				return err
			}
		}
		ack := &spaziov1.UsageAck{Incarnation: b.Incarnation, Sequence: b.Sequence}
		if p.without != nil {
			ack.Refused = p.without(b)
			ack.Refusal = "windows[0].cpu_seconds"
		}
		if err := stream.Send(ack); err != nil {
			return err
		}
	}
}

// connected is a stats.Handler that reports connections.
type connected chan bool

func (connected) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (connected) HandleRPC(context.Context, stats.RPCStats)                         {}
func (connected) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c connected) HandleConn(_ context.Context, s stats.ConnStats) {
	if c == nil {
		return
	}
	_, begins := s.(*stats.ConnBegin)
	c <- begins
}

// receive waits for one value.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-t.Context().Done():
		t.Fatal("nothing received")
		panic("unreachable")
	}
}

// run runs f until the test ends and fails the test if it returns an error.
func run(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// value returns the value of a target's series, the count if it is a histogram, or -1 if there is none.
func value(t *testing.T, g prometheus.Gatherer, name, target string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() == target) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return -1
}

const soon = time.Millisecond
