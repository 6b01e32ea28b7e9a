package install

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// programs are the answers of the scheduler, an aggregator and an agent. Safe for concurrent use.
type programs struct {
	mu       sync.Mutex
	nodes    []plugin.NodeState
	notAfter time.Time
	release  string // of the scheduler's Kubernetes
	why      agent.Why
}

// set changes their answers.
func (p *programs) set(change func(*programs)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *programs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.URL.Path {
	case "/metrics":
		fmt.Fprintf(w, `# TYPE spazio_certificate_not_after_seconds gauge
spazio_certificate_not_after_seconds{use="own"} %d
# TYPE spazio_agent_cgroups gauge
spazio_agent_cgroups{layout="v2"} 1
# TYPE kubernetes_build_info gauge
kubernetes_build_info{git_version=%q,major="",minor=""} 1
`, p.notAfter.Unix(), p.release)
	case "/debug/why":
		if r.FormValue("format") == "json" {
			now := p.why
			now.SampledAt = time.Now()
			_ = json.NewEncoder(w).Encode(now)
			return
		}
		fmt.Fprintln(w, "near has room")
	case plugin.DebugPath:
		if pod := r.FormValue("pod"); pod != "" {
			_ = json.NewEncoder(w).Encode(plugin.Explanation{Pod: pod, Ours: true, State: "counted"})
			return
		}
		_ = json.NewEncoder(w).Encode(plugin.Status{Nodes: p.nodes}) // the client reports a failure
	default:
		http.NotFound(w, r)
	}
}

// A front is the API server behind a proxy, with a kubelet: it forwards the ports of our pods to
// programs.
type front struct {
	kubeconfig string

	mu      sync.Mutex
	version string // the API server's version, unless empty
}

func (f *front) calls(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
}

// newFront is the API server of whoever the configuration says. The agents' pods that it forwards to
// are named by a pattern, if not by the usual name.
func newFront(t *testing.T, config *rest.Config, shown *programs, agents ...string) *front {
	t.Helper()
	f := &front{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	debug := httptest.NewServer(shown)
	t.Cleanup(debug.Close)
	to := strings.TrimPrefix(debug.URL, "http://")
	mux := http.NewServeMux()
	podforwardtest.Forward(t, mux, deploy.SystemNamespace, "spazio-scheduler-a", 9694, to)
	podforwardtest.Forward(t, mux, deploy.SystemNamespace, "spazio-aggregator-a", 9693, to)
	podforwardtest.Forward(t, mux, deploy.AgentNamespace, cmp.Or(strings.Join(agents, ""), "spazio-agent-a"), 9691, to)
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	through, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: through, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		called := f.version
		f.mu.Unlock()
		if r.URL.Path == "/version" && called != "" {
			major, minor, _ := strings.Cut(strings.TrimPrefix(called, "v"), ".")
			minor, _, _ = strings.Cut(minor, ".")
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(version.Info{Major: major, Minor: minor, GitVersion: called})
			return
		}
		proxy.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	if err := embedded.WriteKubeconfig(f.kubeconfig, &rest.Config{Host: server.URL}); err != nil {
		t.Fatal(err)
	}
	return f
}

// pods creates the pods that the front forwards to, and makes one of them the leader.
func pods(t *testing.T, client kubernetes.Interface, node string) {
	t.Helper()
	for _, of := range []struct{ namespace, name string }{
		{deploy.SystemNamespace, "spazio-scheduler"}, {deploy.SystemNamespace, "spazio-aggregator"}, {deploy.AgentNamespace, "spazio-agent"},
	} {
		pod := foreignPod()
		pod.Name, pod.Labels = of.name+"-a", map[string]string{"app.kubernetes.io/name": of.name, "app.kubernetes.io/part-of": "spazio"}
		pod.Spec.NodeName, pod.Spec.AutomountServiceAccountToken = node, new(false)
		if _, err := client.CoreV1().Pods(of.namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lead(t, client, "spazio-scheduler-a_uid")
}

// unpods removes them, as their controllers would.
func unpods(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	for _, namespace := range []string{deploy.SystemNamespace, deploy.AgentNamespace} {
		if err := client.CoreV1().Pods(namespace).DeleteCollection(t.Context(), now, metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=spazio"}); err != nil {
			t.Error(err)
		}
	}
}

// lead sets the leader.
func lead(t *testing.T, client kubernetes.Interface, holder string) {
	t.Helper()
	leases := client.CoordinationV1().Leases(deploy.SystemNamespace)
	lease, err := leases.Get(t.Context(), "spazio-scheduler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lease.Spec.HolderIdentity = &holder
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// unready changes the number of a deployment's running pods.
func unready(t *testing.T, client kubernetes.Interface, name string, running int32) {
	t.Helper()
	deployments := client.AppsV1().Deployments(deploy.SystemNamespace)
	d, err := deployments.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.Status.ObservedGeneration, d.Status.Replicas, d.Status.UpdatedReplicas = d.Generation, 2, 2
	d.Status.ReadyReplicas, d.Status.AvailableReplicas = running, running
	if _, err := deployments.UpdateStatus(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
