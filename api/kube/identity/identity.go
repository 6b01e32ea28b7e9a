// Package identity asks the API server who an agent is.
//
// An agent shows the token that the kubelet gave to its pod: of a service
// account, for an audience of our own, and bound to the pod and so to the node
// that the pod runs on. The API server vouches for all of it (TokenReview), so
// that a node's token can only be used for reports of that node.
//
//	reviews, err := identity.NewReviews(config) // a rest.Config
//	reviewer := identity.NewReviewer(identity.Config{Reviews: reviews, ServiceAccount: "spazio/spazio-agent", Audience: "spazio-scheduler"})
//	agent, err := reviewer.Identify(ctx, address, identity.Bearer(ctx)) // in a gRPC method
//
// Package server defines what an identified caller may call, and is a
// gRPC server that checks both.
//
// Types that do not speak of concurrent use are plain values.
package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeClaim is the key of the node that a token is bound to, in the API server's answer.
const nodeClaim = "authentication.kubernetes.io/node-name"

// Errors of Identify. Any other is the API server's, or its absence.
var (
	// ErrToken: there is no token, or not one that the API server accepts for
	// the audience.
	ErrToken = errors.New("no valid token")
	// ErrRefused: the token belongs to another account, or is bound to no node.
	ErrRefused = errors.New("not an agent's token")
	// ErrThrottled: the API server is not asked again for now.
	ErrThrottled = errors.New("too many tokens from here")
)

// Reviews asks the API server whose token it is. Client-go's TokenReviewInterface
// is one; NewReviews makes another without its typed clients. Create is called by
// several goroutines at once.
type Reviews interface {
	Create(context.Context, *authenticationv1.TokenReview, metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// patience is what a review may take, its turn not included.
const patience = 10 * time.Second

// Agent is the owner of a token.
type Agent struct {
	// Node is the node that the agent runs on; empty of an Unbound token, and of Anyone.
	Node string
	// User is the API server's answer if Anyone is accepted; else nil.
	User *authenticationv1.UserInfo
	// Until is when the token expires; zero if it has no time.
	Until time.Time
	// Review is when the API server is to be asked again: until then Identify
	// repeats its answer.
	Review time.Time
}

// Config of a Reviewer. Reviews, Audience, and a ServiceAccount or Anyone are needed; who
// gives them has checked them.
type Config struct {
	// Reviews asks the API server.
	Reviews Reviews
	// ServiceAccount is the agents', as namespace/name, and Audience that of
	// their tokens.
	ServiceAccount, Audience string
	// Anyone accepts every token for the Audience, in the place of those of a
	// ServiceAccount: the caller has to check what its user may do.
	Anyone bool
	// Node, if set, reports whether the cluster has a node.
	Node func(name string) bool
	// Unbound accepts a token that is bound to no pod on a node, too, such as one that a
	// person made.
	Unbound bool
	// Fresh is how long an answer counts before the API server is asked again,
	// default 10 min. It is how long an agent may go on whose pod was deleted.
	Fresh time.Duration
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// defaultFresh makes 8.3 reviews a second of 5,000 nodes.
const defaultFresh = 10 * time.Minute

// Reviewer reviews tokens. Safe for concurrent use.
type Reviewer struct {
	config Config
	now    clock
	user   string
	memory *memory
	// unknown and known hold a place for each review under way.
	unknown, known chan struct{}
}

// NewReviewer returns a Reviewer that has seen no token.
func NewReviewer(c Config) *Reviewer {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Fresh <= 0 {
		c.Fresh = defaultFresh
	}
	namespace, name, _ := strings.Cut(c.ServiceAccount, "/")
	return &Reviewer{
		config: c, now: c.Now, memory: newMemory(c.Now),
		user:    "system:serviceaccount:" + namespace + ":" + name,
		unknown: make(chan struct{}, atOnce-keptForKnown), known: make(chan struct{}, keptForKnown),
	}
}

// Identify returns whose token it is that was shown from an address. Errors are
// ErrToken, ErrRefused and ErrThrottled, wrapped, or mean that the API server
// could not be asked. It is not asked about a token that its own claims rule out, nor
// again about one that it accepted or refused a while ago, nor about one token twice
// at a time, and for an address whose tokens it keeps refusing only about those that it
// accepted before. While it can't be asked, the tokens it accepted stay accepted until
// they expire.
func (r *Reviewer) Identify(ctx context.Context, from netip.Addr, token string) (Agent, error) {
	if token == "" {
		return Agent{}, fmt.Errorf("%w: none was shown", ErrToken)
	}
	claims, err := parseClaims(token)
	if err != nil {
		return Agent{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if err := r.refuse(claims); err != nil {
		return Agent{}, err
	}
	id := digest(sha256.Sum256([]byte(token)))
	if agent, due := r.memory.accepted(id, r.now()); !due {
		return agent, nil
	}
	done, err := r.memory.alone(ctx, id)
	if err != nil {
		return Agent{}, err
	}
	defer done()
	return r.ask(ctx, r.memory.caller(from), id, claims, token)
}

// ask has the token reviewed when it is its turn, unless it has been meanwhile.
func (r *Reviewer) ask(ctx context.Context, caller *caller, id digest, claims tokenClaims, token string) (Agent, error) {
	places := r.unknown
	known := r.memory.knows(id)
	if known {
		places = r.known
	}
	if err := acquire(ctx, caller.turns, places); err != nil {
		return Agent{}, err
	}
	defer release(caller.turns, places)
	former, due := r.memory.accepted(id, r.now())
	if !due {
		return former, nil
	}
	if err := r.memory.refusal(id); err != nil {
		return Agent{}, err
	}
	if !known && !caller.refusals.allow(r.now()) {
		return Agent{}, fmt.Errorf("%w: the API server is not asked for now", ErrThrottled)
	}
	agent, err := r.review(ctx, claims, token)
	if errors.Is(err, ErrToken) || errors.Is(err, ErrRefused) {
		r.memory.known.Remove(id)
		r.memory.refused.Add(id, err, refusedFor)
		return agent, err
	}
	if !known {
		caller.refusals.refund()
	}
	switch {
	case err == nil:
		agent.Review = r.now().Add(r.config.Fresh)
	case known && ctx.Err() == nil:
		agent = former
		agent.Review = r.now().Add(askAgain)
	default:
		return agent, err
	}
	r.memory.known.Add(id, agent, knownFor)
	return agent, nil
}

func (r *Reviewer) review(ctx context.Context, claims tokenClaims, token string) (Agent, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	review, err := r.config.Reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{r.config.Audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return Agent{}, fmt.Errorf("review the token: %w", err)
	}
	return r.judge(claims, &review.Status)
}

func (r *Reviewer) judge(claims tokenClaims, s *authenticationv1.TokenReviewStatus) (Agent, error) {
	switch nodes := s.User.Extra[nodeClaim]; {
	case !s.Authenticated && s.Error != "":
		return Agent{}, fmt.Errorf("%w: %s", ErrToken, s.Error)
	case !s.Authenticated || !slices.Contains(s.Audiences, r.config.Audience):
		return Agent{}, fmt.Errorf("%w for audience %q", ErrToken, r.config.Audience)
	case r.config.Anyone && s.User.Username == "":
		return Agent{}, fmt.Errorf("%w: of no account", ErrToken)
	case r.config.Anyone:
		return Agent{User: s.User.DeepCopy(), Until: claims.Until}, nil
	case s.User.Username != r.user:
		return Agent{}, fmt.Errorf("%w: it is that of %q, want %q", ErrRefused, s.User.Username, r.user)
	case len(nodes) == 0 && r.config.Unbound:
		return Agent{Until: claims.Until}, nil
	case len(nodes) != 1 || nodes[0] == "":
		return Agent{}, fmt.Errorf("%w: it is not bound to a pod on a node", ErrRefused)
	default:
		return Agent{Node: nodes[0], Until: claims.Until}, nil
	}
}
