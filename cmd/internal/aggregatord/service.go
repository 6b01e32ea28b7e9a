package aggregatord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// Config of an aggregator service.
type Config struct {
	// Listen is host:port of the gRPC service; MetricsListen that of /metrics
	// and /healthz, or empty for none.
	Listen, MetricsListen string
	Transport             transport.Config
	// Server says how models are merged. Its OnError is the service's own.
	Server modelserver.Config
	// Logger gets starts, ends and refused models; nil logs nothing.
	Logger *slog.Logger
}

// Validate returns what the config's parts refuse.
func (c Config) Validate() error {
	if err := c.Transport.Validate(); err != nil {
		return err
	}
	return c.Server.Validate()
}

// Service is an aggregator with its listeners open. Run is called once.
type Service struct {
	logger   *slog.Logger
	models   *modelserver.Server
	server   *grpc.Server
	listener net.Listener
	http     *serve.HTTP // nil without MetricsListen
}

// New opens the listeners, so that a busy port is known at once. The caller
// must Run or Close the service.
func New(ctx context.Context, c Config) (*Service, error) {
	s := &Service{logger: c.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	c.Server.OnError = func(err error) { s.logger.Error("a model was not merged", "error", err) }
	var err error
	if s.models, err = modelserver.New(c.Server); err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	seconds := newPushSeconds()
	registry.MustRegister(seconds, statistics{s.models}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	options, err := transport.ServerOptions(c.Transport)
	if err != nil {
		return nil, err
	}
	s.server = grpc.NewServer(append(options, grpc.UnaryInterceptor(observe(seconds)))...)
	spaziov1.RegisterModelServiceServer(s.server, s.models)
	if s.listener, err = transport.Listen(ctx, c.Listen, c.Transport); err != nil {
		return nil, err
	}
	if c.MetricsListen == "" {
		return s, nil
	}
	s.http, err = serve.NewHTTP(ctx, serve.HTTPConfig{Addr: c.MetricsListen, Transport: c.Transport, Gatherer: registry, Health: s.healthy(c.Server.Tick)})
	if err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	return s, nil
}

// Addr is where the ModelService listens.
func (s *Service) Addr() net.Addr { return s.listener.Addr() }

// MetricsAddr is where /metrics and /healthz are, or nil.
func (s *Service) MetricsAddr() net.Addr {
	if s.http == nil {
		return nil
	}
	return s.http.Addr()
}

// Models is the server behind the service, for those in the same process.
func (s *Service) Models() *modelserver.Server { return s.models }

// Close frees the ports of a service that was never run.
func (s *Service) Close() error {
	var err error
	if s.http != nil {
		err = s.http.Close()
	}
	return errors.Join(err, s.listener.Close())
}

// Run serves until ctx ends, which is no error, or a part fails. All ports are
// free and all goroutines gone when it returns.
func (s *Service) Run(ctx context.Context) error {
	s.logger.Info("aggregator is listening", "grpc", s.Addr(), "metrics", s.MetricsAddr())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.models.Run(ctx) })
	group.Go(func() error { return s.serve(ctx) })
	if s.http != nil {
		group.Go(func() error { return s.http.Run(ctx) })
	}
	err := group.Wait()
	s.logger.Info("aggregator has stopped", "nodes", s.models.Stats().Nodes)
	return err
}

// stopGrace is how long calls in progress may delay the end.
const stopGrace = time.Second

func (s *Service) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	force := time.AfterFunc(stopGrace, s.server.Stop)
	defer force.Stop()
	s.server.GracefulStop()
	if err := <-served; !errors.Is(err, grpc.ErrServerStopped) { // ended before it began
		return err
	}
	return nil
}

// lateTicks is how many ticks the worker may miss before the service counts as
// unhealthy: an eigen-decomposition of the largest models takes milliseconds.
const lateTicks = 20

// healthy says whether models are still being published.
func (s *Service) healthy(tick time.Duration) func() error {
	if tick == 0 {
		tick = time.Second
	}
	started := time.Now()
	return func() error {
		last := s.models.Stats().At
		if last.IsZero() {
			last = started
		}
		if late := time.Since(last); late > lateTicks*tick {
			return fmt.Errorf("no model was published for %s", late.Round(time.Millisecond))
		}
		return nil
	}
}
