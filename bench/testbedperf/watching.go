package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// watchOptions are the flags of watch.
type watchOptions struct {
	nodes, perNode, jobs int
	clients, rate        int
	during               time.Duration
	output               string
}

func (o *watchOptions) flags(f *pflag.FlagSet) {
	f.IntVar(&o.nodes, "nodes", 1250, "nodes")
	f.IntVar(&o.perNode, "slots", 4, "slots on each")
	f.IntVar(&o.jobs, "jobs", 500, "jobs that are there")
	f.IntVar(&o.rate, "rate", 50, "events of pods a second")
}

// watchCommand measures the watch of the external scheduler's interface.
func watchCommand() *cobra.Command {
	var o watchOptions
	c := &cobra.Command{
		Use:   "watch",
		Short: "Measure clients that watch pods come and go, on a Store in memory",
		Args:  program.Valid(func() error { return o.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := measureWatch(c.Context(), o, c.ErrOrStderr())
			return r.tell(c.OutOrStdout(), o.output, err)
		},
	}
	f := c.Flags()
	o.flags(f)
	f.IntVar(&o.clients, "clients", 100, "clients, each of all testbeds, slots, jobs and schedulings")
	f.DurationVar(&o.during, "during", 30*time.Second, "how long to measure")
	f.StringVar(&o.output, "output", "table", "table or json")
	c.AddCommand(serveCommand())
	return c
}

func (o *watchOptions) validate() error {
	for flag, value := range map[string]int{"nodes": o.nodes, "slots": o.perNode, "jobs": o.jobs, "rate": o.rate, "clients": o.clients} {
		if value < 1 {
			return fmt.Errorf("--%s: %d is not positive", flag, value)
		}
	}
	switch {
	case o.during <= 0:
		return fmt.Errorf("--during: %v is not positive", o.during)
	case o.output != "table" && o.output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", o.output)
	}
	return nil
}

// measureWatch has clients here and what they watch in a process of its own.
func measureWatch(ctx context.Context, o watchOptions, progress io.Writer) (result, error) {
	r := result{Nodes: o.nodes, Slots: o.nodes * o.perNode, Jobs: o.jobs}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	served := exec.CommandContext(ctx, self, "watch", "serve", "--nodes", strconv.Itoa(o.nodes), "--slots", strconv.Itoa(o.perNode),
		"--jobs", strconv.Itoa(o.jobs), "--rate", strconv.Itoa(o.rate))
	served.Stderr = progress
	out, err := served.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := served.Start(); err != nil {
		return r, err
	}
	defer func() { cancel(); _ = served.Wait() }() // killed
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return r, fmt.Errorf("the served process: %w", err)
	}
	url := strings.TrimSpace(line)
	without, err := memoryOf(ctx, url)
	if err != nil {
		return r, err
	}
	fmt.Fprintf(progress, "%d clients connect\n", o.clients)
	crowd, err := gather(ctx, url, o.clients)
	if err != nil {
		return r, err
	}
	defer crowd.leave()
	before, err := process.CPU(served.Process.Pid)
	if err != nil {
		return r, err
	}
	began := time.Now()
	crowd.count(true)
	if err := program.Sleep(ctx, o.during); err != nil {
		return r, err
	}
	crowd.count(false)
	after, err := process.CPU(served.Process.Pid)
	if err != nil {
		return r, err
	}
	elapsed := time.Since(began)
	with, err := memoryOf(ctx, url)
	if err != nil {
		return r, err
	}
	lags := crowd.lags()
	if least := o.clients * o.rate * int(elapsed.Seconds()) / 4; len(lags) < least {
		return r, fmt.Errorf("%d events reached clients, not %d: this is no measurement", len(lags), least)
	}
	r.add(
		row{What: "pod event to client, p50", Unit: "ms", Value: quantile(lags, .5), Bar: 100},
		row{What: "pod event to client, p99", Unit: "ms", Value: quantile(lags, .99), Bar: 100},
		row{What: "processor time", Unit: "cores", Value: (after - before).Seconds() / elapsed.Seconds(), Bar: .3},
		row{What: "memory of a client", Unit: "KiB", Value: (with - without) / 1024 / float64(o.clients), Bar: 64},
	)
	return r, nil
}

// memoryOf is the least of several readings, as each has what happens to be under way.
func memoryOf(ctx context.Context, url string) (float64, error) {
	least := 0.
	for i := range 5 {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/memory", nil)
		if err != nil {
			return 0, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		var bytes float64
		err = json.NewDecoder(answer.Body).Decode(&bytes)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return 0, err
		}
		if i == 0 || bytes < least {
			least = bytes
		}
		if err := program.Sleep(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return least, nil
}

// crowd are clients that watch. It is safe for concurrent use.
type crowd struct {
	conns []*websocket.Conn
	all   sync.WaitGroup

	mu       sync.Mutex
	counting bool
	taken    []float64 // milliseconds from an event to a client
}

// gather returns once each client has the snapshot.
func gather(ctx context.Context, url string, clients int) (*crowd, error) {
	c := &crowd{}
	for range clients {
		conn, _, err := websocket.Dial(ctx, url+"/external/v1/watch", &websocket.DialOptions{
			HTTPHeader: http.Header{"Authorization": {"Bearer " + servertest.Viewer}}, Subprotocols: []string{wire.Subprotocol},
		})
		if err != nil {
			c.leave()
			return nil, err
		}
		conn.SetReadLimit(-1)
		c.conns = append(c.conns, conn)
		request, err := json.Marshal(wire.Request{Op: wire.OpSubscribe, ID: "1", Kinds: []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}})
		if err == nil {
			err = conn.Write(ctx, websocket.MessageText, request)
		}
		if err == nil {
			_, _, err = conn.Read(ctx)
		}
		if err != nil {
			c.leave()
			return nil, err
		}
		c.all.Go(func() { c.listen(ctx, conn) })
	}
	return c, nil
}

func (c *crowd) listen(ctx context.Context, conn *websocket.Conn) {
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return // the end
		}
		now := time.Now()
		c.mu.Lock()
		if c.counting {
			c.taken = append(c.taken, lagsIn(data, now)...)
		}
		c.mu.Unlock()
	}
}

// lagsIn finds the stamps of a message's pods, of whole slots too: it does not read JSON,
// which would take the machine more than what is measured.
func lagsIn(data []byte, now time.Time) []float64 {
	var lags []float64
	text := string(data)
	for {
		i := strings.Index(text, stamped)
		if i < 0 {
			return lags
		}
		text = text[i+len(stamped):]
		end := strings.IndexByte(text, '"')
		if at, err := strconv.ParseInt(text[:max(end, 0)], 10, 64); err == nil {
			lags = append(lags, float64(now.UnixNano()-at)/1e6)
		}
	}
}

func (c *crowd) count(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counting = on
}

func (c *crowd) lags() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.taken)
}

func (c *crowd) leave() {
	for _, conn := range c.conns {
		_ = conn.CloseNow()
	}
	c.all.Wait()
}
