package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// reviewers makes what asks the API server who the agents and the controllers are,
// where anybody is to be asked.
func (h *Hub) reviewers(args SpazioArgs, handle fwk.Handle) error {
	if args.AgentServiceAccount == "" && args.ControllerServiceAccount == "" {
		return nil
	}
	config, err := reviewConfig(args.ReviewKubeconfig, handle)
	if err != nil {
		return err
	}
	client, err := authentication.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client for token reviews: %w", err)
	}
	c := identity.Config{Reviews: client.TokenReviews(), Audience: args.TokenAudience, Fresh: h.options.Review}
	if args.ControllerServiceAccount != "" {
		c.ServiceAccount, c.Unbound = args.ControllerServiceAccount, true
		h.controllers = identity.NewReviewer(c)
	}
	if args.AgentServiceAccount != "" {
		c.ServiceAccount, c.Unbound = args.AgentServiceAccount, false
		c.Node = func(name string) bool { return !h.synced.Load() || h.nodes.get(name) != nil }
		h.identities = identity.NewReviewer(c)
	}
	return nil
}

const (
	// reviewRate lets the agents of the largest clusters come again within
	// seconds of a restart.
	reviewRate, reviewBurst = 1000, 2000
	// reviewDial is what client-go allows itself.
	reviewDial = 30 * time.Second
)

// reviewConfig is that of a client of its own: after a restart, and whatever
// strangers show, reviews must take neither the turns of the scheduler's
// bindings nor the streams of its connection, and with a kubeconfig not the share
// that the API server gives to its identity either.
func reviewConfig(kubeconfig string, handle fwk.Handle) (*rest.Config, error) {
	config := handle.KubeConfig()
	if kubeconfig != "" {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return nil, fmt.Errorf("reviewKubeconfig: %w", err)
		}
	}
	if config == nil {
		return nil, errNoKubeConfig
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = reviewRate, reviewBurst, nil
	if config.Dial == nil { // client-go shares connections of the same dialer
		config.Dial = (&net.Dialer{Timeout: reviewDial, KeepAlive: reviewDial}).DialContext
	}
	return config, nil
}

var errNoKubeConfig = errors.New("agentServiceAccount needs a scheduler whose handle has the configuration of its client")

// identify returns who opened a stream, as by says; nil asks nobody. Errors are the
// status to end it with.
func (h *Hub) identify(ctx context.Context, by *identity.Reviewer) (identity.Agent, error) {
	if by == nil {
		return identity.Agent{}, nil
	}
	agent, err := by.Identify(ctx, transport.CallerAddr(ctx), identity.Bearer(ctx))
	result, end := identity.Judge(err)
	h.metrics.identity(result)
	return agent, end
}

const (
	// soonest is how long an open stream's token is left alone at least: while the
	// API server is away, a reviewer would be ready to try again much sooner.
	soonest = time.Minute
	// spread keeps apart the streams that all began with a scheduler's start.
	spread = 30 * time.Second
)

// untilReview is when an open stream's token is to be reviewed again: as soon as
// the API server's last word on it no longer counts, never if nobody is asked.
func (h *Hub) untilReview(by *identity.Reviewer, a identity.Agent) time.Duration {
	if by == nil {
		return math.MaxInt64
	}
	if h.options.Review > 0 {
		return max(time.Until(a.Review), h.options.Review)
	}
	return max(time.Until(a.Review), soonest) + rand.N(spread)
}

// review asks again whose stream it is, and returns until when that counts. Only
// the API server's refusal is an error, not its absence.
func (h *Hub) review(ctx context.Context, by *identity.Reviewer, agent identity.Agent) (identity.Agent, error) {
	again, err := h.identify(ctx, by)
	switch code := status.Code(err); {
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		return agent, err
	case err == nil:
		return again, nil
	}
	return agent, nil
}
