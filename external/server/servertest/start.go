package servertest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
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

// Fill puts into the Store what Contract wants, in namespace team.
func (b *Bench) Fill() Target {
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
	target := Target{
		URL: b.URL, Namespace: "team", Testbed: "bed", Jobs: [2]string{"job-a", "job-b"}, Seed: true,
		Admin: Admin, Viewer: Viewer, Team: Team, Nothing: Nothing, Expired: Expired, Foreign: Foreign, Unknown: Unknown,
	}
	for _, name := range target.Jobs {
		b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: name}, Kind: "Job", State: "Ready"})
	}
	return target
}
