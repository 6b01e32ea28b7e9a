// Package identity asks the API server who an agent is.
//
// An agent shows the token that the kubelet gave to its pod: of a service
// account, for an audience of our own, and bound to the pod and so to the node
// that the pod runs on. The API server vouches for all of it (TokenReview), so
// that who holds a node's token can speak of that node alone.
package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// nodeClaim is under what the API server tells the node that a token is bound
// to.
const nodeClaim = "authentication.kubernetes.io/node-name"

// Errors of Identify. Any other is the API server's, or its absence.
var (
	// ErrToken: there is no token, or not one that the API server accepts for
	// the audience.
	ErrToken = errors.New("no valid token")
	// ErrRefused: the token is somebody else's, or bound to no node.
	ErrRefused = errors.New("not an agent's token")
)

const (
	// atOnce bounds the reviews under way: after a restart all agents come at
	// once, and the API server has other work.
	atOnce = 64
	// patience is what a review may take, its turn not included.
	patience = 10 * time.Second
)

// Agent is who a token stands for.
type Agent struct {
	// Node is the node that the agent runs on.
	Node string
	// Until is when the token expires; zero if it does not say.
	Until time.Time
}

// Reviewer reviews tokens. Safe for concurrent use.
type Reviewer struct {
	reviews  authentication.TokenReviewInterface
	user     string
	audience string
	turn     chan struct{}
}

// NewReviewer accepts tokens of the service account, given as namespace/name,
// for the audience.
func NewReviewer(reviews authentication.TokenReviewInterface, serviceAccount, audience string) *Reviewer {
	namespace, name, _ := strings.Cut(serviceAccount, "/")
	return &Reviewer{
		reviews: reviews, audience: audience, turn: make(chan struct{}, atOnce),
		user: "system:serviceaccount:" + namespace + ":" + name,
	}
}

// Identify returns whose token it is. Errors are ErrToken and ErrRefused,
// wrapped, or say that the API server could not be asked.
func (r *Reviewer) Identify(ctx context.Context, token string) (Agent, error) {
	if token == "" {
		return Agent{}, fmt.Errorf("%w: none was shown", ErrToken)
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return Agent{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	review, err := r.reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{r.audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return Agent{}, fmt.Errorf("review the token: %w", err)
	}
	return r.judge(token, &review.Status)
}

func (r *Reviewer) judge(token string, s *authenticationv1.TokenReviewStatus) (Agent, error) {
	switch nodes := s.User.Extra[nodeClaim]; {
	case !s.Authenticated && s.Error != "":
		return Agent{}, fmt.Errorf("%w: %s", ErrToken, s.Error)
	case !s.Authenticated || !slices.Contains(s.Audiences, r.audience):
		return Agent{}, fmt.Errorf("%w for audience %q", ErrToken, r.audience)
	case s.User.Username != r.user:
		return Agent{}, fmt.Errorf("%w: it is that of %q, want %q", ErrRefused, s.User.Username, r.user)
	case len(nodes) != 1 || nodes[0] == "":
		return Agent{}, fmt.Errorf("%w: it is not bound to a pod on a node", ErrRefused)
	default:
		until, err := Expiry(token)
		if err != nil {
			return Agent{}, fmt.Errorf("%w: %w", ErrToken, err)
		}
		return Agent{Node: nodes[0], Until: until}, nil
	}
}
