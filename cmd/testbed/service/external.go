package service

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
	callers "github.com/spazio-scheduler/spazio/api/kube/server"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/ui"
	"github.com/spazio-scheduler/spazio/operator/backend"
)

// External configures the external scheduler's interface. The zero value serves none.
type External struct {
	// Listen is host:port; empty serves nothing.
	Listen string
	// Default is set if Listen is only the default: another service of this machine may have it
	// already.
	Default bool
	// SeedPaths also serves the paths of L. Schwerdtfeger's thesis, in DefaultNamespace
	// (server.Config.SeedPaths).
	SeedPaths        bool
	DefaultNamespace string
	// Audience is the audience of accepted tokens; default that of the backend.
	Audience string
	// Review is how long the API server's answers count, about the owner of a token and about
	// what a caller may do; default backend.DefaultReview.
	Review time.Duration
	// Limits bound what callers may use, and Watch has the intervals of watches.
	Limits server.Limits
	Watch  server.WatchConfig
	// UI also serves the pages at /ui/.
	UI bool
}

// Limits on how long a connection may take to send its headers, how long it may be idle, and how
// long all of them may take to end.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 5 * time.Second
)

// connections allows a thousand watches, and requests beside them. Callers behind one address,
// such as a proxy's, may have half of what all unauthenticated callers may have.
var connections = transport.Limits{Connections: 4096, Unauthenticated: 512}

// face is the interface with its listener open. Run is called once, or Close.
type face struct {
	api      *server.Server
	http     *http.Server
	listener net.Listener
}

// newFace opens the interface on a manager that will run. It returns nil if the interface is not
// to be served.
func newFace(ctx context.Context, c Config, mgr manager.Manager, registerer prometheus.Registerer) (*face, error) {
	e := c.External
	if e.Listen == "" {
		return nil, nil
	}
	own := c.serverTransport()
	encrypted, err := transport.ServerTLS(own)
	if err != nil {
		return nil, err
	}
	guard, err := transport.NewConnLimiter(connections)
	if err != nil {
		return nil, err
	}
	if err := registerer.Register(callers.Refusals("testbed", guard)); err != nil {
		return nil, err
	}
	listener, err := guard.Listen(ctx, e.Listen, own)
	if err != nil && e.Default && !refused(err) {
		c.Logger.Warn("the API of test beds is not served: its address is in use", "address", e.Listen, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("serve the interface: %w", err)
	}
	if encrypted != nil {
		listener = tls.NewListener(listener, encrypted)
	}
	f := &face{listener: listener}
	if f.api, err = newAPI(ctx, c, mgr, registerer); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	f.http = &http.Server{
		Handler: f.api, ConnContext: transport.ConnContext, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	return f, nil
}

// refused reports whether an error means that the address must not be listened on with this
// configuration, because of plaintext or unauthenticated callers.
func refused(err error) bool {
	var plaintext *transport.PlaintextError
	var unauthenticated *transport.UnauthenticatedError
	return errors.As(err, &plaintext) || errors.As(err, &unauthenticated)
}

// newAPI makes the handler of the interface.
func newAPI(ctx context.Context, c Config, mgr manager.Manager, registerer prometheus.Registerer) (*server.Server, error) {
	e := c.External
	reviews, err := identity.NewReviews(mgr.GetConfig())
	if err != nil {
		return nil, err
	}
	authorizer := backend.NewAuthorizer(mgr.GetClient(), e.Review, nil)
	store, err := backend.NewStore(ctx, backend.Config{
		Cache: mgr.GetCache(), Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Authorizer: authorizer,
		Namespaces: c.Namespaces, Logger: c.Logger,
	})
	if err != nil {
		return nil, err
	}
	var pages func(http.Handler) http.Handler
	if e.UI {
		pages = func(api http.Handler) http.Handler { return ui.Handler(ui.Config{API: api, Logger: c.Logger}) }
	}
	return server.New(server.Config{
		Store: store, Authenticator: backend.NewAuthenticator(reviews, e.Audience, e.Review, nil), Authorizer: authorizer,
		SeedPaths: e.SeedPaths, DefaultNamespace: cmp.Or(e.DefaultNamespace, "default"), UI: pages, Limits: e.Limits, Watch: e.Watch,
		Logger: c.Logger, Registerer: registerer,
	})
}

// run serves until ctx ends. Then the watches end, and requests get some time to end.
func (f *face) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.api.Run(ctx) })
	group.Go(func() error {
		if err := f.http.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the interface: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		if f.http.Shutdown(drain) != nil { // a request has not ended
			return f.http.Close()
		}
		return nil
	})
	return group.Wait()
}

// addr returns where the interface is, or nil.
func (f *face) addr() net.Addr {
	if f == nil {
		return nil
	}
	return f.listener.Addr()
}

func (f *face) close() error {
	if f == nil {
		return nil
	}
	return f.listener.Close()
}
