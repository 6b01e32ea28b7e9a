package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

func main() { bench.Main(root(), roles()) }

// roles are what this program's children do.
func roles() map[string]children.Role {
	return map[string]children.Role{bench.ExecRole: bench.Exec, "watch": serve(&watch{}), "page": serve(&page{})}
}

// gcPercent lets this process's heap grow fivefold before it is collected. It holds many clients, or
// etcd and an API server: all of it would be marked all the time and hold up what is timed.
const gcPercent = 400

func root() *cobra.Command {
	c := &cobra.Command{Use: "load", Short: "Measure our programs under the load of a fleet"}
	add := func(use, short string, b benchmark) {
		c.AddCommand(bench.Command(use, short, b.flags, b.validate, b.measure))
	}
	add("testbeds", "Measure test beds on an embedded control plane", &testbeds{})
	add("watch", "Measure clients that watch pods come and go, on a Store in memory", &watch{})
	add("page", "Measure the page of a scheduler with many nodes", &page{})
	return c
}

// A benchmark is what a command measures, by the functions that bench.Command wants.
type benchmark interface {
	flags(*pflag.FlagSet)
	validate(args []string) error
	measure(ctx context.Context, r *bench.Result, g *children.Group, progress io.Writer) error
}

// during measures processes while load runs.
func during(ctx context.Context, duration time.Duration, load func(context.Context) error, pids ...int) (used []bench.Usage, err error) {
	loading, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- load(loading) }()
	used, err = bench.Follow(ctx, duration, pids...)
	stop()
	return used, errors.Join(err, <-ended)
}

// selfServing is a benchmark of a server that this program brings along: a handler, and what runs
// beside it.
type selfServing interface {
	benchmark
	server() (handler http.Handler, run func(context.Context) error, err error)
}

// serve is the server of a benchmark, the process under measurement, which prints its URL. Its
// arguments are flags.
func serve(s selfServing) children.Role {
	return func(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.flags(flags)
		if err := flags.Parse(args); err != nil {
			return err
		}
		handler, run, err := s.server()
		if err != nil {
			return err
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		h := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
		go func() { _ = h.Serve(listener) }() // until the process ends
		fmt.Fprintf(out, "http://%v\n", listener.Addr())
		return run(ctx)
	}
}

// startServer starts a role of serve's, and returns its URL.
func startServer(ctx context.Context, g *children.Group, role string, args ...string) (*children.Process, string, error) {
	p, err := g.Start(children.Spec{Role: role, Args: args})
	if err != nil {
		return nil, "", err
	}
	url, err := p.Line(ctx)
	return p, url, err
}
