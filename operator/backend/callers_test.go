package backend_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/backend"
)

// judge answers reviews as an API server would, and records them. It is safe for concurrent use.
type judge struct {
	mu      sync.Mutex
	allowed map[string]bool // VERB RESOURCE[/SUB] NAMESPACE/NAME of any caller
	asked   []string
	last    authorizationv1.SubjectAccessReviewSpec
	away    bool
	enter   chan struct{}
	leave   chan struct{}
}

func (j *judge) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if j.enter != nil {
		j.enter <- struct{}{}
		<-j.leave
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.away {
		return errors.New("away")
	}
	review := o.(*authorizationv1.SubjectAccessReview)
	a := review.Spec.ResourceAttributes
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	line := fmt.Sprintf("%s %s %s/%s", a.Verb, resource, a.Namespace, a.Name)
	j.asked = append(j.asked, line)
	j.last = review.Spec
	review.Status.Allowed = j.allowed[line]
	return nil
}

func statusOf(err error) int {
	var p *wire.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

func TestAuthorizer(t *testing.T) {
	now := time.Unix(1790000000, 0)
	j := &judge{allowed: map[string]bool{"get batchjobs lab/": true, "get schedulings lab/mine": true, "update batchjobs/external lab/": true, "watch testbeds /": true}}
	a := backend.NewAuthorizer(j, time.Minute, func() time.Time { return now })
	ann := server.Caller{Name: "ann", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
	may := func(access server.Access, want int, asked ...string) {
		t.Helper()
		j.asked = nil
		if err := a.Authorize(t.Context(), ann, access); statusOf(err) != want {
			t.Errorf("%+v: %v, want %d", access, err, want)
		}
		if diff := cmp.Diff(asked, j.asked); diff != "" {
			t.Errorf("%+v: %s", access, diff)
		}
	}
	job := server.Access{Verb: server.Get, Kind: wire.Jobs, Namespace: "lab", Name: "a"}
	may(job, 0, "get batchjobs lab/")
	if diff := cmp.Diff(authorizationv1.SubjectAccessReviewSpec{
		User: "ann", UID: "7", Groups: []string{"g"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Group: "testbed.spazio-scheduler.github.io", Version: "v1alpha1", Resource: "batchjobs", Namespace: "lab",
		},
	}, j.last); diff != "" {
		t.Error(diff)
	}
	job.Name = "b" // the right to all of the namespace is known
	may(job, 0)
	// A caller who may see a single object sees that one; a denial is cached, too.
	mine := server.Access{Verb: server.Get, Kind: wire.Schedulings, Namespace: "lab", Name: "mine"}
	may(mine, 0, "get schedulings lab/", "get schedulings lab/mine")
	may(mine, 0)
	mine.Name = "theirs"
	may(mine, 403, "get schedulings lab/theirs")
	may(mine, 403)
	may(server.Access{Verb: server.List, Kind: wire.Schedulings, Namespace: "lab"}, 403, "list schedulings lab/")
	may(server.Access{Verb: server.Update, Kind: wire.Jobs, Namespace: "lab", External: true}, 0, "update batchjobs/external lab/")
	may(server.Access{Verb: server.Update, Kind: wire.Jobs, Namespace: "lab"}, 403, "update batchjobs lab/")
	may(server.Access{Verb: server.Watch, Kind: wire.Slots}, 0, "watch testbeds /")
	// Another caller's results are cached separately.
	if err := a.Authorize(t.Context(), server.Caller{Name: "ann", UID: "8"}, job); err != nil || len(j.asked) != 2 {
		t.Errorf("another of the name: %v, %q", err, j.asked)
	}
	// A denial is cached for ten seconds, a grant for a minute.
	may(mine, 403)
	now = now.Add(10*time.Second - 1)
	may(mine, 403)
	j.allowed["get schedulings lab/theirs"] = true
	now = now.Add(2)
	may(mine, 0, "get schedulings lab/", "get schedulings lab/theirs")
	j.allowed = map[string]bool{"get schedulings lab/": true}
	now = now.Add(50*time.Second - 2)
	may(job, 0)
	now = now.Add(2)
	may(job, 403, "get batchjobs lab/", "get batchjobs lab/b")
	may(mine, 0, "get schedulings lab/")
	// An unknown result is no denial, and is not cached.
	now = now.Add(2 * time.Minute)
	j.away = true
	may(mine, 503)
	j.away = false
	may(mine, 0, "get schedulings lab/")
	if err := a.Authorize(t.Context(), ann, server.Access{Verb: server.Get, Kind: "pods"}); err == nil || statusOf(err) != 0 {
		t.Errorf("a kind that nobody knows: %v", err)
	}
}

// TestRefusalsAreBounded: endless names that a caller may not see cost the API server few reviews,
// other callers are still reviewed, and after ten seconds so is this one.
func TestRefusalsAreBounded(t *testing.T) {
	now := time.Unix(1790000000, 0)
	j := &judge{allowed: map[string]bool{"get batchjobs lab/": true}}
	a := backend.NewAuthorizer(j, 0, func() time.Time { return now })
	get := func(caller, namespace, name string) int {
		return statusOf(a.Authorize(t.Context(), server.Caller{Name: caller}, server.Access{Verb: server.Get, Kind: wire.Jobs, Namespace: namespace, Name: name}))
	}
	throttled := 0
	for i := range 1000 {
		switch code := get("eve", "other", fmt.Sprint("job-", i)); code {
		case 429:
			throttled++
		case 403:
		default:
			t.Fatal(code)
		}
	}
	if asked := len(j.asked); asked > 40 || throttled != 1000-32 {
		t.Errorf("%d reviews, %d throttled", asked, throttled)
	}
	if code := get("eve", "other", "job-0"); code != 403 {
		t.Errorf("what is known: %d", code)
	}
	if code := get("ann", "lab", "a"); code != 0 {
		t.Errorf("another caller: %d", code)
	}
	if now = now.Add(11 * time.Second); get("eve", "lab", "a") != 0 {
		t.Error("the caller is refused for ever")
	}
}

// The number of concurrent reviews is bounded, and callers that wait for the same result share a
// review.
func TestAuthorizerIsBounded(t *testing.T) {
	j := &judge{allowed: map[string]bool{}, enter: make(chan struct{}), leave: make(chan struct{})}
	a := backend.NewAuthorizer(j, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for i := range 60 {
		asking.Go(func() {
			_ = a.Authorize(ctx, server.Caller{Name: fmt.Sprint(i % 20)}, server.Access{Verb: server.List, Kind: wire.Jobs})
		})
	}
	for range 16 {
		<-j.enter
	}
	select {
	case <-j.enter:
		t.Error("a 17th review is under way")
		j.leave <- struct{}{}
	case <-time.After(20 * time.Millisecond): // nothing to wait for: it must not come
	}
	cancel() // those that wait for their turn
	for range 16 {
		j.leave <- struct{}{}
	}
	done := make(chan struct{})
	go func() {
		asking.Wait()
		close(done)
	}()
	for {
		select {
		case <-j.enter: // a turn and the end came together
			j.leave <- struct{}{}
			continue
		case <-done:
		}
		break
	}
}

// reviews accepts the tokens that end in "good".
type reviews struct {
	mu    sync.Mutex
	asked int
	away  bool
}

func (r *reviews) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.away {
		return nil, errors.New("away")
	}
	review = review.DeepCopy()
	if strings.HasSuffix(review.Spec.Token, "good") {
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences, User: authenticationv1.UserInfo{
			Username: "ann", UID: "7", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}},
		}}
	}
	return review, nil
}

func token(audience string, expires time.Time, end string) string {
	payload := fmt.Sprintf(`{"aud":%q,"exp":%d}`, audience, expires.Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + "." + end
}

// conn is a connection from an address.
type conn struct {
	net.Conn
	from string
}

func (c conn) RemoteAddr() net.Addr {
	addr, _ := net.ResolveTCPAddr("tcp", c.from)
	return addr
}

func TestAuthenticator(t *testing.T) {
	now := time.Unix(1790000000, 0)
	r := &reviews{}
	a := backend.NewAuthenticator(r, "", 0, func() time.Time { return now })
	ends := now.Add(time.Hour)
	good := token("spazio-external", ends, "good")
	want := server.Caller{Name: "ann", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}, Expires: ends}
	for range 3 {
		got, err := a.Authenticate(t.Context(), good)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	for _, bad := range []string{"", "x", token("spazio-scheduler", ends, "good"), token("spazio-external", now, "good")} {
		if _, err := a.Authenticate(t.Context(), bad); statusOf(err) != 401 {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if r.asked != 1 {
		t.Errorf("the API server was asked %d times, want once", r.asked)
	}
	// A caller who shows endless forged tokens waits, and delays no one else.
	from := func(address string) context.Context { return transport.ConnContext(t.Context(), conn{from: address}) }
	throttled := 0
	for i := range 100 {
		if _, err := a.Authenticate(from("10.0.0.9:1"), token("spazio-external", ends, fmt.Sprint("forged", i))); statusOf(err) == 503 {
			throttled++
		} else if statusOf(err) != 401 {
			t.Fatal(err)
		}
	}
	if throttled < 60 || r.asked > 41 {
		t.Errorf("%d throttled, %d asked", throttled, r.asked)
	}
	if _, err := a.Authenticate(from("10.0.0.9:2"), token("spazio-external", ends, "new.good")); err == nil {
		t.Error("three dots are a token")
	}
	// Only the first 64 bits of an IPv6 address count, because a caller chooses the rest.
	throttled = 0
	for i := range 100 {
		address := fmt.Sprintf("[2001:db8:0:1::%x]:1", i+1)
		if _, err := a.Authenticate(from(address), token("spazio-external", ends, fmt.Sprint("moving", i))); statusOf(err) == 503 {
			throttled++
		}
	}
	if throttled < 60 {
		t.Errorf("%d throttled of one network", throttled)
	}
	if _, err := a.Authenticate(from("10.0.0.8:1"), token("spazio-external", ends, "agood")); err != nil {
		t.Errorf("from elsewhere: %v", err)
	}
	// A token is reviewed again after a minute; an API server that does not answer is no denial.
	asked := r.asked
	now = now.Add(time.Minute)
	if _, err := a.Authenticate(t.Context(), good); err != nil || r.asked != asked+1 {
		t.Errorf("%v, asked %d times more", err, r.asked-asked)
	}
	r.away = true
	if _, err := a.Authenticate(from("10.0.0.7:1"), token("spazio-external", ends, "bgood")); statusOf(err) != 503 {
		t.Errorf("while the API server is away: %v", err)
	}
}
