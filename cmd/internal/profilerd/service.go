package profilerd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/api/identity"
	"github.com/spazio-scheduler/spazio/api/identity/access"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/endpoint"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	"github.com/spazio-scheduler/spazio/profile/profiler/usageserver"
	history "github.com/spazio-scheduler/spazio/profile/prometheus"
)

// DebugPath shows what is known of all workloads, as JSON.
const DebugPath = "/debug/profiles"

// Config of a profiler service.
type Config struct {
	// Listen is host:port of the gRPC service. MetricsListen is that of /metrics,
	// /healthz and /readyz, in plaintext wherever it is; DebugListen, on loopback
	// alone, that of the same and of DebugPath. Either is empty for none.
	Listen, MetricsListen, DebugListen string
	// debugDefault says that nobody asked for DebugListen.
	debugDefault bool
	// Transport has ClientCAFile where agents are known by certificates.
	Transport transport.Config
	// AgentServiceAccount is the agents', as namespace/name: a stream must then show
	// a token of it for TokenAudience that is bound to a pod, and is believed of that
	// pod's node alone. Empty asks nobody.
	AgentServiceAccount, TokenAudience string
	// Kubeconfig leads to the API server; empty is the pod's own.
	Kubeconfig     string
	LeaseNamespace string
	WriteRate      float64
	Store          profiler.Config
	// Prometheus has an Address where history is asked for.
	Prometheus history.Config
	Limits     transport.Limits
	// Logger gets starts, ends and failures; nil logs nothing.
	Logger *slog.Logger
}

var (
	errAccount   = fmt.Errorf("%w: not namespace/name", transport.ErrInvalid)
	errPlaintext = fmt.Errorf("%w: tokens are not taken in plaintext: give a certificate and key", transport.ErrInvalid)
)

// Validate returns what the config's parts refuse.
func (c Config) Validate() error {
	if account := c.AgentServiceAccount; account != "" {
		namespace, name, _ := strings.Cut(account, "/")
		switch {
		case namespace == "" || name == "" || strings.Contains(name, "/"):
			return &transport.FieldError{Field: "AgentServiceAccount", Value: account, Err: errAccount}
		case c.Transport.CertFile == "":
			return &transport.FieldError{Field: "AgentServiceAccount", Value: account, Err: errPlaintext}
		}
	}
	if !(c.WriteRate > 0) {
		return &profiler.FieldError{Field: "WriteRate", Value: c.WriteRate, Err: profiler.ErrInvalid}
	}
	err := cmp.Or(c.Transport.Validate(), c.Limits.Validate(), c.Store.Validate())
	if err == nil && c.Prometheus.Address != "" {
		err = c.Prometheus.Validate()
	}
	return err
}

// Service is a profiler with its listeners open. Run is called once.
type Service struct {
	logger     *slog.Logger
	store      *profiler.Store
	controller *controller.Controller
	server     *grpc.Server
	health     *health.Server
	listener   net.Listener
	metrics    *endpoint.HTTP // nil without MetricsListen
	debug      *endpoint.HTTP // nil without DebugListen
}

// New opens the listeners, so that a busy port is known at once. The caller must Run
// the service.
func New(ctx context.Context, c Config) (s *Service, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s = &Service{logger: c.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	kube, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	callers, err := c.callers(kube, s.logger)
	if err != nil {
		return nil, err
	}
	if s.store, err = profiler.New(c.Store); err != nil {
		return nil, err
	}
	usage := usageserver.Config{}
	if callers != nil {
		usage.Identify = func(ctx context.Context) (usageserver.Caller, error) {
			caller, err := access.From(ctx)
			return usageserver.Caller{Node: caller.Node}, err
		}
	}
	server := usageserver.New(s.store, usage)
	registry := prometheus.NewRegistry()
	registry.MustRegister(controller.Collector(s.store, server), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	config := controller.Config{
		Store: s.store, REST: kube, Heard: server.Heard(), LeaseNamespace: c.LeaseNamespace, WriteRate: c.WriteRate, Registerer: registry, Logger: s.logger,
	}
	if c.Prometheus.Address != "" {
		if config.History, err = history.New(c.Prometheus); err != nil {
			return nil, err
		}
	}
	if s.controller, err = controller.New(config); err != nil {
		return nil, err
	}
	if err := s.listen(ctx, c, callers, registry); err != nil {
		return nil, err
	}
	spaziov1.RegisterUsageServiceServer(s.server, server)
	return s, s.show(ctx, c, registry)
}

// callers returns what holds agents to their rights, nil where nobody is known.
func (c Config) callers(kube *rest.Config, logger *slog.Logger) (*access.Callers, error) {
	if c.AgentServiceAccount == "" {
		if c.Transport.ClientCAFile == "" {
			return nil, nil
		}
		return access.New(access.Config{Logger: logger}), nil
	}
	reviews, err := identity.NewReviews(kube)
	if err != nil {
		return nil, err
	}
	agents := identity.NewReviewer(identity.Config{Reviews: reviews, ServiceAccount: c.AgentServiceAccount, Audience: c.TokenAudience})
	return access.New(access.Config{Agents: agents, Logger: logger}), nil
}

// listen opens the gRPC server. Streams last an hour, so that an agent whose token is
// no longer good ends with them.
func (s *Service) listen(ctx context.Context, c Config, callers *access.Callers, registry *prometheus.Registry) error {
	c.Limits.Age = cmp.Or(c.Limits.Age, time.Hour)
	c.Limits.Message = cmp.Or(c.Limits.Message, 64<<10+1<<10)
	c.Transport.Tokens = c.AgentServiceAccount != ""
	guard, err := transport.NewGuard(c.Limits)
	if err != nil {
		return err
	}
	options, err := guard.ServerOptions(c.Transport)
	if err != nil {
		return err
	}
	if callers != nil {
		options = append(options, grpc.ChainUnaryInterceptor(callers.Unary), grpc.ChainStreamInterceptor(callers.Stream))
	}
	registry.MustRegister(calls{guard, callers}, endpoint.Certificates{Transport: c.Transport})
	options = append(options, grpc.ReadBufferSize(readBuffer))
	s.server, s.health = grpc.NewServer(options...), health.NewServer()
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	grpc_health_v1.RegisterHealthServer(s.server, s.health)
	s.listener, err = guard.Listen(ctx, c.Listen, c.Transport)
	return err
}

// readBuffer is that of a connection: a batch of a node's pods takes some hundred
// bytes, and there are thousands of nodes.
const readBuffer = 1 << 10

// show opens the HTTP servers.
func (s *Service) show(ctx context.Context, c Config, registry *prometheus.Registry) (err error) {
	shown := endpoint.HTTPConfig{Gatherer: registry, Ready: s.controller.Ready, Addr: c.MetricsListen}
	if c.MetricsListen != "" {
		if s.metrics, err = endpoint.NewMetrics(ctx, shown); err != nil {
			return fmt.Errorf("--metrics-listen: %w", err)
		}
	}
	if c.DebugListen == "" {
		return nil
	}
	shown.Addr, shown.Handlers = c.DebugListen, map[string]http.Handler{"GET " + DebugPath: http.HandlerFunc(s.state)}
	if s.debug, err = endpoint.NewDebug(ctx, shown); err != nil && c.debugDefault {
		s.logger.Info("no debug server: its address is taken", "address", c.DebugListen, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("--debug-listen: %w", err)
	}
	return nil
}

func addressOf(h *endpoint.HTTP) net.Addr {
	if h == nil {
		return nil
	}
	return h.Addr()
}

func (s *Service) state(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.store.State(time.Now())) // who asked has gone
}

// Run serves until ctx ends, which is no error, or a part fails. All ports are free
// and all goroutines gone when it returns.
func (s *Service) Run(ctx context.Context) error {
	s.logger.Info("profiler is listening", "grpc", s.listener.Addr(), "metrics", addressOf(s.metrics), "debug", addressOf(s.debug))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.controller.Run(ctx) })
	group.Go(func() error { return s.serve(ctx) })
	for _, h := range []*endpoint.HTTP{s.metrics, s.debug} {
		if h != nil {
			group.Go(func() error { return h.Run(ctx) })
		}
	}
	err := group.Wait()
	s.logger.Info("profiler has stopped", "workloads", s.store.Stats().Workloads)
	return err
}

// stopGrace is how long streams may delay the end.
const stopGrace = time.Second

// serve answers agents once checkpoints have been read: what they say would hide
// what was learnt before.
func (s *Service) serve(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return s.listener.Close()
	case <-s.controller.Restored():
	}
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
	case <-ctx.Done():
	}
	s.health.Shutdown()
	force := time.AfterFunc(stopGrace, s.server.Stop)
	defer force.Stop()
	s.server.GracefulStop()
	if err := <-served; !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// calls shows who was refused.
type calls struct {
	guard   *transport.Guard
	callers *access.Callers // nil where nobody is known
}

var (
	refusedDesc    = prometheus.NewDesc("spazio_profiler_refused_callers_total", "Connections closed because there were too many of them, or of calls.", []string{"cause"}, nil)
	identitiesDesc = prometheus.NewDesc("spazio_identities_total", "Calls by what was found of who makes them; unknown if the API server could not be asked, throttled if it was not.", []string{"result"}, nil)
)

// Describe implements prometheus.Collector.
func (c calls) Describe(out chan<- *prometheus.Desc) {
	out <- refusedDesc
	out <- identitiesDesc
}

// Collect implements prometheus.Collector.
func (c calls) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
	}
	stats := c.guard.Stats()
	count(refusedDesc, stats.Refused, "connections")
	count(refusedDesc, stats.Overcalled, "calls")
	if c.callers != nil {
		for result, n := range c.callers.Results() {
			count(identitiesDesc, n, result)
		}
	}
}
