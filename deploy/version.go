package deploy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Versions of Kubernetes, all of major 1. A scheduler may be one minor older than
// the API server, and never newer; agents need what a node is named by in tokens.
const (
	SchedulerMinor = 36
	OldestMinor    = 32
)

// Version is the API server's.
type Version struct {
	Major, Minor int
	// Text is what it calls itself.
	Text string
}

// ErrVersion is that of a cluster that Spazio is not for.
var ErrVersion = errors.New("unsupported version of Kubernetes")

// Version asks for the API server's.
func (c *Cluster) Version(context.Context) (Version, error) {
	info, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return Version{}, fmt.Errorf("deploy: the API server's version: %w", err)
	}
	v := Version{Text: info.GitVersion}
	v.Major, _ = strconv.Atoi(info.Major)
	v.Minor, _ = strconv.Atoi(strings.TrimRight(info.Minor, "+"))
	return v, nil
}

// Known says whether the server was built with its version: one that was not
// calls itself v0.0.0-master.
func (v Version) Known() bool { return v.Major > 0 }

// Supported returns an error that wraps ErrVersion unless the servers of this
// version of Spazio are for it, or it is not known.
func (v Version) Supported() error {
	switch {
	case !v.Known():
		return nil
	case v.Major != 1 || v.Minor < OldestMinor:
		return fmt.Errorf("%w: %s is older than 1.%d", ErrVersion, v.Text, OldestMinor)
	case v.Minor < SchedulerMinor:
		return fmt.Errorf("%w: the scheduler is of 1.%d, and never newer than the API server, which is %s", ErrVersion, SchedulerMinor, v.Text)
	case v.Minor > SchedulerMinor+1:
		return fmt.Errorf("%w: the scheduler is of 1.%d, and one minor older than the API server at most, which is %s", ErrVersion, SchedulerMinor, v.Text)
	}
	return nil
}
