package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/aggregator/service"
	"github.com/spazio-scheduler/spazio/field"
)

// shows waits until a page is as expected.
func shows(t *testing.T, url string, right func(text string) bool) {
	t.Helper()
	for text := ""; ; {
		response, err := http.Get(url)
		if err != nil {
			t.Fatalf("%v, after %s", err, text)
		}
		page, err := io.ReadAll(response.Body)
		response.Body.Close()
		if text = string(page); err == nil && right(text) {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%v, %s", err, text)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestHealth follows the gRPC health service through a start that waits for another replica, and an
// end.
func TestHealth(t *testing.T) {
	s, err := service.New(t.Context(), service.Config{
		Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0",
		Server:   modelserver.Config{Tick: time.Millisecond},
		Peers:    modelserver.PeersConfig{Targets: []string{transporttest.Address(t)}, Interval: time.Millisecond},
		Snapshot: filepath.Join(t.TempDir(), "state"), SnapshotInterval: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	connection, err := grpc.NewClient(s.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	stream, err := grpc_health_v1.NewHealthClient(connection).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	await := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for {
			r, err := stream.Recv()
			if ctx.Err() != nil && err != nil {
				return // the end may precede the message that announces it
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.GetStatus() == want {
				return
			}
		}
	}
	await(grpc_health_v1.HealthCheckResponse_SERVING)
	metrics := "http://" + s.MetricsAddr().String() + "/metrics"
	shows(t, metrics, func(text string) bool {
		for _, part := range []string{"spazio_aggregator_exchange_lag_seconds ", "spazio_aggregator_snapshot_age_seconds ", "spazio_aggregator_ready 1\n"} {
			if !strings.Contains(text, part) {
				return false
			}
		}
		return true
	})
	cancel()
	await(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestFailedSnapshots do not stop the service, and are logged.
func TestFailedSnapshots(t *testing.T) {
	log := &transporttest.Output{}
	s, err := service.New(t.Context(), service.Config{
		Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0",
		Snapshot: filepath.Join(t.TempDir(), "no such directory", "state"), SnapshotInterval: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	aged := regexp.MustCompile(`spazio_aggregator_snapshot_age_seconds (0\.[1-9]|[1-9])`) // by then many should have been saved
	shows(t, "http://"+s.MetricsAddr().String()+"/metrics", aged.MatchString)
	if !strings.Contains(log.String(), "the snapshot was not saved") {
		t.Errorf("logged\n%s", log)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestCloseFreesThePorts(t *testing.T) {
	s, err := service.New(t.Context(), service.Config{Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, grpc.ErrServerStopped) && !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run after Close: got error %v", err)
	}
}

// An invalid configuration is refused before any port is opened.
func TestRefuses(t *testing.T) {
	for name, c := range map[string]service.Config{
		"SnapshotInterval": {SnapshotInterval: -time.Second},
	} {
		c.Listen = "127.0.0.1:0"
		var bad *field.Error
		if _, err := service.New(t.Context(), c); !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An aggregator runs within another process until its context ends.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := service.New(ctx, service.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	cancel()
	fmt.Println(s.Run(ctx), s.Models().Nodes())
	// Output: <nil> 0
}
