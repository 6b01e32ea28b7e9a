package service_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/profiler/service"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	history "github.com/spazio-scheduler/spazio/profile/profiler/prometheus"
)

func config(t testing.TB) service.Config {
	return service.Config{
		Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0", Kubeconfig: transporttest.Unreachable(t), LeaseNamespace: "default",
	}
}

// TestRefuses: what can't be is refused by name before anything listens.
func TestRefuses(t *testing.T) {
	for name, change := range map[string]func(*service.Config){
		"WriteRate": func(c *service.Config) { c.WriteRate = -1 },
	} {
		c := config(t)
		change(&c)
		var bad *field.Error
		if _, err := service.New(t.Context(), c); !errors.As(err, &bad) || bad.Field != "WriteRate" || !errors.Is(err, profiler.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := config(t)
	c.Prometheus = history.Config{Address: "no URL"}
	if _, err := service.New(t.Context(), c); err == nil {
		t.Error("a Prometheus server at no URL")
	}
	c = config(t)
	c.Kubeconfig = filepath.Join(t.TempDir(), "none")
	if _, err := service.New(t.Context(), c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no kubeconfig: %v", err)
	}
}

// TestCloseFreesThePorts, of a service that never ran.
func TestCloseFreesThePorts(t *testing.T) {
	c := config(t)
	c.Listen, c.MetricsListen = transporttest.Address(t), transporttest.Address(t)
	s, err := service.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	addresses := []string{s.Addr().String(), s.MetricsAddr().String()}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("still taken: %v", err)
			continue
		}
		listener.Close()
	}
	if err := s.Run(t.Context()); !errors.Is(err, grpc.ErrServerStopped) && !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}

// A profiler runs within a process of one's own, which reaches the API server by its own
// account, until its context ends.
func ExampleNew() {
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt)
	defer end()
	s, err := service.New(ctx, service.Config{Listen: "127.0.0.1:9696", LeaseNamespace: "default"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("agents are heard at", s.Addr())
	if err := s.Run(ctx); err != nil {
		fmt.Println(err)
	}
}
