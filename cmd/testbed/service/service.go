package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spazio-scheduler/spazio/api/kube/server"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// LeaseName is the name of the lease of the service that works.
const LeaseName = "spazio-testbed"

// Config configures a service. The zero value runs all controllers, in a pod, alone.
type Config struct {
	// Namespaces and PlaceholderImage are those of controller.Options.
	Namespaces       []string
	PlaceholderImage string
	// Kubeconfig leads to the API server; empty means the pod's own account.
	Kubeconfig string
	// LeaderElect makes only one of several such services work, the one that has the lease in
	// LeaseNamespace; empty means the pod's own namespace. The lease is LeaseName.
	LeaderElect    bool
	LeaseNamespace string
	// Rooms has a Target if a scheduler reports the nodes' room. Without one, Testbeds whose
	// slotsPerNode is auto stay as they are. Its Logger and Transport are the service's own.
	Rooms room.Config
	// External is the interface for outside programs. Every replica serves it, whichever leads.
	// Beyond loopback it needs TLS.
	External External
	// Transport has the certificate of the interface, and the authorities that the scheduler is
	// trusted by. A scheduler that is shown no token is shown the certificate, too.
	Transport transport.Config
	// MetricsListen is the host:port of /metrics, /healthz and /readyz, always in plaintext; empty serves
	// none.
	MetricsListen string
	// MetricsDefault is set if MetricsListen is only the default: another service of this machine may
	// have it already.
	MetricsDefault bool
	// Logger gets starts, ends and failures; nil logs nothing.
	Logger *slog.Logger
}

// options returns the controllers' options.
func (c Config) options() controller.Options {
	return controller.Options{Namespaces: c.Namespaces, PlaceholderImage: c.PlaceholderImage, Logger: c.Logger}
}

// Validate returns what the config's parts refuse.
func (c Config) Validate() error {
	if err := c.options().Validate(); err != nil {
		return err
	}
	if err := c.Transport.Validate(); err != nil {
		return err
	}
	if c.Rooms.Target == "" {
		return nil
	}
	return c.rooms().Validate()
}

// rooms returns how the scheduler is called.
func (c Config) rooms() room.Config {
	r := c.Rooms
	r.Transport, r.Logger = c.Transport, c.Logger
	if r.TokenFile != "" {
		r.Transport.CertFile, r.Transport.KeyFile = "", "" // the certificate is a server's
	}
	return r
}

// serverTransport returns how the interface is served.
func (c Config) serverTransport() transport.Config {
	return transport.Config{CertFile: c.Transport.CertFile, KeyFile: c.Transport.KeyFile, Insecure: c.Transport.Insecure, Tokens: true}
}

// Service is the controllers with their listeners open. Its methods are safe for
// concurrent use, but Run is called once.
type Service struct {
	logger  *slog.Logger
	manager manager.Manager
	rooms   *room.Client // nil for none
	// forget ends rooms.
	forget   context.CancelFunc
	face     *face // nil for none
	shown    *endpoint.Servers
	registry *prometheus.Registry
	synced   chan struct{}
}

// New asks the API server which resources it has and opens the listeners, so that missing
// resources and a busy port show at once. It begins to follow the scheduler. The caller must Run
// or Close the service.
func New(ctx context.Context, c Config) (*Service, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	following, forget := context.WithCancel(context.WithoutCancel(ctx))
	s := &Service{logger: c.Logger, synced: make(chan struct{}), forget: forget}
	if err := s.open(ctx, following, c); err != nil {
		s.unfollow()
		return nil, err
	}
	return s, nil
}

// open makes all parts. The scheduler is followed until following ends.
func (s *Service) open(ctx, following context.Context, c Config) (err error) {
	options := c.options()
	s.registry = prometheus.NewRegistry()
	s.registry.MustRegister(build.Info("spazio-testbed"), server.Certificates(c.Transport))
	options.Registerer = s.registry
	if c.Rooms.Target != "" {
		if s.rooms, err = room.Watch(following, c.rooms()); err != nil {
			return err
		}
		options.Rooms = s.rooms
	}
	if err := s.manage(ctx, c, options); err != nil {
		return err
	}
	if s.face, err = newFace(ctx, c, s.manager, s.registry); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.face.close())
		}
	}()
	s.shown, err = endpoint.NewServers(ctx, endpoint.ServersConfig{
		Shown:   endpoint.Config{Gatherer: prometheus.Gatherers{s.registry, runtimemetrics.Registry}, Ready: s.Ready},
		Metrics: c.MetricsListen, MetricsDefault: c.MetricsDefault, Logger: s.logger,
	})
	return err
}

// unfollow stops following the scheduler.
func (s *Service) unfollow() {
	s.forget()
	if s.rooms != nil {
		s.rooms.Wait()
	}
}

// manage makes the manager with everything that it is to run.
func (s *Service) manage(ctx context.Context, c Config, options controller.Options) error {
	kube, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	kube.QPS = -1 // the workers bound it, and the API server does
	scheme, err := controller.Scheme()
	if err != nil {
		return err
	}
	// A replica that takes over has read everything already.
	warm, grace, again := true, time.Second, true
	s.manager, err = manager.New(kube, manager.Options{
		Scheme: scheme, Cache: controller.Cache(c.Namespaces), Logger: logr.FromSlogHandler(s.logger.Handler()),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", GracefulShutdownTimeout: &grace,
		LeaderElection: c.LeaderElect, LeaderElectionID: LeaseName, LeaderElectionNamespace: c.LeaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		Controller:                    config.Controller{EnableWarmup: &warm, SkipNameValidation: &again},
	})
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	if err := controller.Add(s.manager, options); err != nil {
		return err
	}
	for _, o := range []client.Object{&v1alpha1.Testbed{}, &v1alpha1.BatchJob{}, &v1alpha1.Scheduling{}, &corev1.Pod{}, &corev1.Node{}} {
		if _, err := s.manager.GetCache().GetInformer(ctx, o, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("follow %T: %w", o, err)
		}
	}
	return s.manager.Add(everywhere(func(ctx context.Context) error {
		if s.manager.GetCache().WaitForCacheSync(ctx) {
			close(s.synced)
		}
		return nil
	}))
}

// everywhere runs on each replica, whichever leads.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

var errReading = errors.New("objects are still being read from the API server")

// Ready returns nil once everything has been read, so that this replica may take over.
func (s *Service) Ready() error {
	select {
	case <-s.synced:
		return nil
	default:
		return errReading
	}
}

// Registry returns the metrics that are the service's own.
func (s *Service) Registry() *prometheus.Registry { return s.registry }

// ExternalAddr returns where the interface is served, or nil.
func (s *Service) ExternalAddr() net.Addr { return s.face.addr() }

// Close frees what New has opened. It is for a service that will not Run.
func (s *Service) Close() error {
	s.unfollow()
	return errors.Join(s.face.close(), s.shown.Close())
}

// Run works until ctx ends, which is no error, or a part fails, as when the lease is lost.
// All ports are free and all goroutines gone when it returns.
func (s *Service) Run(ctx context.Context) error {
	defer s.unfollow()
	s.logger.Info("spazio-testbed is running", "metrics", s.shown.MetricsAddr(), "interface", s.face.addr())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.manager.Start(ctx) })
	group.Go(func() error { return s.shown.Run(ctx) })
	if s.face != nil {
		group.Go(func() error { return s.face.run(ctx) })
	}
	err := group.Wait()
	s.logger.Info("spazio-testbed has stopped")
	return err
}
