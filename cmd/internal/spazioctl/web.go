package spazioctl

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web"
)

// webOptions are the flags of spazio web.
type webOptions struct {
	scheduler scheduler
	listen    string
}

// newWebCommand returns the command spazio web.
func newWebCommand() *cobra.Command {
	o := webOptions{}
	c := &cobra.Command{
		Use:   "web",
		Short: "Show nodes, waiting pods and completion times on a page",
		Long: "spazio web serves a page on this machine's loopback, until interrupted: the nodes\n" +
			"by the pods that still fit, which pods wait and why, when pods were done under each\n" +
			"profile, and what has happened to one of them. It asks the leading scheduler through the\n" +
			"API server, and changes nothing.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	o.scheduler.flags(f)
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "host:port of the page, on loopback; port 0 is any that is free")
	return command.Serves(c)
}

// run ends with an error at once if the scheduler can't be asked; later the page says so.
func (o *webOptions) run(ctx context.Context, out io.Writer) error {
	scheduler, err := o.scheduler.open()
	if err != nil {
		return err
	}
	source := web.NewRelayClient(scheduler.Get, page.SourcePath)
	if _, err := source.State(ctx); err != nil {
		return err
	}
	shown, err := web.New(web.Config{Source: source})
	if err != nil {
		return err
	}
	server, err := endpoint.NewDebug(ctx, endpoint.Config{
		Addr: o.listen, Gatherer: prometheus.NewRegistry(), Handlers: map[string]http.Handler{"/": shown},
	})
	if err != nil {
		return flags.Refused(fmt.Errorf("--listen: %w", err))
	}
	address := "http://" + server.Addr().String() + "/"
	if _, err := fmt.Fprintln(out, address); err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return shown.Run(running) })
	group.Go(func() error { return server.Run(running) })
	return group.Wait()
}
