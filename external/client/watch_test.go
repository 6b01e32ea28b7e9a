package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

func jobIn(state string) wire.Job {
	return wire.Job{Meta: wire.Meta{Namespace: "team", Name: "job"}, Kind: "Job", State: state}
}

func ExampleClient_Watch() {
	url, store, end := exampleServer(jobIn("Ready"))
	defer end()
	c, err := client.New(client.Config{URL: url, Token: client.StaticToken(servertest.Team)})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := client.Scope{Kinds: []wire.Kind{wire.Jobs, wire.Slots}, Namespace: "team"}
	for view, err := range c.Watch(context.Background(), scope) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, change := range view.Changes {
			job, _ := view.Job(change.Name)
			fmt.Println(change.Type, change.Name, job.State)
		}
		job, ok := view.Job(testbed.Name{Namespace: "team", Name: "job"})
		if !ok {
			break
		}
		if job.State == "Ready" {
			store.PutJob(jobIn("Running"))
		} else {
			store.Remove(wire.Jobs, "team", "job")
		}
	}
	// Output:
	// ADDED team/job Ready
	// MODIFIED team/job Running
	// DELETED team/job
}

// exampleServer serves a store that holds the job before a client can watch, because one added
// later may come after the first View.
func exampleServer(job wire.Job) (url string, _ *servertest.Store, end func()) {
	store, callers := servertest.NewStore(), servertest.Callers()
	store.PutJob(job)
	s, err := server.New(server.Config{Store: store, Authenticator: callers, Authorizer: callers})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	l := httptest.NewServer(s)
	return l.URL, store, func() { cancel(); <-ended; l.Close() }
}

// A permanent refusal ends the sequence, as do the end of ctx and of the loop.
func TestWatchEnds(t *testing.T) {
	b := servertest.Start(t, nil)
	for name, c := range map[string]struct {
		token string
		scope client.Scope
		want  int
	}{
		"token": {servertest.Unknown, client.Scope{Kinds: []wire.Kind{wire.Jobs}}, 401},
		"right": {servertest.Team, client.Scope{Kinds: []wire.Kind{wire.Jobs}}, 403},
		"scope": {servertest.Team, client.Scope{}, 422},
	} {
		t.Run(name, func(t *testing.T) {
			views := 0
			for _, err := range connect(t, b.URL, c.token).Watch(t.Context(), c.scope) {
				views++
				var p *wire.Problem
				if !errors.As(err, &p) || p.Status != c.want {
					t.Errorf("%v, want %d", err, c.want)
				}
			}
			if views != 1 {
				t.Errorf("%d elements", views)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for view, err := range connect(t, b.URL, servertest.Viewer).Watch(ctx, client.Scope{Kinds: []wire.Kind{wire.Jobs}}) {
		if last = err; view != nil {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("ctx has ended: %v", last)
	}
	cancel()
}

// After a protocol error the client reconnects, and never panics.
func TestWatchOddServer(t *testing.T) {
	const whole = `{"type":"SNAPSHOT","id":"1","cursor":"c"}`
	for name, odd := range map[string]string{
		"no JSON":            `{`,
		"another snapshot":   `{"type":"SNAPSHOT","id":"1","objects":[{"kind":"jobs","object":{"name":"job"}}],"cursor":"c"}`,
		"an unknown kind":    `{"type":"EVENTS","id":"1","events":[{"type":"ADDED","kind":"pods","object":{}}]}`,
		"no object":          `{"type":"EVENTS","id":"1","events":[{"type":"ADDED","kind":"jobs","object":[]}]}`,
		"an event of nobody": `{"type":"EVENTS","id":"1","events":[{"type":"ADDED","kind":"jobs"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{wire.Subprotocol}})
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.CloseNow()
				for _, message := range []string{whole, odd} {
					if err := conn.Write(r.Context(), websocket.MessageText, []byte(message)); err != nil {
						return
					}
				}
				for err == nil { // until the client has gone
					_, _, err = conn.Read(r.Context())
				}
			}))
			defer l.Close()
			c, err := client.New(client.Config{URL: l.URL}.WithPauses(time.Millisecond, 0))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			left := errors.New("left")
			scope := client.Scope{Kinds: []wire.Kind{wire.Jobs}, Lost: func(error) { cancel(left) }}
			for _, err := range c.Watch(ctx, scope) {
				if err != nil && !errors.Is(err, left) {
					t.Error(err)
				}
			}
			if !errors.Is(context.Cause(ctx), left) {
				t.Error("the server was not left")
			}
		})
	}
}

// replica is one of several servers of one Store.
type replica struct {
	net.Listener
	url string

	mu    sync.Mutex
	conns []net.Conn
}

func (r *replica) Accept() (net.Conn, error) {
	conn, err := r.Listener.Accept()
	if err == nil {
		r.mu.Lock()
		r.conns = append(r.conns, conn)
		r.mu.Unlock()
	}
	return conn, err
}

// cut closes its connections without a close frame.
func (r *replica) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
}

// kill ends it like a killed process.
func (r *replica) kill() {
	r.Close()
	r.cut()
}

func startReplica(t *testing.T, store *servertest.Store, callers *servertest.Identities) *replica {
	t.Helper()
	s, err := server.New(server.Config{Store: store, Authenticator: callers, Authorizer: callers})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewUnstartedServer(s)
	r := &replica{Listener: listener.Listener}
	listener.Listener = r
	listener.Start()
	r.url = listener.URL
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		r.kill()
		listener.Close()
	})
	return r
}

// TestWatchResumes disconnects the client again and again while objects change, and kills a
// replica: the client gets every object's last state once.
func TestWatchResumes(t *testing.T) {
	store, callers := servertest.NewStore(), servertest.Callers()
	replicas := [2]*replica{startReplica(t, store, callers), startReplica(t, store, callers)}
	var lost atomic.Int32
	c, err := client.New(client.Config{
		URL: replicas[0].url, Replicas: []string{replicas[1].url}, Token: client.StaticToken(servertest.Team),
	}.WithPauses(time.Millisecond, 20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	bed := wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "bed"}}
	for i := range 20 {
		bed.Slots = append(bed.Slots, wire.Slot{ID: fmt.Sprintf("node/%d", i), Index: i, Node: "node", Position: i})
	}
	store.PutTestbed(bed)
	const rounds, jobs = 30, 6
	change := func(round int) {
		for i := range jobs {
			j := jobIn(fmt.Sprint(round))
			if j.Name = fmt.Sprintf("job-%d", i); (round+i)%5 == 0 {
				store.Remove(wire.Jobs, "team", j.Name)
			}
			store.PutJob(j)
		}
		bed.Slots[round%20].Pod = fmt.Sprint(round)
		store.PutSlot("team", "bed", bed.Slots[round%20])
	}
	change(0)
	// reported is the last reported version of each object, by UID.
	reported := map[string]string{}
	current := map[testbed.Name]string{}
	round := 0
	scope := client.Scope{Kinds: []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs}, Namespace: "team", Lost: func(error) { lost.Add(1) }}
	for view, err := range c.Watch(t.Context(), scope) {
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range view.Changes {
			if change.Kind != wire.Jobs {
				continue
			}
			j, _ := view.Job(change.Name)
			switch {
			case change.Type == wire.Deleted:
				if current[change.Name] != change.UID {
					t.Errorf("%v is deleted, which was %q", change, current[change.Name])
				}
				delete(current, change.Name)
				continue
			case change.Type == wire.Added && current[change.Name] != "":
				t.Errorf("%v is added beside %q", change, current[change.Name])
			case j.ResourceVersion == reported[j.UID]:
				t.Errorf("%v is reported again: %+v", change, j)
			}
			current[change.Name], reported[j.UID] = j.UID, j.ResourceVersion
		}
		slots, _ := view.Slots(testbed.Name{Namespace: "team", Name: "bed"})
		all := view.Jobs()
		if len(all) != jobs || slices.ContainsFunc(all, func(j wire.Job) bool { return j.State != fmt.Sprint(round) }) || !cmp.Equal(slots, bed.Slots) {
			continue // more is to come
		}
		if round++; round == rounds {
			break
		}
		replicas[round%2].cut()
		change(round)
		replicas[(round+1)%2].cut() // while this is on its way
		if round == rounds/2 {
			replicas[0].kill()
		}
	}
	if lost.Load() == 0 {
		t.Error("no connection was lost")
	}
}
