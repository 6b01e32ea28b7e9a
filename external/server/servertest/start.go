package servertest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Tokens of a Bench's callers, and an unknown one.
const (
	// Admin may do everything everywhere, Viewer see everything, Team everything in the
	// namespace team, and Nothing nothing.
	Admin   = "token-of-admin"
	Viewer  = "token-of-viewer"
	Team    = "token-of-team"
	Nothing = "token-of-nothing"
	// Expired was Admin's, Foreign is Admin's for another audience.
	Expired = "token-expired"
	Foreign = "token-for-another-audience"
	Unknown = "token-of-nobody"
)

// Bench is a server with its Store and its callers.
type Bench struct {
	URL        string
	Server     *server.Server
	Store      *Store
	Identities *Identities
}

// Start runs a server on an empty Store until the test ends. edit, if it is not nil, sets
// what is other than the default.
func Start(t testing.TB, edit func(*server.Config)) *Bench {
	t.Helper()
	b := &Bench{Store: NewStore(), Identities: Callers()}
	config := server.Config{Store: b.Store, Authenticator: b.Identities, Authorizer: b.Identities, Logger: slog.New(slog.DiscardHandler)}
	if edit != nil {
		edit(&config)
	}
	var err error
	if b.Server, err = server.New(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Server.Run(ctx) }()
	listener := httptest.NewServer(b.Server)
	b.URL = listener.URL
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	return b
}

// Callers are identities for the tokens above.
func Callers() *Identities {
	i := new(Identities)
	admin := server.Caller{Name: "admin", UID: "1"}
	i.Add(Admin, Audience, admin, all("")...)
	i.Add(Foreign, "another", admin, all("")...)
	i.Add(Expired, Audience, server.Caller{Name: "admin", UID: "1", Expires: time.Now().Add(-time.Hour)}, all("")...)
	i.Add(Viewer, Audience, server.Caller{Name: "viewer", UID: "2"}, View("")...)
	i.Add(Team, Audience, server.Caller{Name: "team", UID: "3"}, all("team")...)
	i.Add(Nothing, Audience, server.Caller{Name: "nothing", UID: "4"})
	return i
}

// Fill puts the test bed bed of four free slots and the jobs job-a and job-b into the Store, in
// namespace team.
func (b *Bench) Fill() {
	two := 2
	bed := wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "bed"}, Ready: true, Nodes: two}
	for i := range 2 * two {
		node, position := i%two, i/two
		name := fmt.Sprintf("node-%d", node+1)
		bed.Slots = append(bed.Slots, wire.Slot{
			ID: fmt.Sprintf("%s/%d", name, position), Index: i, Node: name, NodeID: &node, Position: position, State: slot.Free,
		})
	}
	b.Store.PutTestbed(bed)
	for _, name := range []string{"job-a", "job-b"} {
		b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: name}, Kind: "Job", State: "Ready"})
	}
}

// Audience is the audience of tokens for the interface.
const Audience = "spazio-external"

// Right lets a caller do something: each verb with each kind.
type Right struct {
	Verbs []server.Verb
	Kinds []wire.Kind
	// namespace is where, empty everywhere.
	namespace string
	// external lets write a job's data, and nothing else of it.
	external bool
}

// all are all rights; in one namespace, if it is not empty.
func all(namespace string) []Right {
	return append(View(namespace),
		Right{Verbs: []server.Verb{server.Create, server.Update, server.Patch, server.Delete}, Kinds: []wire.Kind{wire.Schedulings}, namespace: namespace},
		Right{Verbs: []server.Verb{server.Update, server.Patch}, Kinds: []wire.Kind{wire.Jobs}, namespace: namespace, external: true})
}

// View are the rights to see everything; in one namespace, if it is not empty.
func View(namespace string) []Right {
	return []Right{{
		Verbs: []server.Verb{server.Get, server.List, server.Watch},
		Kinds: []wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings}, namespace: namespace,
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
			(r.namespace == "" || r.namespace == access.Namespace) && r.external == access.External {
			return nil
		}
	}
	return server.Forbid(caller, access)
}
