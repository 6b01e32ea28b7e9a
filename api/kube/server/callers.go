package server

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// Caller is who makes a call.
type Caller struct {
	// Node is the node that an agent runs on; empty for a peer, and if the agent showed only a
	// certificate, which names no node.
	Node string
}

// callers enforces the rights of a gRPC server's callers. It is safe for concurrent use.
type callers struct {
	// agents reviews agents' tokens. Without it, each client certificate that an authority
	// vouches for is an agent's.
	agents *identity.Reviewer
	// peers are the DNS names of the service whose replicas are peers, one of which a peer's
	// certificate has to be for. Without names there are no peers.
	peers  []string
	logger *slog.Logger
	counts [4]atomic.Uint64 // as results
	logged logLimiter
}

// results are the results of identity.Judge.
var results = [4]string{identity.Accepted, identity.Refused, identity.Throttled, identity.Unknown}

// newCallers returns callers; the logger gets refusals, once a minute for each address.
func newCallers(agents *identity.Reviewer, peers []string, logger *slog.Logger) *callers {
	return &callers{
		agents: agents, peers: peers, logger: cmp.Or(logger, slog.New(slog.DiscardHandler)),
		logged: logLimiter{last: map[netip.Addr]time.Time{}},
	}
}

// callerKey is the key of a call's Caller in its context.
type callerKey struct{}

// CallerFrom returns the caller of a method, on a server that knows its callers.
func CallerFrom(ctx context.Context) (Caller, error) {
	caller, ok := ctx.Value(callerKey{}).(Caller)
	if !ok {
		return Caller{}, status.Error(codes.Unauthenticated, "the caller is not known")
	}
	return caller, nil
}

// unary refuses calls without the right to them.
func (c *callers) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	ctx, err := c.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

// stream refuses calls without the right to them.
func (c *callers) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	ctx, err := c.admit(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return handle(server, admitted{stream, ctx})
}

// admitted is a stream whose context has the Caller.
type admitted struct {
	grpc.ServerStream
	ctx context.Context
}

// Context has the Caller.
func (a admitted) Context() context.Context { return a.ctx }

// admit returns a context with the Caller, or the status to end the call with.
func (c *callers) admit(ctx context.Context, method string) (context.Context, error) {
	role, ok := Right(method)
	if role == anyone {
		return ctx, nil
	}
	caller, result, err := Caller{}, identity.Refused, status.Errorf(codes.PermissionDenied, "no caller has the right to %s", method)
	switch {
	case !ok, role == controller: // the scheduler itself asks who calls
	case role == peer:
		caller, result, err = c.peer(ctx)
	default:
		caller, result, err = c.agent(ctx)
	}
	c.counts[slices.Index(results[:], result)].Add(1)
	if err != nil {
		if from := transport.CallerAddr(ctx); c.logged.allow(from, time.Now()) {
			c.logger.Warn("a call was refused; one a minute is logged of each address", "from", from, "method", method, "error", err)
		}
		return nil, err
	}
	transport.Admit(ctx)
	return context.WithValue(ctx, callerKey{}, caller), nil
}

func (c *callers) agent(ctx context.Context) (Caller, string, error) {
	if c.agents == nil {
		if transport.Certificate(ctx) == nil {
			return Caller{}, identity.Refused, status.Error(codes.Unauthenticated, "no client certificate was shown")
		}
		return Caller{}, identity.Accepted, nil
	}
	agent, err := c.agents.Identify(ctx, transport.CallerAddr(ctx), identity.Bearer(ctx))
	result, err := identity.Judge(err)
	return Caller{Node: agent.Node}, result, err
}

// peer identifies a caller by its certificate alone: aggregators find each other while the API server is away.
func (c *callers) peer(ctx context.Context) (Caller, string, error) {
	certificate := transport.Certificate(ctx)
	if certificate == nil {
		return Caller{}, identity.Refused, status.Error(codes.Unauthenticated, "no client certificate was shown")
	}
	for _, name := range c.peers {
		if certificate.VerifyHostname(name) == nil {
			return Caller{}, identity.Accepted, nil
		}
	}
	return Caller{}, identity.Refused, status.Errorf(codes.PermissionDenied, "the certificate is not for %v", c.peers)
}

// logLimiter lets through one line a minute of each address. It is safe for concurrent use.
type logLimiter struct {
	mu   sync.Mutex
	last map[netip.Addr]time.Time
}

// maxLogged bounds the addresses that are remembered; when there are more, callers change theirs.
const maxLogged = 1024

func (l *logLimiter) allow(from netip.Addr, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last[from]; ok && now.Sub(last) < time.Minute {
		return false
	}
	if len(l.last) >= maxLogged {
		maps.DeleteFunc(l.last, func(_ netip.Addr, last time.Time) bool { return now.Sub(last) >= time.Minute })
	}
	if len(l.last) >= maxLogged {
		return false
	}
	l.last[from] = now
	return true
}
