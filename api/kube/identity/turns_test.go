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

	mu      sync.Mutex
	genuine map[string]string // to the node
	asked   int
	away    bool
}

func (s *server) Create(ctx context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	if s.enter != nil {
		s.enter <- struct{}{}
		<-s.leave
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
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
	return s.asked
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

// TestWhatATokenTellsIsNotAsked: the API server hears only of tokens that claim
// to be an agent's of the cluster, and are still good.
func TestWhatATokenTellsIsNotAsked(t *testing.T) {
	const sub, node = `"sub":"system:serviceaccount:monitoring:agent"`, `"kubernetes.io":{"node":{"name":"node-1"}}`
	w := newWorld(nil)
	for _, test := range []struct {
		name, token string
		want        error
	}{
		{"of 9 KiB", jwt(`{"aud":"spazio",` + sub + `,` + node + `,"x":"` + strings.Repeat("x", 9<<10) + `"}`), identity.ErrToken},
		{"that has expired", jwt(`{"aud":"spazio",` + sub + `,` + node + `,"exp":1790000000}`), identity.ErrToken},
		{"for nobody", jwt(`{` + sub + `,` + node + `}`), identity.ErrToken},
		{"for others", jwt(`{"aud":["api","spazio2"],` + sub + `,` + node + `}`), identity.ErrToken},
		{"of another account", jwt(`{"aud":"spazio","sub":"system:serviceaccount:monitoring:other",` + node + `}`), identity.ErrRefused},
		{"of no pod", jwt(`{"aud":"spazio",` + sub + `}`), identity.ErrRefused},
		{"of a node elsewhere", tokenOf("other-1", 0), identity.ErrRefused},
	} {
		if _, err := w.Identify(t.Context(), addr, test.token); !errors.Is(err, test.want) {
			t.Errorf("a token %s: %v, want %v", test.name, err, test.want)
		}
	}
	if n := w.reviews(); n != 0 {
		t.Errorf("the API server was asked %d times", n)
	}
}

// TestRefusalsAreRemembered for some seconds; that the API server was away is
// none.
func TestRefusalsAreRemembered(t *testing.T) {
	w := newWorld(nil)
	ask := func(want error, asked int) {
		t.Helper()
		if _, err := w.Identify(t.Context(), addr, tokenOf("node-1", 0)); err == nil || errors.Is(err, identity.ErrToken) != (want != nil) {
			t.Errorf("%v, want %v", err, want)
		}
		if n := w.reviews(); n != asked {
			t.Errorf("the API server was asked %d times, want %d", n, asked)
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

// TestAnUnauthenticatedCallerIsThrottled: what one address can make the API server do for
// nothing is bounded, and concerns nobody else: not another address, nor whoever
// was accepted before from the same.
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
		t.Errorf("who was accepted before: %v", err)
	}
	if err := identify(addr, beside); !errors.Is(err, identity.ErrThrottled) {
		t.Errorf("a newcomer behind the stranger's address: %v", err)
	}
	if err := identify(netip.MustParseAddr("10.0.0.2"), beside); err != nil {
		t.Errorf("another address: %v", err)
	}
	asked := w.reviews()
	w.now = w.now.Add(5 * time.Second)
	for i := range 1000 {
		_ = identify(addr, tokenOf("node-1", 1000+i))
	}
	if n := w.reviews() - asked; n != 5 {
		t.Errorf("%d reviews after five seconds, want 5", n)
	}
}

// TestAnAcceptedTokenIsRemembered: the API server is asked once in ten minutes,
// however often the token is shown, and from wherever.
func TestAnAcceptedTokenIsRemembered(t *testing.T) {
	token := tokenOf("node-1", 0)
	w := newWorld(map[string]string{token: "node-1"})
	show := func(want error, asked int) {
		t.Helper()
		for i := range 100 {
			agent, err := w.Identify(t.Context(), netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), token)
			if !errors.Is(err, want) || want == nil && (err != nil || agent.Node != "node-1") {
				t.Fatal(agent, err)
			}
		}
		if n := w.reviews(); n != asked {
			t.Errorf("the API server was asked %d times, want %d", n, asked)
		}
	}
	show(nil, 1)
	w.now = w.now.Add(10*time.Minute - 1)
	show(nil, 1)
	w.now = w.now.Add(1)
	show(nil, 2)
	// While the API server is away, whom it accepted goes on; it is tried again.
	w.away = true
	w.now = w.now.Add(10 * time.Minute)
	show(nil, 3)
	w.now = w.now.Add(10 * time.Second)
	show(nil, 4)
	w.away = false
	// An accepted token that is refused later, as its pod is gone, is known no
	// more.
	delete(w.genuine, token)
	show(nil, 4)
	w.now = w.now.Add(10 * time.Second)
	show(identity.ErrToken, 5)
	w.away = true
	w.now = w.now.Add(time.Minute)
	if _, err := w.Identify(t.Context(), addr, token); err == nil {
		t.Error("what was refused is accepted while the API server is away")
	}
}

// TestAnAcceptedTokenExpires whatever is remembered of it.
func TestAnAcceptedTokenExpires(t *testing.T) {
	token := jwt(fmt.Sprintf(`{"aud":"spazio","sub":"system:serviceaccount:monitoring:agent","kubernetes.io":{"node":{"name":"node-1"}},"exp":%d}`, noon.Add(time.Minute).Unix()))
	w := newWorld(map[string]string{token: "node-1"})
	if _, err := w.Identify(t.Context(), addr, token); err != nil {
		t.Fatal(err)
	}
	w.away = true
	w.now = noon.Add(time.Minute)
	if _, err := w.Identify(t.Context(), addr, token); !errors.Is(err, identity.ErrToken) {
		t.Errorf("an expired token: %v", err)
	}
}

// TestOneTokenIsReviewedOnce though it comes from many at the same time.
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
		t.Error("a second review of the token is under way")
		w.leave <- struct{}{}
	case <-time.After(20 * time.Millisecond): // nothing to wait for: it must not come
	}
	w.leave <- struct{}{}
	showing.Wait()
	if n := w.reviews(); n != 1 {
		t.Errorf("%d reviews", n)
	}
}

// TestTurns: one address has so many reviews under way, all unauthenticated callers some more,
// and for those who were accepted before there is always a place.
func TestTurns(t *testing.T) {
	known := tokenOf("node-1", -1)
	w := newWorld(map[string]string{known: "node-1"})
	if _, err := w.Identify(t.Context(), addr, known); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(10 * time.Minute) // it is due again
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
	for range 48 { // six addresses' eight
		<-w.enter
	}
	select {
	case <-w.enter:
		t.Error("a 49th review of unauthenticated callers is under way")
	case <-time.After(20 * time.Millisecond): // nothing to wait for: it must not come
	}
	waiting.Go(func() {
		if _, err := w.Identify(t.Context(), addr, known); err != nil {
			t.Errorf("who was accepted before: %v", err)
		}
	})
	<-w.enter
	cancel() // those that wait for their turn
	for range 49 {
		w.leave <- struct{}{}
	}
	waiting.Wait()
	if n := w.reviews(); n != 50 {
		t.Errorf("%d reviews, want 50", n)
	}
	w.enter, w.leave = nil, nil
	if _, err := w.Identify(t.Context(), netip.MustParseAddr("10.1.0.1"), tokenOf("node-1", 5000)); !errors.Is(err, identity.ErrToken) {
		t.Errorf("a place was not given back: %v", err)
	}
}
