package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/spazio-scheduler/spazio/api/certs"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// The agents' service account, and the audience of their tokens.
const agentNamespace, agentName, audience = "spazio-system", "spazio-agent", "spazio-profiler"

// trust is what a profiler and its agents know one another by, as in a cluster: a
// certificate of the profiler's, and a token of each node's that the API server reviews.
type trust struct {
	dir string
	// nodes are those of the tokens.
	nodes map[string]string
}

func newTrust(nodes int, dir string) (*trust, error) {
	const leaf, bundle = "profiler", "agents"
	planned, _, err := certs.Plan(map[string]certs.Leaf{leaf: {Names: []string{"localhost"}}}, certs.State{Bundles: map[string][]byte{bundle: nil}}, time.Now())
	if err != nil {
		return nil, err
	}
	t := &trust{dir: dir, nodes: map[string]string{}}
	files := map[string][]byte{
		t.file("ca.crt"): planned.Bundles[bundle], t.file("tls.crt"): planned.Leaves[leaf].Certificate, t.file("tls.key"): planned.Leaves[leaf].Key,
	}
	for n := range nodes {
		token, err := tokenOf(nodeName(n))
		if err != nil {
			return nil, err
		}
		t.nodes[token], files[t.token(n)] = nodeName(n), []byte(token)
	}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *trust) file(name string) string { return filepath.Join(t.dir, name) }
func (t *trust) token(n int) string      { return t.file(fmt.Sprintf("token-%05d", n)) }

// tokenOf is as long as one of the kubelet's, and signed by nobody.
func tokenOf(node string) (string, error) {
	claims, err := json.Marshal(map[string]any{
		"aud": []string{audience}, "sub": "system:serviceaccount:" + agentNamespace + ":" + agentName,
		"exp": time.Now().Add(24 * time.Hour).Unix(), "iat": time.Now().Unix(), "iss": "https://kubernetes.default.svc.cluster.local",
		"kubernetes.io": map[string]any{
			"namespace": agentNamespace, "node": map[string]any{"name": node, "uid": podUID(0)},
			"pod": map[string]any{"name": agentName + "-" + node, "uid": podUID(1)}, "serviceaccount": map[string]any{"name": agentName, "uid": podUID(2)},
		},
	})
	if err != nil {
		return "", err
	}
	const signature = 342 // of RSA with 2,048 bits
	return "e30." + base64.RawURLEncoding.EncodeToString(claims) + "." + strings.Repeat("s", signature), nil
}

// arguments are the profiler's.
func (t *trust) arguments() []string {
	return []string{"--tls-cert-file", t.file("tls.crt"), "--tls-private-key-file", t.file("tls.key"), "--agent-service-account", agentNamespace + "/" + agentName}
}

// agent gives the agent of a node what it needs to reach the profiler.
func (t *trust) agent(n int, c *publish.UsagesConfig) error {
	for i, target := range c.Targets {
		_, port, err := net.SplitHostPort(target)
		if err != nil {
			return err
		}
		c.Targets[i] = net.JoinHostPort("localhost", port)
	}
	c.Transport, c.TokenFile = transport.Config{CAFile: t.file("ca.crt")}, t.token(n)
	return nil
}

// review answers whose token it is.
func (t *trust) review(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if node, ok := t.nodes[review.Spec.Token]; ok {
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences, User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:" + agentNamespace + ":" + agentName,
			Extra:    map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {node}},
		}}
	}
	text, err := json.Marshal(review)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusCreated, text)
}
