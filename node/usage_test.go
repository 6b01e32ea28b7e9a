package node_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// profiler collects windows; it ends the first stream before it acknowledges.
type profiler struct {
	spaziov1.UnimplementedUsageServiceServer
	broken  chan *spaziov1.UsageBatch
	batches chan agent.UsageBatch
}

func (p *profiler) Report(stream spaziov1.UsageService_ReportServer) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		b, _, err := api.ToUsage(m)
		if err != nil {
			return err
		}
		select {
		case p.broken <- m:
			return errors.New("stream ended before the acknowledgement")
		default:
		}
		p.batches <- b
		if err := stream.Send(&spaziov1.UsageAck{Incarnation: b.Incarnation, Sequence: b.Sequence}); err != nil {
			return err
		}
	}
}

// idle is a usage meter of pods that use nothing.
type idle struct{}

func (idle) Observe(time.Time, []telemetry.Pod)       {}
func (idle) ReadTo(*telemetry.Usage, time.Time) error { return nil }

// TestUsageReachesProfiler: a server loses a batch without an acknowledgement and gets the same batch
// again, then the later ones.
func TestUsageReachesProfiler(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &profiler{broken: make(chan *spaziov1.UsageBatch, 1), batches: make(chan agent.UsageBatch, 10)}
	server := grpc.NewServer()
	spaziov1.RegisterUsageServiceServer(server, p)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	u, err := publish.NewUsages(publish.UsagesConfig{
		Node: "n", Incarnation: 9, Targets: []string{listener.Addr().String()}, Backoff: publish.Backoff{Min: time.Millisecond, Max: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- u.Run(ctx) }()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	u.Take(at, []agent.PodReading{{Pod: 1, Age: time.Second, CPU: time.Second / 2, Memory: 1000}})
	u.Take(at.Add(time.Second), []agent.PodReading{{Pod: 1, Age: 2 * time.Second, CPU: time.Second, Memory: 1000}})
	first := <-p.batches
	if lost := <-p.broken; lost.Sequence != 1 || first.Sequence != 1 || first.Incarnation != 9 || first.Node != "n" ||
		len(first.Windows) != 1 || first.Windows[0].CPU != .5 || first.Windows[0].Memory != 1000 {
		t.Errorf("lost %v, got %+v", lost, first)
	}
	var next agent.UsageBatch
	for i := time.Duration(2); next.Sequence == 0; i++ {
		u.Take(at.Add(i*time.Second), nil)
		select {
		case next = <-p.batches:
		case <-time.After(time.Millisecond):
		}
	}
	if next.Sequence != 2 || len(next.Windows) != 1 || next.Windows[0].CPU != .5 || next.Windows[0].Span != time.Second {
		t.Errorf("next %+v", next)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
