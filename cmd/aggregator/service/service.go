package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api/kube/server"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// Config configures an aggregator service.
type Config struct {
	// Listen is the host:port of the gRPC service. MetricsListen is that of /metrics, /healthz
	// and /readyz, always in plaintext; DebugListen, only on loopback, is that of the same and of
	// modelserver.DebugPath. Without MetricsListen or DebugListen these are not served.
	Listen, MetricsListen, DebugListen string
	// DebugDefault is set if DebugListen is only the default: another aggregator of this machine
	// may have it already.
	DebugDefault bool
	// Callers configures who may call the service. Its Listen, Reviews, Options and Logger are
	// the service's own. Limits that are zero are those of pushes, the audience is
	// defaultAudience, and Peers are the hosts of Peers.Targets.
	Callers server.Config
	// Kubeconfig leads to the API server that reviews the callers' tokens; empty means the pod's
	// own account.
	Kubeconfig string
	// Server configures how models are merged. The functions that it calls are the service's own.
	Server modelserver.Config
	// Peers configures where the other replicas are. Its Transport and OnError are the service's
	// own.
	Peers modelserver.PeersConfig
	// Snapshot is the file that the state is read from at the start. It is written to every
	// SnapshotInterval, default 10 s, and at the end; empty means no file.
	Snapshot         string
	SnapshotInterval time.Duration
	// Logger gets starts, ends and refused models; nil logs nothing.
	Logger *slog.Logger
}

// Validate returns what the config's parts refuse.
func (c Config) Validate() error {
	if err := c.callers().Validate(); err != nil {
		return err
	}
	if err := c.peers(nil).Validate(); err != nil {
		return err
	}
	if c.SnapshotInterval < 0 {
		return &field.Error{Package: "aggregate", Field: "SnapshotInterval", Value: c.SnapshotInterval, Err: aggregate.ErrRange}
	}
	return c.Server.Validate()
}

func (c Config) peers(onError func(string, error)) modelserver.PeersConfig {
	c.Peers.Transport, c.Peers.OnError = c.Callers.Transport, onError
	return c.Peers
}

// Service is an aggregator with its listeners open. Its methods are safe for concurrent
// use, but Run is called once.
type Service struct {
	logger   *slog.Logger
	models   *modelserver.Server
	peers    *modelserver.Peers  // nil without targets
	snapshot *modelserver.Keeper // nil without a file
	server   *server.Server
	shown    *endpoint.Servers
	registry *prometheus.Registry
	// asksClients: callers must show certificates.
	asksClients bool
}

// New reads the snapshot and opens the listeners, so that a busy port is known
// at once. A snapshot that is no good is logged, and the service starts
// without. The caller must Run or Close the service.
func New(ctx context.Context, c Config) (*Service, error) {
	s := &Service{logger: c.Logger, asksClients: c.Callers.Transport.ClientCAFile != ""}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	callers := c.callers()
	callers.Logger = s.logger
	var err error
	if callers.Reviews, err = c.reviews(); err != nil {
		return nil, err
	}
	if callers.Knows() {
		c.Server.Identify = identify
	}
	// A caller that invents names must not fill the log.
	sparsely := rate.Sometimes{Interval: time.Second}
	c.Server.OnError = func(err error) {
		sparsely.Do(func() { s.logger.Error("a model was not merged; at most one a second is logged", "error", err) })
	}
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
	seconds := newPushSeconds()
	callers.Options = append(callers.Options, grpc.ChainUnaryInterceptor(observe(seconds)))
	if s.server, err = server.New(ctx, callers); err != nil {
		return nil, err
	}
	spaziov1.RegisterModelServiceServer(s.server, s.models)
	if s.peers != nil { // others are answered only if there are some
		spaziov1.RegisterPeerServiceServer(s.server, s.models)
	}
	s.registry = prometheus.NewRegistry()
	s.registry.MustRegister(seconds, modelserver.Collector(s.models, s.peers, s.snapshot), s.server.Collector("aggregator"))
	if err := build.Register(s.registry, "spazio-aggregator"); err != nil {
		return nil, errors.Join(err, s.server.Close())
	}
	s.shown, err = endpoint.NewServers(ctx, endpoint.ServersConfig{
		Shown: endpoint.Config{
			Gatherer: s.registry, Health: s.models.Healthy, Ready: s.ready,
			Handlers: map[string]http.Handler{modelserver.DebugPath: s.models.Handler()},
		},
		Metrics: c.MetricsListen, Debug: c.DebugListen, DebugDefault: c.DebugDefault, Logger: s.logger,
	})
	if err != nil {
		return nil, errors.Join(err, s.server.Close())
	}
	return s, nil
}

var errNotReady = errors.New("pushes are not answered with models yet")

func (s *Service) ready() error {
	if !s.models.Ready() {
		return errNotReady
	}
	return nil
}

func (s *Service) peerLost(peer string, err error) {
	s.logger.Warn("another replica can't be reached; trying again", "peer", peer, "error", err)
}

// Addr returns where the ModelService listens.
func (s *Service) Addr() net.Addr { return s.server.Addr() }

// MetricsAddr returns where /metrics, /healthz and /readyz are, or nil.
func (s *Service) MetricsAddr() net.Addr { return s.shown.MetricsAddr() }

// DebugAddr returns where the models are shown, or nil.
func (s *Service) DebugAddr() net.Addr { return s.shown.DebugAddr() }

// Registry returns the metrics that the service shows.
func (s *Service) Registry() *prometheus.Registry { return s.registry }

// Models returns the server behind the service, for callers in the same process.
func (s *Service) Models() *modelserver.Server { return s.models }

// Close frees the ports of a service that was never run.
func (s *Service) Close() error { return errors.Join(s.server.Close(), s.shown.Close()) }

// Run serves until ctx ends, which is no error, or a part fails. All ports are
// free and all goroutines gone when it returns.
func (s *Service) Run(ctx context.Context) error {
	s.logger.Info("aggregator is listening", "grpc", s.Addr(), "metrics", s.MetricsAddr(), "debug", s.DebugAddr(), "clientCertificates", s.asksClients)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.models.Run(ctx) })
	group.Go(func() error { return s.server.Run(ctx) })
	group.Go(func() error { return s.announce(ctx) })
	group.Go(func() error { return s.shown.Run(ctx) })
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
	s.logger.Info("aggregator has stopped", "nodes", s.models.Nodes())
	return err
}

// announce reports the service as serving to health checks once pushes are answered with models.
func (s *Service) announce(ctx context.Context) error {
	if s.models.AwaitReady(ctx) == nil {
		s.server.SetServing()
	}
	return nil
}
