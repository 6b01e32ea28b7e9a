package schedulerd

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web"
)

// defaultDebugListen is where the commands spazio top and explain ask.
const defaultDebugListen = "127.0.0.1:9694"

// debugServer shows the Hub's state: kube-scheduler's own server takes no more
// handlers.
type debugServer struct {
	listen string
	// authenticate asks the API server who may see what is shown.
	authenticate bool
	hub          *plugin.Hub
}

func (d *debugServer) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&d.listen, "debug-listen", d.listen, "host:port of a page that shows nodes and pods, of "+plugin.DebugPath+", which spazio top, explain and web ask, and of /metrics, on loopback unless --debug-authentication; empty for none")
	flags.BoolVar(&d.authenticate, "debug-authentication", false, "serve --debug-listen over TLS, also beyond loopback, to whom the API server knows by a token or client certificate and gives the right to get the path, as kube-scheduler's own port")
}

// start serves until ctx ends or stop is called, which waits for the end. A busy
// default port, that of another scheduler on this machine, is no reason not to
// schedule.
func (d *debugServer) start(ctx context.Context, flags *pflag.FlagSet) (stop func(), err error) {
	if d.listen == "" {
		return func() {}, nil
	}
	p, err := page.New(web.Config{
		Source: page.NewSource(d.hub, page.Options{}), AnyHost: d.authenticate,
		Logger: slog.New(logr.ToSlogHandler(klog.FromContext(ctx))),
	})
	if err != nil {
		return nil, err
	}
	shown := endpoint.Config{Addr: d.listen, Gatherer: legacyregistry.DefaultGatherer, Handlers: p.Handlers()}
	shown.Handlers[plugin.DebugPath] = d.hub.Handler()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) }) // it ends with ctx alone
	end := func() { cancel(); running.Wait() }
	if d.authenticate {
		served, err := serveKnown(flags, shown)
		if err != nil {
			end()
			return nil, fmt.Errorf("--debug-authentication: %w", err)
		}
		return func() { end(); served() }, nil
	}
	server, err := endpoint.NewDebug(ctx, shown)
	if err != nil {
		end()
		if flags.Changed("debug-listen") {
			return nil, fmt.Errorf("--debug-listen: %w", err)
		}
		klog.FromContext(ctx).Info("No debug server: spazio top, explain and web can't ask this scheduler", "address", d.listen, "err", err)
		return func() {}, nil
	}
	running.Go(func() {
		if err := server.Run(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Debug server ended", "address", server.Addr())
		}
	})
	return end, nil
}
