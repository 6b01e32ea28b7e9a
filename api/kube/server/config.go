package server

import (
	"fmt"
	"log/slog"
	"strings"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
)

// Config of a Server. The zero value of a field is its default.
type Config struct {
	// Listen is host:port.
	Listen string
	// Transport has ClientCAFile for callers that are known by their certificates.
	// Its Tokens is the server's own.
	Transport transport.Config
	// Limits bound what callers can make the server hold.
	Limits transport.Limits
	// ServiceAccount is the agents', as namespace/name: an agent must then show a
	// token of it for Audience that is bound to a pod, and may report of that pod's
	// node alone. Empty reviews no tokens; beyond loopback the Transport's ClientCAFile or
	// Insecure is needed then.
	ServiceAccount, Audience string
	// Reviews asks the API server whose token it is; it is needed with
	// ServiceAccount.
	Reviews identity.Reviews
	// Peers are the names of the service's other replicas, one of which a replica's
	// certificate must be for; none if there are no other replicas.
	Peers []string
	// Options are further ones of the gRPC server. Interceptors among them see a
	// call before its caller is known, and so time that too.
	Options []grpc.ServerOption
	// Logger gets refusals; nil logs nothing.
	Logger *slog.Logger
}

var (
	errAccount   = fmt.Errorf("%w: not namespace/name", transport.ErrInvalid)
	errPlaintext = fmt.Errorf("%w: tokens are not taken in plaintext: give a certificate and key", transport.ErrInvalid)
	errNoPeers   = fmt.Errorf("%w: replicas of a server that knows its callers need a clients' authority", transport.ErrInvalid)
	errNoReviews = fmt.Errorf("%w: reviewing tokens needs Reviews", transport.ErrInvalid)
)

// Validate returns a *field.Error for the first field out of range. It does
// not ask for Reviews, which New does: flags are checked before there is a client.
func (c Config) Validate() error {
	if err := c.Transport.Validate(); err != nil {
		return err
	}
	if err := c.Limits.Validate(); err != nil {
		return err
	}
	if c.ServiceAccount == "" {
		return nil
	}
	namespace, name, _ := strings.Cut(c.ServiceAccount, "/")
	switch {
	case namespace == "" || name == "" || strings.Contains(name, "/"):
		return &field.Error{Package: "transport", Field: "ServiceAccount", Value: c.ServiceAccount, Err: errAccount}
	case c.Transport.CertFile == "":
		return &field.Error{Package: "transport", Field: "ServiceAccount", Value: c.ServiceAccount, Err: errPlaintext}
	case len(c.Peers) > 0 && c.Transport.ClientCAFile == "":
		return &field.Error{Package: "transport", Field: "Peers", Value: c.Peers, Err: errNoPeers}
	}
	return nil
}

// callers returns what holds callers to their rights, nil if callers are not known.
func (c Config) callers() *callers {
	if !c.Knows() {
		return nil
	}
	var agents *identity.Reviewer
	if c.ServiceAccount != "" {
		agents = identity.NewReviewer(identity.Config{Reviews: c.Reviews, ServiceAccount: c.ServiceAccount, Audience: c.Audience})
	}
	return newCallers(agents, c.Peers, c.Logger)
}

// Knows reports whether callers are known, by a token or a certificate: then a handler
// finds each by CallerFrom.
func (c Config) Knows() bool { return c.ServiceAccount != "" || c.Transport.ClientCAFile != "" }
