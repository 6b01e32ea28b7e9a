package requestreport

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/rest"
)

// Config selects what is read.
type Config struct {
	// Cluster leads to the API server. It is not asked if Objects is set, and without both no
	// requests are known.
	Cluster *rest.Config
	// Objects is a file of kubectl's.
	Objects io.Reader
	// Recordings are directories or files of agents' recordings. With them, or with Objects, no agent
	// is asked.
	Recordings []string
	// For is how long agents are asked; 0 asks them once.
	For time.Duration
	// Timeout bounds one answer.
	Timeout time.Duration
	// Progress gets a line every minute while agents are asked, if set.
	Progress io.Writer
	// Source names the cluster in the report.
	Source string
	// now is the time, wait waits until a time, and bound ends a context then; nil is the real time.
	now   func() time.Time
	wait  func(context.Context, time.Time) error
	bound func(context.Context, time.Time) (context.Context, context.CancelFunc)
}

// mostFor bounds For: what is kept of a node grows with it.
const mostFor = 24 * time.Hour

func (c *Config) validate() error {
	switch {
	case c.For < 0 || c.For > mostFor:
		return refuse("For", c.For, fmt.Sprintf("from 0 to %v", mostFor))
	case c.For > 0 && (c.Objects != nil || len(c.Recordings) > 0):
		return refuse("For", c.For, "0 where no agent is asked")
	case c.Timeout <= 0:
		return refuse("Timeout", c.Timeout, "positive")
	case c.Cluster == nil && c.Objects == nil && len(c.Recordings) == 0:
		return refuse("Cluster", nil, "given, or Objects or Recordings")
	}
	return nil
}

// Collect reads the input of a report. The error is a *field.Error of the Config, or that of what
// could not be read.
func Collect(ctx context.Context, c Config) (Input, error) {
	if err := c.validate(); err != nil {
		return Input{}, err
	}
	if c.now == nil {
		c.now, c.wait, c.bound = time.Now, wait, context.WithDeadline
	}
	o := newObjects(len(c.Recordings) > 0)
	var err error
	switch {
	case c.Objects != nil:
		err = o.decode(c.Objects)
	case c.Cluster != nil:
		err = o.read(ctx, c.Cluster, c.Timeout)
	}
	if err != nil {
		return Input{}, err
	}
	in := Input{madeAt: c.now(), source: c.Source, requests: c.Cluster != nil || c.Objects != nil, pods: o.pods, notes: o.notes}
	nodes := o.nodes
	switch {
	case len(c.Recordings) > 0:
		var notes []string
		notes, err = o.replay(c.Recordings, nodes)
		in.notes = append(in.notes, notes...)
	case c.Objects == nil:
		var notes []string
		notes, err = o.sample(ctx, &c, nodes)
		in.notes = append(in.notes, notes...)
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		in.nodes = append(in.nodes, *nodes[name])
	}
	in.profiles = o.profiles
	return in, err
}

// wait waits until a time, or until ctx ends.
func wait(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
