package identity_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/api/kube/identity"
)

// TestReviewsOverTheWire: the request has the API's format, and an invalid answer is an error rather
// than a refusal.
func TestReviewsOverTheWire(t *testing.T) {
	status := http.StatusCreated
	body := func(r authenticationv1.TokenReview) string {
		r.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: r.Spec.Audiences,
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:monitoring:agent", Extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"node-1"}}},
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/base/apis/authentication.k8s.io/v1/tokenreviews" || review.Kind != "TokenReview" || review.APIVersion != "authentication.k8s.io/v1" || r.Header.Get("Authorization") != "Bearer ours" {
			t.Errorf("%s %s of %+v", r.Method, r.URL, review)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body(review)))
	}))
	defer server.Close()
	reviews, err := identity.NewReviews(&rest.Config{Host: server.URL + "/base", BearerToken: "ours"})
	if err != nil {
		t.Fatal(err)
	}
	identify := func(i int) (identity.Agent, string) {
		r := identity.NewReviewer(identity.Config{Reviews: reviews, ServiceAccount: "monitoring/agent", Audience: "spazio"})
		agent, err := r.Identify(t.Context(), addr, tokenOf("node-1", i))
		result, _ := identity.Judge(err)
		return agent, result
	}
	if agent, result := identify(1); agent.Node != "node-1" || result != identity.Accepted {
		t.Errorf("%+v, %s", agent, result)
	}
	status = http.StatusForbidden
	if agent, result := identify(2); agent.Node != "" || result != identity.Unknown {
		t.Errorf("status %d: %+v, %s", status, agent, result)
	}
	status = http.StatusCreated
	body = func(authenticationv1.TokenReview) string { return "not JSON" }
	if agent, result := identify(3); agent.Node != "" || result != identity.Unknown {
		t.Errorf("not JSON: got %+v, %s", agent, result)
	}
	server.Close()
	if agent, result := identify(4); agent.Node != "" || result != identity.Unknown {
		t.Errorf("no server: got %+v, %s", agent, result)
	}
}
