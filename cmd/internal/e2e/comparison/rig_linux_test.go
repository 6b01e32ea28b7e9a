package comparison

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/embedded/controllers"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/slice"
)

// containers are the images of a rig's pods.
var containers = map[string]children.Role{
	"generator": slice.Main, "tier": social.Main,
	"load": func(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
		return social.Serve(ctx, args[0], social.LoadHandler(), func(address string) error {
			_, err := fmt.Fprintln(out, address)
			return err
		})
	},
	"agent": func(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
		fmt.Fprintln(out, args[0])
		os.Exit(agentd.Main(ctx, append(args[1:], "--listen", args[0]), out, os.Stderr))
		return nil
	},
}

// rig is a cluster whose nodes are slices of this machine and whose pods are processes, each with its
// own loopback address, behind an API server with authorization. Its administrator is the test.
type rig struct {
	client    kubernetes.Interface
	plane     *embedded.ControlPlane
	group     *children.Group
	generator *children.Process
	dir       string
	nodes     []string

	mu        sync.Mutex
	last      int                          // last assigned address
	tiers     map[string]string            // by UID
	addresses map[string]string            // of tiers' pods, by UID
	processes map[string]*children.Process // by UID
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{dir: t.TempDir(), tiers: map[string]string{}, addresses: map[string]string{}, processes: map[string]*children.Process{}}
	var err error
	if r.plane, err = embedded.Start(t.Context(), embedded.Config{RBAC: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.plane.Close() })
	running, err := controllers.Start(t.Context(), r.plane, controllers.Options{Namespaces: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Close)
	if r.client, err = kubernetes.NewForConfig(r.plane.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	if r.group, err = children.NewGroup(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.group.Close() })
	hub := r.startScheduler(t)
	r.startNodes(t)
	r.startAgents(t, hub.Addr().String())
	return r
}

// kubeconfig returns an administrator's kubeconfig, or a named user's.
func (r *rig) kubeconfig(t *testing.T, user string) string {
	t.Helper()
	config := r.plane.RESTConfig()
	if user != "" {
		var err error
		if config, err = r.plane.UserConfig(user); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := embedded.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	return path
}

// permit gives a user the role of a comparison.
func (r *rig) permit(t *testing.T, user string) {
	t.Helper()
	role := compare.Role()
	if _, err := r.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := r.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) startScheduler(t *testing.T) *plugin.Hub {
	t.Helper()
	hub := plugin.NewHub(plugin.HubOptions{})
	s, err := service.New(t.Context(), service.Config{Kubeconfig: r.kubeconfig(t, ""), Args: plugin.SpazioArgs{Listen: "127.0.0.1:0"}, Hub: hub})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return hub
}

// startNodes creates slices of all CPUs, two if possible, and a kubelet through which the API server
// forwards to their pods.
func (r *rig) startNodes(t *testing.T) {
	t.Helper()
	cpus, err := children.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	var machines []simnode.Machine
	config := slice.Config{Dir: r.dir}
	for i := range min(2, len(cpus)) {
		name := fmt.Sprintf("node-%d", i+1)
		m, err := slice.NewMachine(slice.MachineConfig{
			Name: name, CPUs: cpus[i : i+1], Memory: 8 << 30, Group: r.group, Child: r.child, Observer: r.changed,
		})
		if err != nil {
			t.Fatal(err)
		}
		r.nodes, machines = append(r.nodes, name), append(machines, m)
		config.Hosts = append(config.Hosts, slice.Host{Name: name, CPUs: 1, Idle: 10, Max: 40})
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if r.generator, err = r.group.Start(children.Spec{Role: "generator", Args: []string{string(text)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.generator.Line(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster.Join(t, simnode.Config{Client: r.client, Machines: machines})
	r.startKubelet(t)
}

// startKubelet makes all nodes point to a kubelet in this process.
func (r *rig) startKubelet(t *testing.T) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("POST /portForward/{namespace}/{pod}", podforwardtest.Handler(t, func(q *http.Request, port int) string {
		pod, err := r.client.CoreV1().Pods(q.PathValue("namespace")).Get(q.Context(), q.PathValue("pod"), metav1.GetOptions{})
		if err != nil || pod.Status.PodIP == "" {
			return ""
		}
		return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
	}))
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	at := server.Listener.Addr().(*net.TCPAddr)
	for _, name := range r.nodes {
		node, err := r.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: at.IP.String()}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(at.Port)
		if _, err := r.client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// child returns the process of a pod's container: with its own address instead of the pod's, and a list
// of replicas instead of the cluster's services.
func (r *rig) child(p simnode.Pod) (children.Spec, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	// Of this process only: others may run the same test.
	ip := fmt.Sprintf("127.%d.%d.%d", 64+os.Getpid()%128, os.Getpid()/128%256, r.last%254+1)
	of := func(flag string) string {
		if i := slices.Index(p.Args, flag); i >= 0 && i+1 < len(p.Args) {
			return p.Args[i+1]
		}
		return ""
	}
	listen := ip + of("--listen")
	switch p.Args[0] {
	case "load":
		return children.Spec{Role: "load", Args: []string{listen}}, nil
	case "agent":
		return children.Spec{Role: "agent", Args: append([]string{ip + ":9691"}, p.Args[1:]...)}, nil
	}
	if services := of("--services"); services != "*."+compare.Namespace+".svc"+of("--listen") {
		return children.Spec{}, fmt.Errorf("services %s", services)
	}
	r.tiers[p.UID] = of("--tier")
	return children.Spec{Role: "tier", Args: []string{"--tier", of("--tier"), "--listen", listen}}, nil
}

// changed adds a pod's process to its node's energy, and updates the lists of replicas.
func (r *rig) changed(e slice.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.Ended:
		delete(r.addresses, e.UID)
		delete(r.processes, e.UID)
		r.send(slice.Message{Leave: &slice.Leave{Host: e.Node, ID: e.UID, CPU: e.Process.CPU()}})
	case e.Ready == "":
		r.send(slice.Message{Join: &slice.Join{Host: e.Node, ID: e.UID, PID: e.Process.PID(), Pod: true}})
		return
	case r.tiers[e.UID] != "":
		r.addresses[e.UID], r.processes[e.UID] = e.Ready, e.Process
	}
	replicas := map[string][]string{}
	for _, uid := range slices.Sorted(maps.Keys(r.addresses)) {
		replicas[r.tiers[uid]] = append(replicas[r.tiers[uid]], r.addresses[uid])
	}
	line, _ := json.Marshal(replicas) // strings can be encoded
	for _, p := range r.processes {
		_, _ = p.Write(append(line, '\n')) // an ended one is detected later
	}
}

// send sends the generator a message. The caller holds r.mu.
func (r *rig) send(m slice.Message) {
	line, _ := json.Marshal(m) // numbers and strings can be encoded
	_, _ = r.generator.Write(append(line, '\n'))
}

// startAgents starts an agent on each node that measures its energy, and waits until the agents know
// it.
func (r *rig) startAgents(t *testing.T, scheduler string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deploy.AgentNamespace}}
	if _, err := r.client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := r.client.CoreV1().Pods(deploy.AgentNamespace)
	for _, node := range r.nodes {
		dir := filepath.Join(r.dir, node)
		agent := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node, Labels: map[string]string{"app.kubernetes.io/name": "spazio-agent"}},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "agent", Image: "agent", Args: []string{
				"agent", "--proc-root", filepath.Join(dir, "proc"), "--sys-root", dir, "--cgroup-root", filepath.Join(dir, "cgroup"),
				"--node-name", node, "--schedulers", scheduler, "--energy", "powercap", "--log-level", "warn",
				"--pod-source", "cgroup", "--channels", "cpu", "--cpu-mode", "utilisation", "--cpu-counter", "stat",
			}}}},
		}
		if _, err := pods.Create(t.Context(), agent, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range r.nodes {
		// An idle node does not show what work costs; polling it creates load.
		cluster.Eventually(t, "the power of "+node+" is known", func() (known bool, state any) {
			for began := time.Now(); !known && time.Since(began) < time.Second; time.Sleep(2 * time.Millisecond) {
				known, state = r.knowsPower(t, node)
			}
			return known, state
		})
	}
}

// knowsPower queries a node's agent.
func (r *rig) knowsPower(t *testing.T, node string) (known bool, state any) {
	t.Helper()
	pod, err := r.client.CoreV1().Pods(deploy.AgentNamespace).Get(t.Context(), "agent-"+node, metav1.GetOptions{})
	if err != nil || pod.Status.PodIP == "" {
		return false, err
	}
	answer, err := http.Get("http://" + pod.Status.PodIP + ":9691/debug/why")
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return err == nil && strings.Contains(string(text), `"quality": "measured"`), string(text)
}
