package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/api/kube/server"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	history "github.com/spazio-scheduler/spazio/profile/profiler/prometheus"
)

// defaultAudience is the audience of the agents' tokens; no other receiver uses it.
const defaultAudience = "spazio-profiler"

// DebugPath shows what is known about all workloads, as JSON.
const DebugPath = "/debug/profiles"

// Config configures a profiler service.
type Config struct {
	// Listen is the host:port of the gRPC service. MetricsListen is that of /metrics, /healthz
	// and /readyz, always in plaintext; DebugListen, only on loopback, is that of the same and of
	// DebugPath. Without MetricsListen or DebugListen these are not served.
	Listen, MetricsListen, DebugListen string
	// DebugDefault is set if DebugListen is only the default: another profiler of this machine
	// may have it already.
	DebugDefault bool
	// Callers configures who may call the service. Its Listen, Reviews and Logger are the
	// service's own, the service adds to its Options, and the audience is defaultAudience.
	Callers server.Config
	// Kubeconfig leads to the API server; empty means the pod's own account.
	Kubeconfig string
	// LeaseNamespace is the namespace of the lease that the writer holds; empty means the pod's
	// own.
	LeaseNamespace string
	// WriteRate is the maximum number of writes to the API server per second; 0 means 10.
	WriteRate float64
	// Store configures how workloads are learned.
	Store profiler.Config
	// Controller configures what is written besides profiles. Its VPAName, Resize and ExportLiqo
	// count; the rest is the service's own.
	Controller controller.Config
	// Prometheus has an Address if history is to be queried.
	Prometheus history.Config
	// Logger gets starts, ends and failures; nil logs nothing.
	Logger *slog.Logger
}

// Validate returns what the config's parts refuse, or a *field.Error.
func (c Config) Validate() error {
	if !(c.WriteRate >= 0) {
		return &field.Error{Package: "profiler", Field: "WriteRate", Value: c.WriteRate, Err: profiler.ErrInvalid}
	}
	err := cmp.Or(c.callers().Validate(), c.Store.Validate())
	if err == nil && c.Prometheus.Address != "" {
		err = c.Prometheus.Validate()
	}
	return err
}

// Service is a profiler with its listeners open. Its methods are safe for concurrent use,
// but Run is called once.
type Service struct {
	logger     *slog.Logger
	store      *profiler.Store
	controller *controller.Controller
	server     *server.Server
	shown      *endpoint.Servers
	registry   *prometheus.Registry
	// asksClients: callers must show certificates.
	asksClients bool
}

// New opens the listeners, so that a busy port is known at once. The caller must Run
// or Close the service.
func New(ctx context.Context, c Config) (s *Service, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s = &Service{logger: c.Logger, asksClients: c.Callers.Transport.ClientCAFile != ""}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	kube, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	if s.store, err = profiler.New(c.Store); err != nil {
		return nil, err
	}
	usage := profiler.ServerConfig{Logger: s.logger}
	if c.Callers.Knows() {
		usage.Identify = func(ctx context.Context) (node string, err error) {
			caller, err := server.CallerFrom(ctx)
			return caller.Node, err
		}
	}
	batches := profiler.NewServer(s.store, usage)
	s.registry = prometheus.NewRegistry()
	s.registry.MustRegister(profiler.Collector(batches))
	if err := build.Register(s.registry, "spazio-profiler"); err != nil {
		return nil, err
	}
	config := c.Controller
	config.Store, config.REST, config.Received, config.Registerer, config.Logger = s.store, kube, batches.Received(), s.registry, s.logger
	config.LeaseNamespace, config.WriteRate = c.LeaseNamespace, c.WriteRate
	if c.Prometheus.Address != "" {
		known, err := history.New(c.Prometheus)
		if err != nil {
			return nil, err
		}
		config.History, config.Services = known, known
	}
	if s.controller, err = controller.New(config); err != nil {
		return nil, err
	}
	callers := c.callers()
	callers.Logger = s.logger
	if callers.Reviews, err = identity.NewReviews(kube); err != nil {
		return nil, err
	}
	if s.server, err = server.New(ctx, callers); err != nil {
		return nil, err
	}
	spaziov1.RegisterUsageServiceServer(s.server, batches)
	s.registry.MustRegister(s.server.Collector("profiler"))
	s.shown, err = endpoint.NewServers(ctx, endpoint.ServersConfig{
		Shown: endpoint.Config{
			Gatherer: s.registry, Ready: s.controller.Ready,
			Handlers: map[string]http.Handler{"GET " + DebugPath: http.HandlerFunc(s.state)},
		},
		Metrics: c.MetricsListen, Debug: c.DebugListen, DebugDefault: c.DebugDefault, Logger: s.logger,
	})
	if err != nil {
		return nil, errors.Join(err, s.server.Close())
	}
	return s, nil
}

// callers returns the config's callers with the profiler's defaults. Connections last an hour, so
// that they end for an agent whose token is no longer good.
func (c Config) callers() server.Config {
	callers := c.Callers
	callers.Listen = c.Listen
	callers.Audience = cmp.Or(callers.Audience, defaultAudience)
	callers.Limits.Age = cmp.Or(callers.Limits.Age, time.Hour)
	callers.Limits.Message = cmp.Or(callers.Limits.Message, 64<<10+1<<10)
	// An agent's connection has one stream, whose headers nothing will refer to again.
	callers.Options = append(slices.Clip(callers.Options), grpc.ReadBufferSize(buffer), grpc.WriteBufferSize(buffer), grpc.HeaderTableSize(0))
	return callers
}

// buffer is the size of a connection's buffer in each direction: a batch of a node's pods takes
// some kilobytes and its answer some bytes, and there are thousands of nodes.
const buffer = 2 << 10

// Addr returns where the UsageService listens.
func (s *Service) Addr() net.Addr { return s.server.Addr() }

// Registry returns the metrics that the service shows.
func (s *Service) Registry() *prometheus.Registry { return s.registry }

// Close frees what New has opened. It is for a service that will not Run.
func (s *Service) Close() error { return errors.Join(s.server.Close(), s.shown.Close()) }

func (s *Service) state(w http.ResponseWriter, _ *http.Request) {
	if err := transport.AnswerJSON(w, s.store.State(time.Now())); err != nil {
		s.logger.Error("the state cannot be written as JSON", "error", err)
	}
}

// Run serves until ctx ends, which is no error, or a part fails. All ports are free
// and all goroutines gone when it returns.
func (s *Service) Run(ctx context.Context) error {
	s.logger.Info("profiler is listening", "grpc", s.server.Addr(), "metrics", s.shown.MetricsAddr(), "debug", s.shown.DebugAddr(), "clientCertificates", s.asksClients)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.controller.Run(ctx) })
	group.Go(func() error { return s.serve(ctx) })
	group.Go(func() error { return s.shown.Run(ctx) })
	err := group.Wait()
	s.logger.Info("profiler has stopped", "workloads", s.store.Stats().Workloads)
	return err
}

// serve answers agents once checkpoints have been read, because their reports would hide what was
// learned before.
func (s *Service) serve(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return s.server.Close()
	case <-s.controller.Restored():
	}
	s.server.SetServing()
	return s.server.Run(ctx)
}
