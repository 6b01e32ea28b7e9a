package identity_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
)

// noon is before the tokens expire.
var noon = time.Unix(1790000000, 0)

var addr = netip.MustParseAddr("10.0.0.1")

func jwt(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".sig"
}

// tokenOf returns a kubelet's token of the agent on a node; number makes it distinct.
func tokenOf(node string, number int) string {
	return jwt(fmt.Sprintf(`{"aud":["other","spazio"],"sub":"system:serviceaccount:monitoring:agent","exp":1800000000,`+
		`"kubernetes.io":{"namespace":"monitoring","node":{"name":%q,"uid":"1"}},"jti":"%d"}`, node, number))
}

// TestIdentify covers the API server's possible answers about a token.
func TestIdentify(t *testing.T) {
	away := errors.New("the API server is unavailable")
	good := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{"spazio"},
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:monitoring:agent",
			Extra:    map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"node-1"}},
		},
	}
	token, until := tokenOf("node-1", 0), time.Unix(1800000000, 0)
	forever := jwt(`{"aud":"spazio","sub":"system:serviceaccount:monitoring:agent","kubernetes.io":{"node":{"name":"node-1"}}}`)
	for _, test := range []struct {
		name   string
		token  string
		change func(*authenticationv1.TokenReviewStatus)
		api    error
		want   identity.Agent
		err    error
	}{
		{name: "an agent's", token: token, want: identity.Agent{Node: "node-1", Until: until, Review: noon.Add(10 * time.Minute)}},
		{name: "without end", token: forever, want: identity.Agent{Node: "node-1", Review: noon.Add(10 * time.Minute)}},
		{name: "none", err: identity.ErrToken},
		{name: "not a JWT", token: "abc", err: identity.ErrToken},
		{name: "not valid", token: token, err: identity.ErrToken, change: func(s *authenticationv1.TokenReviewStatus) {
			*s = authenticationv1.TokenReviewStatus{Error: "expired"}
		}},
		{name: "not valid, without a reason", token: token, err: identity.ErrToken, change: func(s *authenticationv1.TokenReviewStatus) {
			*s = authenticationv1.TokenReviewStatus{}
		}},
		{name: "an API server that knows no audiences", token: token, err: identity.ErrToken, change: func(s *authenticationv1.TokenReviewStatus) {
			s.Audiences = nil
		}},
		{name: "of another account", token: token, err: identity.ErrRefused, change: func(s *authenticationv1.TokenReviewStatus) {
			s.User.Username = "system:serviceaccount:default:agent"
		}},
		{name: "bound to no node", token: token, err: identity.ErrRefused, change: func(s *authenticationv1.TokenReviewStatus) {
			s.User.Extra = nil
		}},
		{name: "bound to two nodes", token: token, err: identity.ErrRefused, change: func(s *authenticationv1.TokenReviewStatus) {
			s.User.Extra = map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"a", "b"}}
		}},
		{name: "unreviewed", token: token, api: away, err: away},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				review := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
				want := authenticationv1.TokenReviewSpec{Token: test.token, Audiences: []string{"spazio"}}
				if diff := cmp.Diff(want, review.Spec); diff != "" {
					t.Errorf("review (-want +got):\n%s", diff)
				}
				answer := &authenticationv1.TokenReview{Status: *good.DeepCopy()}
				if test.change != nil {
					test.change(&answer.Status)
				}
				return true, answer, test.api
			})
			r := identity.NewReviewer(identity.Config{
				Reviews: client.AuthenticationV1().TokenReviews(), ServiceAccount: "monitoring/agent", Audience: "spazio",
				Now: func() time.Time { return noon },
			})
			got, err := r.Identify(t.Context(), addr, test.token)
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParseClaims: parsed claims can be encoded, and the encoding is parsed to the same.
func FuzzParseClaims(f *testing.F) {
	for _, payload := range []string{
		`{"exp":1800000000}`, `{"exp":1e300}`, `{"exp":-1}`, `{"exp":"x"}`, `{`, ``, `{"exp":1.5}`, `{"exp":0.5}`,
		`{"aud":"a"}`, `{"aud":["a","b"]}`, `{"aud":1}`, `{"sub":"s","kubernetes.io":{"node":{"name":"n"}}}`,
	} {
		f.Add(jwt(payload))
	}
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, token string) {
		claims, err := identity.ParseClaims(token)
		if err != nil {
			if diff := cmp.Diff(identity.Claims{}, claims); diff != "" {
				t.Errorf("got claims beside an error:\n%s", diff)
			}
			return
		}
		payload := map[string]any{
			"sub": claims.Subject, "aud": claims.Audiences,
			"kubernetes.io": map[string]any{"node": map[string]any{"name": claims.Node}},
		}
		if !claims.Until.IsZero() {
			payload["exp"] = claims.Until.Unix()
			if _, err := claims.Until.MarshalText(); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		again, err := identity.ParseClaims(jwt(string(text)))
		if err != nil && len(jwt(string(text))) <= 8<<10 {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(claims, again, cmpopts.EquateEmpty()); err == nil && diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
	})
}

// TestAnyone: callers with a token for the audience are identified by the API server's answer alone,
// without other required claims; a token for another audience, or an expired one, is refused without a
// review.
func TestAnyone(t *testing.T) {
	client := fake.NewClientset()
	reviewed := 0
	client.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		reviewed++
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: review.Spec.Audiences,
			User: authenticationv1.UserInfo{Username: "ann", UID: "7", Groups: []string{"lab"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}},
		}
		return true, review, nil
	})
	r := identity.NewReviewer(identity.Config{
		Reviews: client.AuthenticationV1().TokenReviews(), Anyone: true, Audience: "spazio-external", Now: func() time.Time { return noon },
	})
	until := noon.Add(time.Hour)
	got, err := r.Identify(t.Context(), addr, jwt(fmt.Sprintf(`{"aud":["x","spazio-external"],"sub":"whatever","exp":%d}`, until.Unix())))
	want := identity.Agent{
		User: &authenticationv1.UserInfo{
			Username: "ann", UID: "7", Groups: []string{"lab"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}},
		},
		Until: until, Review: noon.Add(10 * time.Minute),
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for name, token := range map[string]string{
		"for another audience": jwt(`{"aud":"spazio","sub":"ann"}`), "without an audience": jwt(`{"sub":"ann"}`),
		"expired": jwt(fmt.Sprintf(`{"aud":"spazio-external","exp":%d}`, noon.Unix())), "invalid": "x",
	} {
		if agent, err := r.Identify(t.Context(), addr, token); !errors.Is(err, identity.ErrToken) || agent.User != nil {
			t.Errorf("a token %s: %+v, %v", name, agent, err)
		}
	}
	if reviewed != 1 {
		t.Errorf("got %d reviews, want 1", reviewed)
	}
}
