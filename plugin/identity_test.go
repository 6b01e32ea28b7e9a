package plugin_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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
)

// reviews is an API server that accepts a token's claim about its node.
func reviews(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" {
		http.Error(w, "only token reviews", http.StatusBadRequest)
		return
	}
	var claims struct {
		Kubernetes struct{ Node struct{ Name string } } `json:"kubernetes.io"`
	}
	_, payload, _ := strings.Cut(review.Spec.Token, ".")
	payload, _, _ = strings.Cut(payload, ".")
	if text, err := base64.RawURLEncoding.DecodeString(payload); err == nil && json.Unmarshal(text, &claims) == nil {
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: review.Spec.Audiences,
			User: authenticationv1.UserInfo{
				Username: "system:serviceaccount:spazio:agent",
				Extra:    map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {claims.Kubernetes.Node.Name}},
			},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func tokenOf(node string, valid time.Duration) string {
	payload := fmt.Sprintf(`{"aud":["spazio-scheduler"],"sub":"system:serviceaccount:spazio:agent","exp":%d,"kubernetes.io":{"node":{"name":%q}}}`,
		time.Now().Add(valid).Unix(), node)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".sig"
}

// publishWith opens a stream with a token, or without one if it is empty.
func (c *cluster) publishWith(trust transport.Config, token, node string) *stream {
	c.t.Helper()
	options, err := transport.DialOptions(c.hub.Addr().String(), transport.Config{CAFile: trust.CAFile})
	if err != nil {
		c.t.Fatal(err)
	}
	if token != "" {
		file := filepath.Join(c.t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			c.t.Fatal(err)
		}
		options = append(options, transport.Token(file))
	}
	conn, err := grpc.NewClient(c.hub.Addr().String(), options...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	return c.open(spaziov1.NewSignalServiceClient(conn), node)
}

// ends sends a report and returns the code that the scheduler ends the stream with.
func (s *stream) ends() codes.Code {
	if err := s.Send(api.FromReport(agent.Report{Node: s.node, Incarnation: 1, Sequence: 1, Avail: 9})); err == nil {
		_, err = s.Recv()
		return status.Code(err)
	}
	_, err := s.Recv() // the error of a failed Send has no reason
	return status.Code(err)
}

func TestAgentIdentity(t *testing.T) {
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	token := tokenOf(nodeName(0), time.Hour)
	server := httptest.NewServer(http.HandlerFunc(reviews))
	t.Cleanup(server.Close)
	c := newCluster(t, setup{
		nodes: 2, config: &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		args: plugin.SpazioArgs{
			TLSCertFile: identity.CertFile, TLSKeyFile: identity.KeyFile,
			AgentServiceAccount: "spazio/agent", MaxAge: metav1.Duration{Duration: time.Hour},
		},
	})
	s := c.publishWith(identity, token, nodeName(0))
	s.settle(agent.Report{Avail: 3})
	for _, test := range []struct {
		name, token, node string
		want              codes.Code
	}{
		{"no token", "", nodeName(1), codes.Unauthenticated},
		{"an unknown token", "x.y.z", nodeName(1), codes.Unauthenticated},
		{"another node's token", token, nodeName(1), codes.PermissionDenied},
	} {
		if got := c.publishWith(identity, test.token, test.node).ends(); got != test.want {
			t.Errorf("%s: stream ended with %v, want %v", test.name, got, test.want)
		}
	}
	if got := c.state(nodeName(1)); got.Signal != "missing" {
		t.Errorf("second node: got signal %q", got.Signal)
	}
	// The reports of a token remain after its stream ended. On a slow machine the stream may end before
	// the report arrives.
	for valid := 2 * time.Second; c.state(nodeName(1)).Signal == "missing"; valid *= 2 {
		if got := c.publishWith(identity, tokenOf(nodeName(1), valid), nodeName(1)).ends(); got != codes.Unauthenticated {
			t.Fatalf("the stream of an expired token ended with %v", got)
		}
	}
	server.Close()
	if got := c.publishWith(identity, tokenOf(nodeName(0), 2*time.Hour), nodeName(0)).ends(); got != codes.Unavailable {
		t.Errorf("without an API server a stream ended with %v", got)
	}
	s.settle(agent.Report{Avail: 4}) // open streams continue
}

// TestDeletedAgentLosesItsStream: an open stream ends when the API server no longer accepts its token,
// however long the token remains valid, and not before.
func TestDeletedAgentLosesItsStream(t *testing.T) {
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	var asked atomic.Int64
	var deleted, away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case away.Load():
			http.Error(w, "away", http.StatusServiceUnavailable)
		case deleted.Load():
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(authenticationv1.TokenReview{
				TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"},
				Status:   authenticationv1.TokenReviewStatus{Error: "the pod is gone"},
			})
		default:
			reviews(w, r)
		}
	}))
	t.Cleanup(server.Close)
	c := newCluster(t, setup{
		nodes: 1, config: &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		options: plugin.ReviewingTokens(plugin.HubOptions{}, 5*time.Millisecond),
		args: plugin.SpazioArgs{
			TLSCertFile: identity.CertFile, TLSKeyFile: identity.KeyFile,
			AgentServiceAccount: "spazio/agent", MaxAge: metav1.Duration{Duration: time.Hour},
		},
	})
	s := c.publishWith(identity, tokenOf(nodeName(0), time.Hour), nodeName(0))
	s.settle(agent.Report{Avail: 3})
	c.eventually("the token is reviewed again", func() bool { return asked.Load() > 3 })
	s.settle(agent.Report{Avail: 4})
	away.Store(true)
	before := asked.Load()
	c.eventually("the unavailable API server is called", func() bool { return asked.Load() > before })
	s.settle(agent.Report{Avail: 5})
	// The token is not reviewed again for ten seconds, so the test does not wait for the server's
	// return; another stream's token is reviewed at once.
	away.Store(false)
	s = c.publishWith(identity, tokenOf(nodeName(0), 2*time.Hour), nodeName(0))
	s.settle(agent.Report{Incarnation: 2, Sequence: 1, Avail: 6})
	deleted.Store(true)
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Recv(); err != nil {
				ended <- err
				return
			}
		}
	}()
	c.eventually("the stream ends", func() bool {
		select {
		case err := <-ended:
			if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "the pod is gone") {
				t.Errorf("the stream ended with %v", err)
			}
			return true
		default:
			return false
		}
	})
	if got := c.publishWith(identity, tokenOf(nodeName(0), 3*time.Hour), nodeName(0)).ends(); got != codes.Unauthenticated {
		t.Errorf("second stream: got code %v", got)
	}
}

// TestTokensAreNotSentInPlaintext: neither side accepts such a configuration.
func TestTokensAreNotSentInPlaintext(t *testing.T) {
	_, err := grpc.NewClient("127.0.0.1:1", append(plain(t), transport.Token("token"))...)
	if err == nil {
		t.Error("a client sends its token in plaintext")
	}
	if err := (plugin.SpazioArgs{AgentServiceAccount: "spazio/agent"}).Validate(); err == nil {
		t.Error("a scheduler asks for tokens in plaintext")
	}
}

func plain(t *testing.T) []grpc.DialOption {
	options, err := transport.DialOptions("127.0.0.1:1", transport.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return options
}
