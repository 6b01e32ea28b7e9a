package main

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// sent are what an agent sends.
var sent = []string{reports, heartbeats, powers, pushes, windows}

const reports, heartbeats, powers, pushes, windows = "full reports", "heartbeats", "reports with watts", "pushes of the model", "windows of pods' usage"

// peers is a scheduler, an aggregator and a profiler that count what they get. It is safe for
// concurrent use.
type peers struct {
	spaziov1.UnimplementedSignalServiceServer
	spaziov1.UnimplementedModelServiceServer
	spaziov1.UnimplementedUsageServiceServer

	counting atomic.Bool
	mu       sync.Mutex
	count    map[string]float64
	pods     int // in the last report
}

func (p *peers) add(what string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counting.Load() {
		p.count[what] += float64(n)
	}
}

// Publish reads a stream of reports and, as a scheduler, takes heartbeats.
func (p *peers) Publish(stream spaziov1.SignalService_PublishServer) error {
	takes := &spaziov1.Notice{Event: &spaziov1.Notice_TakesHeartbeats{TakesHeartbeats: true}}
	if err := stream.Send(takes); err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		switch {
		case err != nil:
			return err
		case api.IsHeartbeat(m):
			p.add(heartbeats, 1)
			continue
		case m.GetPower() != nil || len(m.GetAbsorbedWatts()) > 0:
			p.add(powers, 1)
		}
		p.add(reports, 1)
		p.mu.Lock()
		p.pods = len(m.GetAbsorbed())
		p.mu.Unlock()
	}
}

// Report takes windows, as a profiler.
func (p *peers) Report(stream spaziov1.UsageService_ReportServer) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		b, ack, err := api.ToUsage(m)
		if err != nil {
			return err
		}
		p.add(windows, len(b.Windows))
		if err := stream.Send(ack); err != nil {
			return err
		}
	}
}

// Push takes a model; there is no other node's to return.
func (p *peers) Push(context.Context, *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	p.add(pushes, 1)
	return &spaziov1.PushResponse{}, nil
}

// serve listens on loopback until the returned function is called.
func (p *peers) serve() (addr string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}))
	spaziov1.RegisterSignalServiceServer(server, p)
	spaziov1.RegisterModelServiceServer(server, p)
	spaziov1.RegisterUsageServiceServer(server, p)
	go func() { _ = server.Serve(listener) }() // until it is stopped
	return listener.Addr().String(), server.Stop, nil
}
