package access

import (
	"context"
	"log/slog"
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
	Role Role
	// Node is the one that an agent runs on; empty if only a certificate vouches
	// for it, which names none.
	Node string
}

// Config of Callers.
type Config struct {
	// Agents reviews agents' tokens. Without, each client certificate that an
	// authority vouches for is an agent's.
	Agents *identity.Reviewer
	// Peers are the DNS names of the service whose replicas are peers, one of which a
	// peer's certificate has to be for. Without names nobody is a peer.
	Peers []string
	// Logger hears of who is refused, once a minute of each address; nil logs
	// nothing.
	Logger *slog.Logger
}

// Callers holds those who call a gRPC server to their rights. Safe for concurrent
// use.
type Callers struct {
	config Config
	counts [4]atomic.Uint64 // as results
	logged quiet
}

// results are those of identity.Judge.
var results = [4]string{identity.Accepted, identity.Refused, identity.Throttled, identity.Unknown}

// New returns Callers.
func New(c Config) *Callers {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Callers{config: c, logged: quiet{now: time.Now, last: map[netip.Addr]time.Time{}}}
}

// Results counts the calls that need a role by what was found: "accepted",
// "refused", "throttled" or "unknown", which is that nobody could be asked.
func (c *Callers) Results() map[string]uint64 {
	counts := make(map[string]uint64, len(results))
	for i, name := range results {
		counts[name] = c.counts[i].Load()
	}
	return counts
}

// callerKey is that of a call's Caller in its context.
type callerKey struct{}

// From returns who makes the call that passed the interceptors.
func From(ctx context.Context) (Caller, error) {
	caller, ok := ctx.Value(callerKey{}).(Caller)
	if !ok {
		return Caller{}, status.Error(codes.Unauthenticated, "nobody has said who calls")
	}
	return caller, nil
}

// Unary refuses calls without the right to them.
func (c *Callers) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	ctx, err := c.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

// Stream refuses calls without the right to them.
func (c *Callers) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
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
func (c *Callers) admit(ctx context.Context, method string) (context.Context, error) {
	role, ok := Right(method)
	if role == Anyone {
		return ctx, nil
	}
	caller, result, err := Caller{}, identity.Refused, status.Errorf(codes.PermissionDenied, "%s is nobody's to call", method)
	switch {
	case !ok, role == Controller: // who calls is the scheduler's own to ask
	case role == Peer:
		caller, result, err = c.peer(ctx)
	default:
		caller, result, err = c.agent(ctx)
	}
	c.counts[slices.Index(results[:], result)].Add(1)
	if err != nil {
		if from := transport.CallerAddr(ctx); c.logged.allow(from) {
			c.config.Logger.Warn("a call was refused; one a minute is logged of each address", "from", from, "method", method, "error", err)
		}
		return nil, err
	}
	transport.Admit(ctx)
	return context.WithValue(ctx, callerKey{}, caller), nil
}

func (c *Callers) agent(ctx context.Context) (Caller, string, error) {
	if c.config.Agents == nil {
		if transport.Certificate(ctx) == nil {
			return Caller{}, identity.Refused, status.Error(codes.Unauthenticated, "no client certificate was shown")
		}
		return Caller{Role: Agent}, identity.Accepted, nil
	}
	agent, err := c.config.Agents.Identify(ctx, transport.CallerAddr(ctx), identity.Bearer(ctx))
	result, err := identity.Judge(err)
	return Caller{Role: Agent, Node: agent.Node}, result, err
}

// peer asks nobody: aggregators find each other while the API server is away.
func (c *Callers) peer(ctx context.Context) (Caller, string, error) {
	certificate := transport.Certificate(ctx)
	if certificate == nil {
		return Caller{}, identity.Refused, status.Error(codes.Unauthenticated, "no client certificate was shown")
	}
	for _, name := range c.config.Peers {
		if certificate.VerifyHostname(name) == nil {
			return Caller{Role: Peer}, identity.Accepted, nil
		}
	}
	return Caller{}, identity.Refused, status.Errorf(codes.PermissionDenied, "the certificate is not for %v", c.config.Peers)
}

// quiet lets through one line a minute of each address. Safe for concurrent use.
type quiet struct {
	now func() time.Time

	mu   sync.Mutex
	last map[netip.Addr]time.Time
}

// mostQuiet bounds the addresses that are remembered; more than so many are
// strangers who change theirs.
const mostQuiet = 1024

func (q *quiet) allow(from netip.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	if last, ok := q.last[from]; ok && now.Sub(last) < time.Minute {
		return false
	}
	if len(q.last) >= mostQuiet {
		for addr, last := range q.last {
			if now.Sub(last) >= time.Minute {
				delete(q.last, addr)
			}
		}
		if len(q.last) >= mostQuiet {
			return false
		}
	}
	q.last[from] = now
	return true
}
