package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
)

// server accepts the tokens that are genuine.
type server struct {
	authentication.TokenReviewInterface
	enter, leave chan struct{} // if set, a review waits between them

	mu       sync.Mutex
	genuine  map[string]string // from the token to its node
	reviewed int
	away     bool
}

func (s *server) Create(ctx context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	if s.enter != nil {
		s.enter <- struct{}{}
		<-s.leave
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reviewed++
	if s.away {
		return nil, errors.New("away")
	}
	r = r.DeepCopy()
	if node, ok := s.genuine[r.Spec.Token]; ok {
		r.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: r.Spec.Audiences,
			User: authenticationv1.UserInfo{
				Username: "system:serviceaccount:monitoring:agent",
				Extra:    map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {node}},
			},
		}
	}
	return r, nil
}

func (s *server) reviews() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reviewed
}

// world is a Reviewer with a clock and an API server.
type world struct {
	*server
	*identity.Reviewer
	now time.Time
}

func newWorld(genuine map[string]string) *world {
	w := &world{server: &server{genuine: genuine}, now: noon}
	w.Reviewer = identity.NewReviewer(identity.Config{
		Reviews: w.server, ServiceAccount: "monitoring/agent", Audience: "spazio",
		Node: func(name string) bool { return strings.HasPrefix(name, "node-") },
		Now:  func() time.Time { return w.now },
	})
	return w
}

// TestUnsuitableTokensAreNotReviewed: the API server reviews only unexpired tokens that claim to be of
// an agent of the cluster.
func TestUnsuitableTokensAreNotReviewed(t *testing.T) {
	const sub, node = `"sub":"system:serviceaccount:monitoring:agent"`, `"kubernetes.io":{"node":{"name":"node-1"}}`
	w := newWorld(nil)
	for _, test := range []struct {
		name, token string
		want        error
	}{
		{"larger than 8 KiB", jwt(`{"aud":"spazio",` + sub + `,` + node + `,"x":"` + strings.Repeat("x", 9<<10) + `"}`), identity.ErrToken},
		{"expired", jwt(`{"aud":"spazio",` + sub + `,` + node + `,"exp":1790000000}`), identity.ErrToken},
		{"without an audience", jwt(`{` + sub + `,` + node + `}`), identity.ErrToken},
		{"for others", jwt(`{"aud":["api","spazio2"],` + sub + `,` + node + `}`), identity.ErrToken},
		{"of another account", jwt(`{"aud":"spazio","sub":"system:serviceaccount:monitoring:other",` + node + `}`), identity.ErrRefused},
		{"without a node", jwt(`{"aud":"spazio",` + sub + `}`), identity.ErrRefused},
		{"of an unselected node", tokenOf("other-1", 0), identity.ErrRefused},
	} {
		if _, err := w.Identify(t.Context(), addr, test.token); !errors.Is(err, test.want) {
			t.Errorf("a token %s: %v, want %v", test.name, err, test.want)
		}
	}
	if n := w.reviews(); n != 0 {
		t.Errorf("got %d reviews, want none", n)
	}
}

// TestRefusalsAreRemembered for some seconds; an unavailable API server is no refusal.
func TestRefusalsAreRemembered(t *testing.T) {
	w := newWorld(nil)
	ask := func(want error, reviewed int) {
		t.Helper()
		if _, err := w.Identify(t.Context(), addr, tokenOf("node-1", 0)); err == nil || errors.Is(err, identity.ErrToken) != (want != nil) {
			t.Errorf("%v, want %v", err, want)
		}
		if n := w.reviews(); n != reviewed {
			t.Errorf("got %d reviews, want %d", n, reviewed)
		}
	}
	w.away = true
	ask(nil, 1)
	ask(nil, 2)
	w.away = false
	for range 100 {
		ask(identity.ErrToken, 3)
	}
	w.now = w.now.Add(10*time.Second + 1)
	ask(identity.ErrToken, 4)
}

// TestAnUnauthenticatedCallerIsThrottled: the reviews of rejected tokens per address are limited,
// without affecting other addresses or callers accepted earlier from the same address.
func TestAnUnauthenticatedCallerIsThrottled(t *testing.T) {
	before, beside := tokenOf("node-1", -1), tokenOf("node-2", -2)
	w := newWorld(map[string]string{before: "node-1", beside: "node-2"})
	identify := func(from netip.Addr, token string) error {
		_, err := w.Identify(t.Context(), from, token)
		return err
	}
	if err := identify(addr, before); err != nil {
		t.Fatal(err)
	}
	throttled := 0
	for i := range 1000 {
		if err := identify(addr, tokenOf("node-1", i)); errors.Is(err, identity.ErrThrottled) {
			throttled++
		} else if !errors.Is(err, identity.ErrToken) {
			t.Fatal(err)
		}
	}
	if n := w.reviews() - 1; n != 32 || throttled != 968 {
		t.Errorf("%d reviews, %d throttled, want 32 and 968", n, throttled)
	}
	if err := identify(addr, before); err != nil {
		t.Errorf("caller accepted earlier: got %v", err)
	}
	if err := identify(addr, beside); !errors.Is(err, identity.ErrThrottled) {
		t.Errorf("new caller at the same address: got %v", err)
	}
	if err := identify(netip.MustParseAddr("10.0.0.2"), beside); err != nil {
		t.Errorf("another address: got %v", err)
	}
	reviewed := w.reviews()
	w.now = w.now.Add(5 * time.Second)
	for i := range 1000 {
		_ = identify(addr, tokenOf("node-1", 1000+i))
	}
	if n := w.reviews() - reviewed; n != 5 {
		t.Errorf("got %d reviews after five seconds, want 5", n)
	}
}

// TestAnAcceptedTokenIsRemembered: a token is reviewed once in ten minutes, however often it is
// presented, from any address.
func TestAnAcceptedTokenIsRemembered(t *testing.T) {
	token := tokenOf("node-1", 0)
	w := newWorld(map[string]string{token: "node-1"})
	show := func(want error, reviewed int) {
		t.Helper()
		for i := range 100 {
			agent, err := w.Identify(t.Context(), netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), token)
			if !errors.Is(err, want) || want == nil && (err != nil || agent.Node != "node-1") {
				t.Fatal(agent, err)
			}
		}
		if n := w.reviews(); n != reviewed {
			t.Errorf("got %d reviews, want %d", n, reviewed)
		}
	}
	show(nil, 1)
	w.now = w.now.Add(10*time.Minute - 1)
	show(nil, 1)
	w.now = w.now.Add(1)
	show(nil, 2)
	// While the API server is unavailable, accepted callers stay accepted; the review is retried.
	w.away = true
	w.now = w.now.Add(10 * time.Minute)
	show(nil, 3)
	w.now = w.now.Add(10 * time.Second)
	show(nil, 4)
	w.away = false
	// An accepted token that is refused later, since its pod is gone, is forgotten.
	delete(w.genuine, token)
	show(nil, 4)
	w.now = w.now.Add(10 * time.Second)
	show(identity.ErrToken, 5)
	w.away = true
	w.now = w.now.Add(time.Minute)
	if _, err := w.Identify(t.Context(), addr, token); err == nil {
		t.Error("a refused token was accepted while the API server was unavailable")
	}
}

// TestAnAcceptedTokenExpires even while it is remembered.
func TestAnAcceptedTokenExpires(t *testing.T) {
	token := jwt(fmt.Sprintf(`{"aud":"spazio","sub":"system:serviceaccount:monitoring:agent","kubernetes.io":{"node":{"name":"node-1"}},"exp":%d}`, noon.Add(time.Minute).Unix()))
	w := newWorld(map[string]string{token: "node-1"})
	if _, err := w.Identify(t.Context(), addr, token); err != nil {
		t.Fatal(err)
	}
	w.away = true
	w.now = noon.Add(time.Minute)
	if _, err := w.Identify(t.Context(), addr, token); !errors.Is(err, identity.ErrToken) {
		t.Errorf("expired token: got %v", err)
	}
}

// TestOneTokenIsReviewedOnce, even if it is presented many times concurrently.
func TestOneTokenIsReviewedOnce(t *testing.T) {
	token := tokenOf("node-1", 0)
	w := newWorld(map[string]string{token: "node-1"})
	w.enter, w.leave = make(chan struct{}), make(chan struct{})
	var showing sync.WaitGroup
	for range 20 {
		showing.Go(func() {
			if _, err := w.Identify(t.Context(), addr, token); err != nil {
				t.Error(err)
			}
		})
	}
	<-w.enter
	select {
	case <-w.enter:
		t.Error("a second review of the token began")
		w.leave <- struct{}{}
	case <-time.After(20 * time.Millisecond): // a short wait, since nothing must happen
	}
	w.leave <- struct{}{}
	showing.Wait()
	if n := w.reviews(); n != 1 {
		t.Errorf("%d reviews", n)
	}
}

// TestTurns: the concurrent reviews of one address and of all unauthenticated callers are limited, and
// callers accepted earlier always get a place.
func TestTurns(t *testing.T) {
	known := tokenOf("node-1", -1)
	w := newWorld(map[string]string{known: "node-1"})
	if _, err := w.Identify(t.Context(), addr, known); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(10 * time.Minute) // the next review is due
	w.enter, w.leave = make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for from := range 10 {
		for i := range 20 {
			waiting.Go(func() {
				_, err := w.Identify(ctx, netip.AddrFrom4([4]byte{10, 1, 0, byte(from)}), tokenOf("node-1", 100*from+i))
				if err == nil {
					t.Error("a forged token was accepted")
				}
			})
		}
	}
	for range 48 { // eight each of six addresses
		<-w.enter
	}
	select {
	case <-w.enter:
		t.Error("a 49th review of unauthenticated callers began")
	case <-time.After(20 * time.Millisecond): // a short wait, since nothing must happen
	}
	waiting.Go(func() {
		if _, err := w.Identify(t.Context(), addr, known); err != nil {
			t.Errorf("caller accepted earlier: got %v", err)
		}
	})
	<-w.enter
	cancel() // the waiting ones
	for range 49 {
		w.leave <- struct{}{}
	}
	waiting.Wait()
	if n := w.reviews(); n != 50 {
		t.Errorf("%d reviews, want 50", n)
	}
	w.enter, w.leave = nil, nil
	if _, err := w.Identify(t.Context(), netip.MustParseAddr("10.1.0.1"), tokenOf("node-1", 5000)); !errors.Is(err, identity.ErrToken) {
		t.Errorf("a place was not released: %v", err)
	}
}
