package slice

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// tick is how often real CPU times become made-up counters: an agent that samples ten
// times a second finds new ones each time.
const tick = 50 * time.Millisecond

// Config describes the hosts that a generator simulates. It is a plain value.
type Config struct {
	// Dir is where the hosts' directories are made.
	Dir   string `json:"dir"`
	Hosts []Host `json:"hosts"`
}

// validate names the first field that is out of range.
func (c Config) validate() error {
	names := map[string]bool{}
	for _, h := range c.Hosts {
		for _, g := range slices.Concat(h.Guests, []Guest{{h.Name, h.CPUs}}) {
			switch {
			case names[g.Name] || g.Name != filepath.Base(g.Name) || strings.Trim(g.Name, ".") == "":
				return refuse("Hosts.Name", g.Name, "of different names, those of directories")
			case g.CPUs < 1:
				return refuse("Hosts.CPUs", g.CPUs, "at least 1")
			}
			names[g.Name] = true
		}
		if !(h.Max > 0 && h.Idle >= 0 && h.Idle <= h.Max) {
			return refuse("Hosts.Idle", fmt.Sprintf("%v of %v", h.Idle, h.Max), "at least 0 and at most Max")
		}
	}
	if c.Dir == "" {
		return refuse("Dir", c.Dir, "set")
	}
	return nil
}

// Message is a line of the generator's input, as JSON: one of its fields is set.
type Message struct {
	Join  *Join  `json:"join,omitempty"`
	Leave *Leave `json:"leave,omitempty"`
	// Sync is answered by a line with the same number when the counters are those of now.
	Sync uint64 `json:"sync,omitempty"`
}

// Join has a process count for a host.
type Join struct {
	// Host is the name of a host or a guest.
	Host string `json:"host"`
	// ID is a pod's UID or, with Pod false, any other name.
	ID  string `json:"id"`
	PID int    `json:"pid"`
	Pod bool   `json:"pod"`
	// Before is what it has taken until it joined the host, which does not count.
	Before time.Duration `json:"before"`
}

// Leave reports that a process has ended, with its total CPU time.
type Leave struct {
	Host string        `json:"host"`
	ID   string        `json:"id"`
	CPU  time.Duration `json:"cpu"`
}

// Main is the role of a generator: its argument is a Config as JSON. It says "ready" once
// the files are there.
func Main(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	if len(args) != 1 {
		return refuse("arguments", args, "a configuration")
	}
	var c Config
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		return refuse("arguments", args[0], "a configuration: "+err.Error())
	}
	g, err := newGenerator(c, time.Now())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	return g.run(ctx, in, out)
}

// generator keeps the files of the hosts. It is for one goroutine.
type generator struct {
	hosts map[string]*host
}

func newGenerator(c Config, now time.Time) (*generator, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	g := &generator{hosts: map[string]*host{}}
	for _, h := range c.Hosts {
		made, err := newHost(c.Dir, h, now)
		if err != nil {
			return nil, errors.Join(err, g.close())
		}
		g.hosts[h.Name] = made
	}
	return g, nil
}

// run advances the counters and handles the messages until ctx ends.
func (g *generator) run(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := make(chan []byte)
	go func() { // it ends with the input, which ends ctx too
		defer close(lines)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			select {
			case lines <- append([]byte(nil), scanner.Bytes()...):
			case <-ctx.Done():
				return
			}
		}
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			err = g.advance(time.Now())
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			err = g.handle(line, out)
		}
		if err != nil {
			return err
		}
	}
}

func (g *generator) advance(now time.Time) (err error) {
	for _, h := range g.hosts {
		err = errors.Join(err, h.advance(now, children.CPUTime))
	}
	return err
}

func (g *generator) handle(line []byte, out io.Writer) error {
	var m Message
	if err := json.Unmarshal(line, &m); err != nil {
		return refuse("message", string(line), "JSON: "+err.Error())
	}
	now := time.Now()
	switch {
	case m.Join != nil:
		u, err := g.unit(m.Join.Host)
		if err != nil {
			return err
		}
		return u.join(*m.Join, now, children.CPUTime)
	case m.Leave != nil:
		u, err := g.unit(m.Leave.Host)
		if err != nil {
			return err
		}
		return u.leave(*m.Leave, now, children.CPUTime)
	case m.Sync != 0:
		if err := g.advance(now); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, m.Sync)
		return err
	}
	return refuse("message", string(line), "a join, a leave or a sync")
}

func (g *generator) unit(name string) (*unit, error) {
	for _, h := range g.hosts {
		if u := h.units[name]; u != nil {
			return u, nil
		}
	}
	return nil, refuse("Host", name, "one of the configuration")
}

func (g *generator) close() (err error) {
	for _, h := range g.hosts {
		err = errors.Join(err, h.close())
	}
	return err
}

// errInvalid is in every field.Error of this package.
var errInvalid = errors.New("invalid configuration or input")

// refuse makes a *field.Error; want completes "must be".
var refuse = field.Refuser("slice", errInvalid)
