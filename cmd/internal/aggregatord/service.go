package aggregatord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api/identity/access"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/endpoint"
)

// Config of an aggregator service.
type Config struct {
	// Listen is host:port of the gRPC service. MetricsListen is that of /metrics,
	// /healthz and /readyz, in plaintext wherever it is; DebugListen, on loopback
	// alone, that of the same and of modelserver.DebugPath. Either is empty for none.
	Listen, MetricsListen, DebugListen string
	// debugDefault says that nobody asked for DebugListen: another aggregator of
	// this machine may have it.
	debugDefault bool
	// Transport has ClientCAFile for replicas that know each other by their
	// certificates. Its Tokens is the service's own.
	Transport transport.Config
	// AgentServiceAccount is the agents', as namespace/name: each push must then
	// show a token of it for TokenAudience, default spazio-aggregator, that is
	// bound to a pod, and is believed of that pod's node alone. Empty asks nobody;
	// beyond loopback ClientCAFile or Transport.Insecure is needed then.
	AgentServiceAccount, TokenAudience string
	// Kubeconfig leads to the API server that is asked; empty is the pod's own.
	Kubeconfig string
	// PeerNames are those of the replicas' service, one of which another replica's
	// certificate must be for; default the hosts of Peers.Targets.
	PeerNames []string
	// Limits bound what callers can hold; see limits for the service's own.
	Limits transport.Limits
	// Server says how models are merged. What it calls is the service's own.
	Server modelserver.Config
	// Peers says where the other replicas are. Its Transport and OnError are the
	// service's own.
	Peers modelserver.PeersConfig
	// Snapshot is the file that the state is read from at the start and written
	// to every SnapshotInterval, default 10 s, and at the end; empty for none.
	Snapshot         string
	SnapshotInterval time.Duration
	// Logger gets starts, ends and refused models; nil logs nothing.
	Logger *slog.Logger
}

// Validate returns what the config's parts refuse.
func (c Config) Validate() error {
	if err := c.Transport.Validate(); err != nil {
		return err
	}
	if err := c.Limits.Validate(); err != nil {
		return err
	}
	if err := c.validateIdentity(); err != nil {
		return err
	}
	if err := c.peers(nil).Validate(); err != nil {
		return err
	}
	switch sequential := c.Server.Aggregate.Policy == aggregate.Sequential; {
	case c.SnapshotInterval < 0:
		return &aggregate.FieldError{Field: "SnapshotInterval", Value: c.SnapshotInterval, Err: aggregate.ErrRange}
	case sequential && c.Snapshot != "":
		return &aggregate.FieldError{Field: "Snapshot", Value: c.Snapshot, Err: aggregate.ErrPolicy}
	case sequential && len(c.Peers.Targets) > 0:
		return &aggregate.FieldError{Field: "Targets", Value: c.Peers.Targets, Err: aggregate.ErrPolicy}
	}
	return c.Server.Validate()
}

// limits are those of transport, but for pushes: they are over in milliseconds,
// an agent makes one at a time, and the largest takes 35 KiB. They lose nothing
// by a connection's end.
func limits(l transport.Limits) transport.Limits {
	l.Calls = cmp.Or(l.Calls, 1024)
	l.CallsOfOne = cmp.Or(l.CallsOfOne, 256)
	l.CallTime = cmp.Or(l.CallTime, 10*time.Second)
	l.Message = cmp.Or(l.Message, 64<<10)
	l.Age = cmp.Or(l.Age, time.Hour)
	return l
}

func (c Config) peers(onError func(string, error)) modelserver.PeersConfig {
	c.Peers.Transport, c.Peers.OnError = c.Transport, onError
	return c.Peers
}

// Service is an aggregator with its listeners open. Run is called once.
type Service struct {
	logger   *slog.Logger
	models   *modelserver.Server
	peers    *modelserver.Peers  // nil without targets
	snapshot *modelserver.Keeper // nil without a file
	guard    *transport.Guard
	callers  *access.Callers // nil where nobody is known
	server   *grpc.Server
	health   *health.Server
	listener net.Listener
	metrics  *endpoint.HTTP // nil without MetricsListen
	debug    *endpoint.HTTP // nil without DebugListen
}

// New reads the snapshot and opens the listeners, so that a busy port is known
// at once. A snapshot that is no good is logged, and the service starts
// without. The caller must Run or Close the service.
func New(ctx context.Context, c Config) (*Service, error) {
	s := &Service{logger: c.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	var err error
	if s.callers, err = c.callers(s.logger); err != nil {
		return nil, err
	}
	c.Transport.Tokens = c.AgentServiceAccount != ""
	if s.callers != nil {
		c.Server.Identify = identify
	}
	ticks := newTickSeconds()
	// Whoever invents names must not fill the log.
	sparsely := rate.Sometimes{Interval: time.Second}
	c.Server.OnError = func(err error) {
		sparsely.Do(func() { s.logger.Error("a model was not merged; at most one a second is logged", "error", err) })
	}
	c.Server.OnTick = func(took time.Duration) { ticks.Observe(took.Seconds()) }
	c.Server.Hold = len(c.Peers.Targets) > 0
	if s.models, err = modelserver.New(c.Server); err != nil {
		return nil, err
	}
	if c.Server.Hold {
		if s.peers, err = modelserver.NewPeers(s.models, c.peers(s.peerLost)); err != nil {
			return nil, err
		}
	}
	if c.Snapshot != "" {
		keeper := modelserver.KeeperConfig{Path: c.Snapshot, Interval: c.SnapshotInterval, Logger: s.logger}
		if s.snapshot, err = modelserver.NewKeeper(s.models, keeper); err != nil {
			return nil, err
		}
		s.snapshot.Restore()
	}
	registry, seconds := prometheus.NewRegistry(), newPushSeconds()
	registry.MustRegister(seconds, ticks, modelserver.Collector(s.models, s.peers, s.snapshot), connections{s}, endpoint.Certificates{Transport: c.Transport}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.guard, err = transport.NewGuard(limits(c.Limits)); err != nil {
		return nil, err
	}
	if err := s.register(c.Transport, seconds); err != nil {
		return nil, err
	}
	if s.listener, err = s.guard.Listen(ctx, c.Listen, c.Transport); err != nil {
		return nil, err
	}
	if err := s.show(ctx, c, registry); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// show opens the HTTP servers.
func (s *Service) show(ctx context.Context, c Config, registry *prometheus.Registry) (err error) {
	shown := endpoint.HTTPConfig{Gatherer: registry, Health: s.healthy(c.Server.Tick), Ready: s.ready}
	if c.MetricsListen != "" {
		shown.Addr = c.MetricsListen
		if s.metrics, err = endpoint.NewMetrics(ctx, shown); err != nil {
			return fmt.Errorf("--metrics-listen: %w", err)
		}
	}
	if c.DebugListen == "" {
		return nil
	}
	shown.Addr, shown.Handlers = c.DebugListen, map[string]http.Handler{modelserver.DebugPath: s.models.Handler()}
	if s.debug, err = endpoint.NewDebug(ctx, shown); err != nil && c.debugDefault {
		s.logger.Info("no debug server: its address is taken", "address", c.DebugListen, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("--debug-listen: %w", err)
	}
	return nil
}

var errNotReady = errors.New("pushes are not answered with models yet")

func (s *Service) ready() error {
	if !s.models.Ready() {
		return errNotReady
	}
	return nil
}

// register makes the gRPC server. Other replicas are answered only where there
// are some.
func (s *Service) register(c transport.Config, seconds prometheus.Histogram) error {
	options, err := s.guard.ServerOptions(c)
	if err != nil {
		return err
	}
	options = append(options, grpc.ChainUnaryInterceptor(observe(seconds)))
	if s.callers != nil {
		options = append(options, grpc.ChainUnaryInterceptor(s.callers.Unary), grpc.ChainStreamInterceptor(s.callers.Stream))
	}
	s.server = grpc.NewServer(options...)
	s.health = health.NewServer()
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	grpc_health_v1.RegisterHealthServer(s.server, s.health)
	spaziov1.RegisterModelServiceServer(s.server, s.models)
	if s.peers != nil {
		spaziov1.RegisterPeerServiceServer(s.server, s.models)
	}
	return nil
}

func (s *Service) peerLost(peer string, err error) {
	s.logger.Warn("another replica can't be reached; trying again", "peer", peer, "error", err)
}

// Addr is where the ModelService listens.
func (s *Service) Addr() net.Addr { return s.listener.Addr() }

// MetricsAddr is where /metrics, /healthz and /readyz are, or nil.
func (s *Service) MetricsAddr() net.Addr { return addressOf(s.metrics) }

// DebugAddr is where the models are shown, or nil.
func (s *Service) DebugAddr() net.Addr { return addressOf(s.debug) }

func addressOf(h *endpoint.HTTP) net.Addr {
	if h == nil {
		return nil
	}
	return h.Addr()
}

// Models is the server behind the service, for those in the same process.
func (s *Service) Models() *modelserver.Server { return s.models }

// Close frees the ports of a service that was never run.
func (s *Service) Close() error {
	err := s.listener.Close()
	for _, h := range []*endpoint.HTTP{s.metrics, s.debug} {
		if h != nil {
			err = errors.Join(err, h.Close())
		}
	}
	return err
}

// Run serves until ctx ends, which is no error, or a part fails. All ports are
// free and all goroutines gone when it returns.
func (s *Service) Run(ctx context.Context) error {
	s.logger.Info("aggregator is listening", "grpc", s.Addr(), "metrics", s.MetricsAddr(), "debug", s.DebugAddr())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.models.Run(ctx) })
	group.Go(func() error { return s.serve(ctx) })
	group.Go(func() error { return s.announce(ctx) })
	for _, h := range []*endpoint.HTTP{s.metrics, s.debug} {
		if h != nil {
			group.Go(func() error { return h.Run(ctx) })
		}
	}
	if s.peers != nil {
		group.Go(func() error { return s.peers.Run(ctx) })
	}
	if s.snapshot != nil {
		group.Go(func() error { return s.snapshot.Run(ctx) })
	}
	err := group.Wait()
	if s.snapshot != nil {
		s.snapshot.Save() // with the last pushes
	}
	s.logger.Info("aggregator has stopped", "nodes", s.models.Stats().Nodes)
	return err
}

// readyPoll is how often readiness is looked at until it is there.
const readyPoll = 10 * time.Millisecond

// announce tells health checks once pushes are answered with models, and again
// when they will no longer be.
func (s *Service) announce(ctx context.Context) error {
	defer s.health.Shutdown()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for !s.models.Ready() {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
	<-ctx.Done()
	return nil
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
