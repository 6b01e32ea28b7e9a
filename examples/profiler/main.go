// Command profiler is a scheduler outside the cluster. It tries each pair of jobs beside
// each other in one Testbed, and carries out in another the plan that follows:
//
//	kubectl create token profiler --audience spazio-external --duration 8h > token
//	go run ./examples/profiler --url https://testbed.example:9695 --ca ca.crt --token-file token \
//	    --profiling small --target large
//
// With --samples 0 it goes on trying, and carries a plan out for each line that it reads.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/profiler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run is the program: flags, and what follows from them.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("profiler", flag.ExitOnError)
	url := flags.String("url", "http://127.0.0.1:9695", "where the interface is")
	ca := flags.String("ca", "", "file with the certificates that vouch for it (default the system's)")
	token := flags.String("token-file", "", "file with the token to show, read anew for each request")
	jobs := flags.String("jobs", "", "names of the jobs, separated by commas (default all of the namespace)")
	samples := flags.Int("samples", 1, "how often each pair is tried before the plan is carried out; 0 tries for ever, and carries one out for each line of the standard input")
	plan := flags.String("plan", "exact", "exact: of all pairings the one that is done first; greedy: each job in turn with the best that is left")
	var config profiler.Config
	flags.StringVar(&config.Namespace, "namespace", "default", "where the jobs are")
	flags.StringVar(&config.Profiling, "profiling", "", "Testbed in which pairs are tried")
	flags.StringVar(&config.Target, "target", "", "Testbed in which the plan is carried out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *plan != "exact" && *plan != "greedy" {
		return fmt.Errorf("--plan %s: must be exact or greedy", *plan)
	}
	if *jobs != "" {
		config.Jobs = strings.Split(*jobs, ",")
	}
	config.Greedy, config.Logger = *plan == "greedy", slog.Default()
	var err error
	if config.Client, err = connect(*url, *ca, *token); err != nil {
		return err
	}
	p, err := profiler.New(config)
	if err != nil {
		return err
	}
	if *samples == 0 {
		return forever(ctx, p, in, out)
	}
	if err := p.Profile(ctx, *samples); err != nil {
		return err
	}
	return carryOut(ctx, p, out)
}

func connect(url, ca, token string) (*client.Client, error) {
	config := client.Config{URL: url}
	if token != "" {
		config.Token = client.TokenFile(token)
	}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate", ca)
		}
		config.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	}
	return client.New(config)
}

// forever has the profiler learn until ctx ends, and the scheduler plan for each line: each
// waits for jobs that the other has.
func forever(ctx context.Context, p *profiler.Profiler, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := make(chan struct{})
	go func() { // ends with the input; nothing else ends a read of it
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case lines <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	learnt := make(chan error, 1)
	go func() { learnt <- p.Profile(ctx, 0) }()
	for {
		select {
		case err := <-learnt:
			return err
		case <-lines:
			if err := carryOut(ctx, p, out); err != nil {
				cancel(err)
				return <-learnt
			}
		}
	}
}

func carryOut(ctx context.Context, p *profiler.Profiler, out io.Writer) error {
	plan, err := p.Plan(ctx)
	if err != nil {
		return err
	}
	for _, pair := range plan.Pairs {
		fmt.Fprintf(out, "%s with %s\n", pair.A, pair.B)
	}
	fmt.Fprintf(out, "the longest run is expected to take %.1f s; %d run times are not known\n", plan.Longest, plan.Unknown)
	outcome, err := p.Schedule(ctx, plan.Pairs)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "all were done after %.1f s\n", outcome.Makespan())
	return err
}
