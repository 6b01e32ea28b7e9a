package servertest

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// Audience is the audience of tokens for the interface.
const Audience = "spazio-external"

// Right lets a caller do something: each verb with each kind.
type Right struct {
	Verbs []server.Verb
	Kinds []wire.Kind
	// Namespace is where, empty everywhere.
	Namespace string
	// External lets write a job's data, and nothing else of it.
	External bool
}

// all are all rights; in one namespace, if it is not empty.
func all(namespace string) []Right {
	return append(View(namespace),
		Right{Verbs: []server.Verb{server.Create, server.Update, server.Patch, server.Delete}, Kinds: []wire.Kind{wire.Schedulings}, Namespace: namespace},
		Right{Verbs: []server.Verb{server.Update, server.Patch}, Kinds: []wire.Kind{wire.Jobs}, Namespace: namespace, External: true})
}

// View are the rights to see everything; in one namespace, if it is not empty.
func View(namespace string) []Right {
	return []Right{{
		Verbs: []server.Verb{server.Get, server.List, server.Watch},
		Kinds: []wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings}, Namespace: namespace,
	}}
}

// Identities are tokens, whose they are, and what these may do: a server.Authenticator and
// a server.Authorizer. It is safe for concurrent use; the zero value knows no tokens.
type Identities struct {
	mu     sync.Mutex
	tokens map[string]known
	rights map[string][]Right
}

type known struct {
	caller   server.Caller
	audience string
}

// Add makes the token the caller's, for the audience, and gives it the rights in the place
// of those that it has.
func (i *Identities) Add(token, audience string, caller server.Caller, rights ...Right) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.tokens == nil {
		i.tokens, i.rights = make(map[string]known), make(map[string][]Right)
	}
	i.tokens[token] = known{caller: caller, audience: audience}
	i.rights[caller.Name] = rights
}

// Revoke makes the token invalid.
func (i *Identities) Revoke(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.tokens, token)
}

// Authenticate is server.Authenticator's.
func (i *Identities) Authenticate(_ context.Context, token string) (server.Caller, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	is, ok := i.tokens[token]
	ends := is.caller.Expires
	switch {
	case !ok:
		return server.Caller{}, server.Refuse(http.StatusUnauthorized, "The token is not valid.")
	case is.audience != Audience:
		return server.Caller{}, server.Refuse(http.StatusUnauthorized, "The token is for another audience.")
	case !ends.IsZero() && !time.Now().Before(ends):
		return server.Caller{}, server.Refuse(http.StatusUnauthorized, "The token has expired.")
	}
	return is.caller, nil
}

// Authorize is server.Authorizer's.
func (i *Identities) Authorize(_ context.Context, caller server.Caller, access server.Access) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	kind := access.Kind
	if kind == wire.Slots {
		kind = wire.Testbeds
	}
	for _, r := range i.rights[caller.Name] {
		if slices.Contains(r.Verbs, access.Verb) && slices.Contains(r.Kinds, kind) &&
			(r.Namespace == "" || r.Namespace == access.Namespace) && r.External == access.External {
			return nil
		}
	}
	return server.Forbid(caller, access)
}
