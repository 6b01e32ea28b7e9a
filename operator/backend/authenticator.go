package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/external/server"
)

// defaultAudience is that of the tokens that the interface takes.
const defaultAudience = "spazio-external"

// defaultReview is how long an answer of the API server counts: whose a token is, and what
// a caller may do.
const defaultReview = time.Minute

// authenticator asks the API server whose a token is. It does not ask what the token itself
// shows, nor again while an answer counts; see identity.Reviewer. Safe for concurrent use.
type authenticator struct {
	reviewer *identity.Reviewer
	audience string
}

var _ server.Authenticator = (*authenticator)(nil)

// NewAuthenticator makes an authenticator of tokens of an audience, "" being defaultAudience;
// the API server's answers count for fresh, 0 being a minute. It is safe for concurrent use. now is the clock, nil being time.Now. reviews is
// identity.NewReviews of a rest.Config, or client-go's AuthenticationV1().TokenReviews().
func NewAuthenticator(reviews identity.Reviews, audience string, fresh time.Duration, now func() time.Time) server.Authenticator {
	audience = cmp.Or(audience, defaultAudience)
	return &authenticator{audience: audience, reviewer: identity.NewReviewer(identity.Config{
		Reviews: reviews, Anyone: true, Audience: audience, Fresh: cmp.Or(fresh, defaultReview), Now: now,
	})}
}

// Authenticate implements server.Authenticator. With transport.ConnContext in the http.Server
// only the caller waits for the reviews of its own invalid tokens.
func (a *authenticator) Authenticate(ctx context.Context, token string) (server.Caller, error) {
	agent, err := a.reviewer.Identify(ctx, transport.CallerAddr(ctx), token)
	switch {
	case errors.Is(err, identity.ErrToken), errors.Is(err, identity.ErrRefused):
		return server.Caller{}, server.Refuse(http.StatusUnauthorized, fmt.Sprintf("The token is not valid: it must be one for audience %s, and not have ended.", a.audience))
	case errors.Is(err, identity.ErrThrottled):
		return server.Caller{}, server.RefuseForNow(http.StatusServiceUnavailable, 1, "Too many tokens from there were not valid.")
	case err != nil:
		return server.Caller{}, server.RefuseForNow(http.StatusServiceUnavailable, 1, "The API server did not answer whose token it is.")
	}
	transport.Admit(ctx)
	c := server.Caller{Name: agent.User.Username, UID: agent.User.UID, Groups: agent.User.Groups, Expires: agent.Until}
	if len(agent.User.Extra) > 0 {
		c.Extra = make(map[string][]string, len(agent.User.Extra))
		for key, values := range agent.User.Extra {
			c.Extra[key] = values
		}
	}
	return c, nil
}
