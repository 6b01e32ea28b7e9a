package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// peers is a scheduler and an aggregator that count what they get.
type peers struct {
	spaziov1.UnimplementedSignalServiceServer
	spaziov1.UnimplementedModelServiceServer
	spaziov1.UnimplementedUsageServiceServer
	reports, heartbeats, pushes, pods, windows, powers atomic.Int64
}

// Publish reads a stream of reports and, as a scheduler, takes heartbeats.
func (p *peers) Publish(stream spaziov1.SignalService_PublishServer) error {
	takes := &spaziov1.Notice{Event: &spaziov1.Notice_TakesHeartbeats{TakesHeartbeats: true}}
	if err := stream.Send(takes); err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if api.IsHeartbeat(m) {
			p.heartbeats.Add(1)
			continue
		}
		p.reports.Add(1)
		p.pods.Store(int64(len(m.GetAbsorbed())))
		if m.GetPower() != nil || len(m.GetAbsorbedWatts()) > 0 {
			p.powers.Add(1)
		}
	}
}

// Report takes windows, as a profiler.
func (p *peers) Report(stream spaziov1.UsageService_ReportServer) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		b, err := api.ToUsage(m)
		if err != nil {
			return err
		}
		p.windows.Add(int64(len(b.Windows)))
		if err := stream.Send(&spaziov1.UsageAck{Incarnation: b.Incarnation, Sequence: b.Sequence}); err != nil {
			return err
		}
	}
}

// Push takes a model; there is no other node's to return.
func (p *peers) Push(context.Context, *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	p.pushes.Add(1)
	return &spaziov1.PushResponse{}, nil
}

// serve listens on loopback until the returned function is called.
func (p *peers) serve(ctx context.Context) (addr net.Addr, stop func(), err error) {
	guard, err := transport.NewGuard(transport.Limits{})
	if err != nil {
		return nil, nil, err
	}
	listener, err := guard.Listen(ctx, "127.0.0.1:0", transport.Config{})
	if err != nil {
		return nil, nil, err
	}
	options, err := guard.ServerOptions(transport.Config{})
	if err != nil {
		return nil, nil, err
	}
	server := grpc.NewServer(options...)
	spaziov1.RegisterSignalServiceServer(server, p)
	spaziov1.RegisterModelServiceServer(server, p)
	spaziov1.RegisterUsageServiceServer(server, p)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends by Stop
	}()
	return listener.Addr(), func() { server.Stop(); <-ended }, nil
}

// scrape reads a page of metrics.
func scrape(ctx context.Context, addr string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("scrape of %s: %s", addr, response.Status)
	}
	return nil
}

// scrapeEvery scrapes until ctx ends and counts what came.
func scrapeEvery(ctx context.Context, addr string, period time.Duration, count *atomic.Int64) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if scrape(ctx, addr) == nil {
				count.Add(1)
			}
		}
	}
}
