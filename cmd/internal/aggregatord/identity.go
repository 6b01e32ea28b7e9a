package aggregatord

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api/identity"
	"github.com/spazio-scheduler/spazio/api/identity/access"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// defaultAudience is the aggregator's alone.
const defaultAudience = "spazio-aggregator"

var (
	errAccount   = fmt.Errorf("%w: not namespace/name", transport.ErrInvalid)
	errPlaintext = fmt.Errorf("%w: tokens are not taken in plaintext: give a certificate and key", transport.ErrInvalid)
	errNoPeers   = fmt.Errorf("%w: replicas of an aggregator that knows its callers need a clients' authority", transport.ErrInvalid)
)

func (c Config) validateIdentity() error {
	if c.AgentServiceAccount == "" {
		return nil
	}
	namespace, name, ok := strings.Cut(c.AgentServiceAccount, "/")
	switch {
	case !ok || namespace == "" || name == "" || strings.Contains(name, "/"):
		return &transport.FieldError{Field: "AgentServiceAccount", Value: c.AgentServiceAccount, Err: errAccount}
	case c.Transport.CertFile == "":
		return &transport.FieldError{Field: "AgentServiceAccount", Value: c.AgentServiceAccount, Err: errPlaintext}
	case len(c.Peers.Targets) > 0 && c.Transport.ClientCAFile == "":
		return &transport.FieldError{Field: "Targets", Value: c.Peers.Targets, Err: errNoPeers}
	}
	return nil
}

// callers returns what holds callers to their rights, nil where nobody is known.
func (c Config) callers(logger *slog.Logger) (*access.Callers, error) {
	if c.AgentServiceAccount == "" && c.Transport.ClientCAFile == "" {
		return nil, nil
	}
	agents, err := c.agents()
	if err != nil {
		return nil, err
	}
	return access.New(access.Config{Agents: agents, Peers: c.peerNames(), Logger: logger}), nil
}

// agents returns who asks the API server, nil without an account.
func (c Config) agents() (*identity.Reviewer, error) {
	if c.AgentServiceAccount == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	reviews, err := identity.NewReviews(config)
	if err != nil {
		return nil, err
	}
	return identity.NewReviewer(identity.Config{
		Reviews: reviews, ServiceAccount: c.AgentServiceAccount, Audience: cmp.Or(c.TokenAudience, defaultAudience),
	}), nil
}

func (c Config) peerNames() []string {
	if len(c.PeerNames) > 0 {
		return c.PeerNames
	}
	var names []string
	for _, target := range c.Peers.Targets {
		if host, _, err := net.SplitHostPort(strings.TrimPrefix(target, "dns:///")); err == nil {
			names = append(names, host)
		}
	}
	return names
}

// identify tells the model server what the interceptors found.
func identify(ctx context.Context) (modelserver.Caller, error) {
	caller, err := access.From(ctx)
	return modelserver.Caller{Node: caller.Node}, err
}
