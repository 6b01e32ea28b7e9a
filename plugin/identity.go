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

// reviewers makes the clients that ask the API server for the identity of agents and controllers,
// if they are configured.
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
	// reviewRate lets the agents of the largest clusters reconnect within seconds of a restart.
	reviewRate, reviewBurst = 1000, 2000
	// reviewDial is client-go's own timeout and keep-alive.
	reviewDial = 30 * time.Second
)

// reviewConfig returns the configuration of a separate client. After a restart, and whatever
// unauthenticated callers present, reviews must take neither the rate limit of the scheduler's
// bindings nor the streams of its connection, and with a kubeconfig not the API server's share
// for its identity either.
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

// identify returns the identity of a stream's caller, as the reviewer finds it; a nil reviewer
// accepts every caller. An error is the status that ends the stream.
func (h *Hub) identify(ctx context.Context, by *identity.Reviewer) (identity.Agent, error) {
	if by == nil {
		return identity.Agent{}, nil
	}
	agent, err := by.Identify(ctx, transport.CallerAddr(ctx), identity.Bearer(ctx))
	result, end := identity.Judge(err)
	h.metrics.identities[result].Inc()
	return agent, end
}

const (
	// soonest is the minimum time between two reviews of an open stream's token. While the API
	// server is away, a reviewer would be ready to try again much sooner.
	soonest = time.Minute
	// spread keeps the reviews apart of streams that all began with a scheduler's start.
	spread = 30 * time.Second
)

// untilReview returns how long it takes until an open stream's token is reviewed again: until the
// API server's last answer no longer counts, or forever without a reviewer.
func (h *Hub) untilReview(by *identity.Reviewer, a identity.Agent) time.Duration {
	if by == nil {
		return math.MaxInt64
	}
	if h.options.Review > 0 {
		return max(time.Until(a.Review), h.options.Review)
	}
	return max(time.Until(a.Review), soonest) + rand.N(spread)
}

// review checks again whose stream it is, and returns the identity with the time until which it
// counts. The API server's refusal is an error, its absence is not.
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
