package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
)

// Server is a gRPC server with its port open. Services are registered, then Run is
// called once; the other methods are safe for concurrent use.
type Server struct {
	transport transport.Config
	limiter   *transport.ConnLimiter
	callers   *callers // nil if callers are not known
	server    *grpc.Server
	health    *health.Server
	listener  net.Listener
}

// New opens the port, so that a busy one is known at once. The caller must Run or
// Close the server. Errors are *field.Error, those of transport.Listen, and
// the port's.
func New(ctx context.Context, c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.ServiceAccount != "" && c.Reviews == nil {
		return nil, &field.Error{Package: "transport", Field: "Reviews", Value: nil, Err: errNoReviews}
	}
	c.Transport.Tokens = c.ServiceAccount != ""
	limiter, err := transport.NewConnLimiter(c.Limits)
	if err != nil {
		return nil, err
	}
	options, err := limiter.ServerOptions(c.Transport)
	if err != nil {
		return nil, err
	}
	options = append(options, c.Options...)
	s := &Server{transport: c.Transport, limiter: limiter, callers: c.callers(), health: health.NewServer()}
	if s.callers != nil {
		options = append(options, grpc.ChainUnaryInterceptor(s.callers.unary), grpc.ChainStreamInterceptor(s.callers.stream))
	}
	s.server = grpc.NewServer(options...)
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	grpc_health_v1.RegisterHealthServer(s.server, s.health)
	if s.listener, err = limiter.Listen(ctx, c.Listen, c.Transport); err != nil {
		return nil, err
	}
	return s, nil
}

// RegisterService implements grpc.ServiceRegistrar. It is for the time before Run.
func (s *Server) RegisterService(d *grpc.ServiceDesc, service any) {
	s.server.RegisterService(d, service)
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// SetServing has health checks answered with SERVING from now on, until Run ends.
func (s *Server) SetServing() {
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
}

// Close frees the port of a server that was never run.
func (s *Server) Close() error { return s.listener.Close() }

// stopGrace is how long calls in progress may delay the end.
const stopGrace = time.Second

// Run serves until ctx ends, which is no error, or serving fails. Health checks fail before
// calls are refused. The port is free and all goroutines are gone when it returns.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	select {
	case err := <-served:
		s.health.Shutdown()
		return fmt.Errorf("serve %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	s.health.Shutdown()
	force := time.AfterFunc(stopGrace, s.server.Stop)
	defer force.Stop()
	s.server.GracefulStop()
	if err := <-served; !errors.Is(err, grpc.ErrServerStopped) { // ended before it began
		return err
	}
	return nil
}
