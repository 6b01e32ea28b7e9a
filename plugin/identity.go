package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/internal/identity"
)

// reviewer returns what asks the API server who the agents are, nil if nobody is
// to be asked. Its client is its own: after a restart, thousands of agents must
// not take the turns of the scheduler's bindings.
func reviewer(args SpazioArgs, handle fwk.Handle) (*identity.Reviewer, error) {
	if args.AgentServiceAccount == "" {
		return nil, nil
	}
	shared := handle.KubeConfig()
	if shared == nil {
		return nil, errNoKubeConfig
	}
	config := rest.CopyConfig(shared)
	config.QPS = -1 // the reviewer limits itself
	client, err := authentication.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for token reviews: %w", err)
	}
	return identity.NewReviewer(client.TokenReviews(), args.AgentServiceAccount, args.TokenAudience), nil
}

var errNoKubeConfig = errors.New("agentServiceAccount needs a scheduler whose handle has the configuration of its client")

// identify returns who opened a stream. Errors are the status to end it with.
func (h *Hub) identify(ctx context.Context) (identity.Agent, error) {
	if h.identities == nil {
		return identity.Agent{}, nil
	}
	agent, err := h.identities.Identify(ctx, bearer(ctx))
	switch {
	case err == nil:
		h.metrics.identity(identityAccepted)
		return agent, nil
	case errors.Is(err, identity.ErrToken):
		h.metrics.identity(identityRefused)
		return agent, status.Error(codes.Unauthenticated, err.Error())
	case errors.Is(err, identity.ErrRefused):
		h.metrics.identity(identityRefused)
		return agent, status.Error(codes.PermissionDenied, err.Error())
	}
	h.metrics.identity(identityUnknown)
	return agent, status.Errorf(codes.Unavailable, "the API server does not say whose token it is: %v", err)
}

// bearer returns the token that came with a stream, "" without one.
func bearer(ctx context.Context) string {
	for _, value := range metadata.ValueFromIncomingContext(ctx, "authorization") {
		if scheme, token, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "bearer") {
			return strings.TrimSpace(token)
		}
	}
	return ""
}
