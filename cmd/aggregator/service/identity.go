package service

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/api/kube/server"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// defaultAudience is the audience of the agents' tokens; no other receiver uses it.
const defaultAudience = "spazio-aggregator"

// callers returns the config's callers with the aggregator's defaults.
func (c Config) callers() server.Config {
	callers := c.Callers
	callers.Listen = c.Listen
	callers.Limits = limits(callers.Limits)
	callers.Audience = cmp.Or(callers.Audience, defaultAudience)
	if len(callers.Peers) == 0 {
		callers.Peers = hosts(c.Peers.Targets)
	}
	return callers
}

// limits returns transport's limits adapted to pushes: they are over in milliseconds, an agent
// makes one at a time, and the largest takes 35 KiB. They lose nothing if a connection ends.
func limits(l transport.Limits) transport.Limits {
	l.Calls = cmp.Or(l.Calls, 1024)
	l.CallsOfOne = cmp.Or(l.CallsOfOne, 256)
	l.CallTime = cmp.Or(l.CallTime, 10*time.Second)
	l.Message = cmp.Or(l.Message, 64<<10)
	l.Age = cmp.Or(l.Age, time.Hour)
	return l
}

func hosts(targets []string) (names []string) {
	for _, target := range targets {
		if host, _, err := net.SplitHostPort(strings.TrimPrefix(target, "dns:///")); err == nil {
			names = append(names, host)
		}
	}
	return names
}

// reviews returns the client that asks the API server, or nil without a service account.
func (c Config) reviews() (identity.Reviews, error) {
	if c.Callers.ServiceAccount == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return identity.NewReviews(config)
}

// identify returns the caller's node, as the interceptors found it.
func identify(ctx context.Context) (node string, err error) {
	caller, err := server.CallerFrom(ctx)
	return caller.Node, err
}
