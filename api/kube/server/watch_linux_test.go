package server_test

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spazio-scheduler/spazio/api/kube/server"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// TestUnauthenticatedWatchesAreBounded: the server holds at most 1,024 unauthenticated endless health
// checks, shared by all, and four on each further connection of one address. Other callers are answered
// meanwhile.
func TestUnauthenticatedWatchesAreBounded(t *testing.T) {
	const connections, each, free, ofOne = 40, 100, 1024, 4
	var held atomic.Int64
	count := func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		held.Add(1)
		defer held.Add(-1)
		return handle(service, stream)
	}
	s, err := server.New(t.Context(), server.Config{Listen: "127.0.0.1:0", Options: []grpc.ServerOption{grpc.ChainStreamInterceptor(count)}})
	if err != nil {
		t.Fatal(err)
	}
	s.SetServing()
	run(t, s)
	var all []*transporttest.Intruder
	for range connections {
		i, err := transporttest.Intrude(t.Context(), s.Addr().String(), netip.MustParseAddr("127.0.0.66"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(i.Close)
		all = append(all, i)
		for range each {
			if _, err := i.Call(grpc_health_v1.Health_Watch_FullMethodName, 0, 0, 5); err != nil {
				break // the server has closed the connection
			}
		}
	}
	open := func() (n int64) {
		for _, i := range all {
			n += int64(i.Open())
		}
		return n
	}
	for deadline := time.Now().Add(time.Minute); held.Load() == 0 || held.Load() != open(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %d calls held, %d open", held.Load(), open())
		}
	}
	if n := held.Load(); n > free+ofOne*connections {
		t.Errorf("got %d of %d calls held, want at most %d", n, connections*each, free+ofOne*connections)
	}
	answer, err := grpc_health_v1.NewHealthClient(dial(t, s, transport.Config{})).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("another's check: %v (%v)", answer, err)
	}
}
