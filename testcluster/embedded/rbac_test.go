package embedded_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// auditLog records each caller's requests and their results.
type auditLog struct {
	mu     sync.Mutex
	events []string
}

func (l *auditLog) record(e auditv1.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	resource, code := "", int32(0)
	if e.ObjectRef != nil {
		resource = e.ObjectRef.Resource
	}
	if e.ResponseStatus != nil {
		code = e.ResponseStatus.Code
	}
	l.events = append(l.events, fmt.Sprint(e.User.Username, " ", e.Verb, " ", resource, " ", code))
}

// has waits for an event, which follows its response.
func (l *auditLog) has(t *testing.T, event string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		events := slices.Clone(l.events)
		l.mu.Unlock()
		if slices.Contains(events, event) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no event %q in %q", event, events)
		}
	}
}

// With RBAC a caller may do what its bindings allow, and the audit hook gets the allowed and the
// refused requests.
func TestRBAC(t *testing.T) {
	if !alone(t) {
		return
	}
	var log auditLog
	plane, err := embedded.Start(t.Context(), embedded.Config{RBAC: true, Audit: log.record})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	admin := clientOf(t, plane.RESTConfig())
	allow(t, admin)
	log.has(t, "admin create clusterroles 201")
	waitAllowed(t, clientOf(t, userOf(t, plane, "alice")))

	robot, err := plane.ServiceAccountConfig(t.Context(), "default", "robot")
	if err != nil {
		t.Fatal(err)
	}
	again, err := plane.ServiceAccountConfig(t.Context(), "default", "robot")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		user   string
		config *rest.Config
		may    bool
	}{
		{"user without rights", "bob", userOf(t, plane, "bob"), false},
		{"user with rights", "alice", userOf(t, plane, "alice"), true},
		{"group with rights", "carol", userOf(t, plane, "carol", "readers", "others"), true},
		{"user of a kubeconfig", "alice", throughFile(t, userOf(t, plane, "alice")), true},
		{"service account with rights", "system:serviceaccount:default:robot", robot, true},
		{"service account that is there", "system:serviceaccount:default:robot", throughFile(t, again), true},
		{"administrators by group", "root", userOf(t, plane, "root", "system:masters"), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := clientOf(t, test.config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			if test.may != (err == nil) || err != nil && !apierrors.IsForbidden(err) {
				t.Errorf("list nodes: got error %v", err)
			}
			code := 200
			if !test.may {
				code = 403
			}
			log.has(t, fmt.Sprint(test.user, " list nodes ", code))
		})
	}
	t.Run("no credential", func(t *testing.T) {
		_, err := clientOf(t, rest.AnonymousClientConfig(robot)).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsUnauthorized(err) {
			t.Errorf("got error %v, want Unauthorized", err)
		}
		log.has(t, " list nodes 401")
	})
	if _, err := plane.UserConfig(""); err == nil {
		t.Error("a user without a name")
	}
	if err := plane.Close(); err != nil {
		t.Error(err)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, e := range log.events {
		if strings.HasPrefix(e, "system:apiserver") {
			t.Errorf("the API server's own request: %s", e)
		}
	}
}

// allow permits alice, the group readers and the account robot to list nodes.
func allow(t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "node-reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}}},
	}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "node-readers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "node-reader"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "alice"},
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"},
			{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "robot"},
		},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitAllowed waits until the API server's cache has the binding.
func waitAllowed(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		_, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsForbidden(err) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func clientOf(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func userOf(t *testing.T, plane *embedded.ControlPlane, name string, groups ...string) *rest.Config {
	t.Helper()
	config, err := plane.UserConfig(name, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// throughFile writes a kubeconfig and reads it back.
func throughFile(t *testing.T, config *rest.Config) *rest.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := embedded.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	read, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// A managed control plane is reachable at another address by kubelets with their node's own
// permissions, and waits for service accounts and readiness.
func TestManaged(t *testing.T) {
	if !alone(t) {
		return
	}
	address := netip.MustParseAddr("127.0.0.2")
	plane, err := embedded.Start(t.Context(), embedded.Config{Address: address, Managed: true, RBAC: true})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	server, err := url.Parse(plane.RESTConfig().Host)
	if err != nil || server.Hostname() != address.String() {
		t.Errorf("got server %v, %v, want it on %v", server, err, address)
	}
	kubelet := userOf(t, plane, "system:node:a", "system:nodes")
	nodes := clientOf(t, kubelet).CoreV1().Nodes()
	create := func(name string) (*corev1.Node, error) {
		return nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	}
	own, err := create("a")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(own.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeNotReady }) {
		t.Errorf("taints %v, without %s", own.Spec.Taints, corev1.TaintNodeNotReady)
	}
	if _, err := create("b"); !apierrors.IsForbidden(err) {
		t.Errorf("a kubelet created another node: got %v", err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	_, err = clientOf(t, plane.RESTConfig()).CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("pod without service account: got %v", err)
	}
	if block, _ := pem.Decode(plane.ClientCA()); block == nil {
		t.Error("no client CA")
	} else if ca, err := x509.ParseCertificate(block.Bytes); err != nil || !ca.IsCA {
		t.Errorf("got client CA %v, %v", ca, err)
	}
}
