package plugin_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

var deleteOptions = metav1.DeleteOptions{}

// often is the interval of room updates in tests.
const updateInterval = 2 * time.Millisecond

// watcher follows the rooms that a scheduler publishes.
type watcher struct {
	t      testing.TB
	stream grpc.ServerStreamingClient[spaziov1.Rooms]
	rooms  map[string]api.Room
	// updates counts complete updates, parts their messages.
	updates, parts int
}

func (c *cluster) watch(conn *grpc.ClientConn) *watcher {
	c.t.Helper()
	stream, err := spaziov1.NewRoomServiceClient(conn).Watch(c.t.Context(), &spaziov1.WatchRooms{})
	if err != nil {
		c.t.Fatal(err)
	}
	return &watcher{t: c.t, stream: stream, rooms: map[string]api.Room{}}
}

func (c *cluster) plaintext() *grpc.ClientConn {
	c.t.Helper()
	conn, err := grpc.NewClient(c.hub.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	return conn
}

// next takes one message.
func (w *watcher) next() api.Rooms {
	w.t.Helper()
	m, err := w.stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	part, err := api.ToRooms(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.parts++
	if first := w.parts == 1; part.Full != first {
		w.t.Errorf("message %d: got full %v", w.parts, part.Full)
	}
	for _, r := range part.Rooms {
		if w.rooms[r.Node] == r {
			w.t.Errorf("got an unchanged room again: %+v", r)
		}
		w.rooms[r.Node] = r
	}
	for _, name := range part.Gone {
		delete(w.rooms, name)
	}
	if !part.More {
		w.updates++
	}
	return part
}

// until reads updates until the rooms are as wanted.
func (w *watcher) until(want map[string]api.Room) {
	w.t.Helper()
	for range 100_000 {
		if w.updates > 0 && cmp.Equal(w.rooms, want) {
			return
		}
		w.next()
	}
	w.t.Fatalf("never: (-want +got):\n%s", cmp.Diff(want, w.rooms))
}

// TestWatchRooms: the stream has each node's room as the scheduler uses it, and each change.
func TestWatchRooms(t *testing.T) {
	clock := newClock()
	beds := &testbeds{}
	beds.name("bed", "2.5", podUID(1))
	c := newCluster(t, setup{nodes: 2, options: plugin.UpdatingRooms(plugin.HubOptions{Testbeds: beds, Now: clock.Now}, updateInterval)})
	clock.advance(time.Second)
	w := c.watch(c.plaintext())
	zero, one := api.Room{Node: nodeName(0)}, api.Room{Node: nodeName(1)}
	expect := func() {
		t.Helper()
		w.until(map[string]api.Room{zero.Node: zero, one.Node: one})
	}
	expect()
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 3.5, Flags: agent.Flags{WarmingUp: true}})
	zero.Avail, zero.Fresh = 3.5, true
	expect()
	s.settle(agent.Report{Avail: 6, Flags: agent.Flags{CostUnknown: true}})
	zero.Avail = 6
	expect()
	s.settle(agent.Report{Avail: 9})
	zero.Avail, zero.CostKnown = 9, true
	expect()
	c.create(newPod(1, onNode(nodeName(0))), newPod(2, onNode(nodeName(0))), newPod(3, onNode(nodeName(1))))
	zero.Held, zero.InFlight, one.InFlight = 2.5, 1, 1
	expect()
	// A node that takes any pod or none has no number of rooms.
	s.settle(agent.Report{Avail: agent.Unbounded, Limiting: agent.LimitingPronto})
	zero.Avail, zero.CostKnown = agent.Unbounded, false
	expect()
	s.settle(agent.Report{Avail: -1, Saturated: true})
	zero.Avail, zero.CostKnown, zero.Saturated = -1, true, true
	expect()
	clock.advance(reserve.DefaultMaxAge + 1)
	zero.Fresh = false
	expect()
	if err := c.client.CoreV1().Nodes().Delete(t.Context(), nodeName(1), deleteOptions); err != nil {
		t.Fatal(err)
	}
	w.until(map[string]api.Room{zero.Node: zero})
	// Without further changes the stream still sends keep-alives.
	for range 5 {
		if part := w.next(); len(part.Rooms)+len(part.Gone) > 0 || part.More {
			t.Errorf("got %+v without a change", part)
		}
	}
}

// TestWatchOfManyNodes arrives in parts.
func TestWatchOfManyNodes(t *testing.T) {
	const nodes = 2*api.MaxRooms + 1
	c := newCluster(t, setup{nodes: nodes, options: plugin.UpdatingRooms(plugin.HubOptions{}, updateInterval)})
	w := c.watch(c.plaintext())
	for w.updates == 0 {
		w.next()
	}
	if len(w.rooms) != nodes || w.parts != 3 {
		t.Errorf("got %d nodes in %d messages, want %d in 3", len(w.rooms), w.parts, nodes)
	}
}

// TestSlowReaderOfRooms gets each node's newest room when it reads again, without the intermediate
// ones.
func TestSlowReaderOfRooms(t *testing.T) {
	const nodes = 200
	clock := newClock()
	c := newCluster(t, setup{nodes: nodes, options: plugin.UpdatingRooms(plugin.HubOptions{Now: clock.Now}, updateInterval)})
	conn, client, all := c.plaintext(), c.dial(), map[string]api.Room{}
	w := c.watch(conn)
	for w.updates == 0 {
		w.next()
	}
	for i := range nodes {
		// One at a time: of one address, 128 streams may have yet to report.
		c.open(client, nodeName(i)).settle(agent.Report{Avail: 1})
		all[nodeName(i)] = api.Room{Node: nodeName(i), Avail: 1, CostKnown: true}
	}
	// All nodes become stale at once, amid unread messages.
	clock.advance(reserve.DefaultMaxAge + 1)
	w.until(all)
}

// TestTooManyWatchers of one address are refused; one that leaves frees its place.
func TestTooManyWatchers(t *testing.T) {
	c := newCluster(t, setup{nodes: 1, options: plugin.UpdatingRooms(plugin.HubOptions{}, updateInterval)})
	conn := c.plaintext()
	open := func() (context.CancelFunc, error) {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := spaziov1.NewRoomServiceClient(conn).Watch(ctx, &spaziov1.WatchRooms{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		return cancel, err
	}
	var leave context.CancelFunc
	watchers := 0
	for {
		cancel, err := open()
		if err != nil {
			if status.Code(err) != codes.ResourceExhausted || watchers < 4 {
				t.Fatalf("after %d streams: %v", watchers, err)
			}
			break
		}
		leave = cancel
		defer cancel()
		if watchers++; watchers > 100 {
			t.Fatal("the streams of one address are not limited")
		}
	}
	leave()
	c.eventually("a place", func() bool { cancel, err := open(); defer cancel(); return err == nil })
}

// tokenReviews is an API server that accepts a token's claims unless the token was withdrawn.
func tokenReviews(t *testing.T, withdrawn func(token string) bool) *rest.Config {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		parts := strings.Split(review.Spec.Token, ".")
		var claims struct{ Sub string }
		if text, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil && json.Unmarshal(text, &claims) == nil && !withdrawn(review.Spec.Token) {
			review.Status = authenticationv1.TokenReviewStatus{
				Authenticated: true, Audiences: review.Spec.Audiences, User: authenticationv1.UserInfo{Username: claims.Sub},
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func accountToken(account, audience string, valid time.Duration) string {
	payload := fmt.Sprintf(`{"aud":[%q],"sub":"system:serviceaccount:%s","exp":%d}`, audience, strings.ReplaceAll(account, "/", ":"), time.Now().Add(valid).Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".sig"
}

// watchWith opens a stream of rooms with a token, or without one if it is empty.
func (c *cluster) watchWith(trust transport.Config, token string) *watcher {
	c.t.Helper()
	options, err := transport.DialOptions(c.hub.Addr().String(), transport.Config{CAFile: trust.CAFile})
	if err != nil {
		c.t.Fatal(err)
	}
	if token != "" {
		file := filepath.Join(c.t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			c.t.Fatal(err)
		}
		options = append(options, transport.Token(file))
	}
	conn, err := grpc.NewClient(c.hub.Addr().String(), options...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	return c.watch(conn)
}

// ends returns the code that the scheduler ends the stream with.
func (w *watcher) ends() codes.Code {
	for {
		if _, err := w.stream.Recv(); err != nil {
			return status.Code(err)
		}
	}
}

// TestOnlyControllersReadRooms: a caller with another's token, or none, is refused, and a stream ends
// with its token.
func TestOnlyControllersReadRooms(t *testing.T) {
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	const audience = "spazio-scheduler"
	good := accountToken("spazio/testbed", audience, time.Hour)
	args := plugin.SpazioArgs{
		TLSCertFile: identity.CertFile, TLSKeyFile: identity.KeyFile,
		AgentServiceAccount: "spazio/agent", ControllerServiceAccount: "spazio/testbed", MaxAge: metav1.Duration{Duration: time.Hour},
	}
	never := func(string) bool { return false }
	c := newCluster(t, setup{nodes: 1, config: tokenReviews(t, never), args: args, options: plugin.UpdatingRooms(plugin.HubOptions{}, updateInterval)})
	c.watchWith(identity, good).until(map[string]api.Room{nodeName(0): {Node: nodeName(0)}})
	for name, test := range map[string]struct {
		token string
		want  codes.Code
	}{
		"none":             {"", codes.Unauthenticated},
		"an agent's":       {tokenOf(nodeName(0), time.Hour), codes.PermissionDenied},
		"another's":        {accountToken("default/testbed", audience, time.Hour), codes.PermissionDenied},
		"for another":      {accountToken("spazio/testbed", "spazio-external", time.Hour), codes.Unauthenticated},
		"expired":          {accountToken("spazio/testbed", audience, -time.Hour), codes.Unauthenticated},
		"one that expires": {accountToken("spazio/testbed", audience, 2*time.Second), codes.Unauthenticated},
	} {
		if got := c.watchWith(identity, test.token).ends(); got != test.want {
			t.Errorf("token of %s: %v, want %v", name, got, test.want)
		}
	}
	// A controller is not an agent.
	if got := c.publishWith(identity, good, nodeName(0)).ends(); got != codes.PermissionDenied {
		t.Errorf("report with a controller's token: got %v", got)
	}

	withdrawn := make(chan struct{})
	c = newCluster(t, setup{nodes: 1, args: args, options: plugin.ReviewingTokens(plugin.UpdatingRooms(plugin.HubOptions{}, updateInterval), 10*time.Millisecond), config: tokenReviews(t, func(string) bool {
		select {
		case <-withdrawn:
			return true
		default:
			return false
		}
	})})
	w := c.watchWith(identity, good)
	w.next()
	close(withdrawn)
	if got := w.ends(); got != codes.Unauthenticated {
		t.Errorf("a withdrawn token's stream ended with %v", got)
	}

	args.ControllerServiceAccount = ""
	c = newCluster(t, setup{nodes: 1, config: tokenReviews(t, never), args: args})
	if got := c.watchWith(identity, good).ends(); got != codes.PermissionDenied {
		t.Errorf("without controllerServiceAccount: got %v", got)
	}
}

// TestStreamsOfRoomsEndWithTheScheduler at once.
func TestStreamsOfRoomsEndWithTheScheduler(t *testing.T) {
	c := newCluster(t, setup{nodes: 1, options: plugin.UpdatingRooms(plugin.HubOptions{}, time.Hour)})
	w := c.watch(c.plaintext())
	w.next()
	c.stop()
	if got := w.ends(); got != codes.Unavailable {
		t.Errorf("the stream ended with %v", got)
	}
	c.hub.Wait()
}
