package external

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/testbed/service"
	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

const (
	system         = "spazio-system"
	programAccount = "system:serviceaccount:spazio-system:spazio-testbed"
	// driver has the role of an external scheduler in its rig's namespace, viewer that of a viewer;
	// nobody is a user without a role.
	driver, viewer, nobody = "driver", "viewer", "nobody"
)

// installed are the objects of the manifests that matter without a kubelet.
var installed = []string{
	"Namespace", "CustomResourceDefinition", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
	"Lease", "PriorityClass", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}

var installOnce = sync.OnceValue(func() error {
	objects, err := deploy.Config{Components: []string{"testbed"}}.Objects()
	if err != nil {
		return err
	}
	admin, err := deploy.Connect(plane.RESTConfig())
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !slices.Contains(installed, o.GetKind()) })
	return admin.Install(context.Background(), objects, deploy.Options{NoWait: true})
})

// plane is the process's control plane, for installOnce.
var plane *embedded.ControlPlane

// rig is a namespace with callers, and an administrator's clients.
type rig struct {
	*testing.T
	plain     kubernetes.Interface
	objects   client.Client
	namespace string
	// program connects spazio-testbed to the API server, with the manifests' permissions.
	program string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	plane = cluster.Plane(t)
	if err := installOnce(); err != nil {
		t.Fatal(err)
	}
	config := plane.RESTConfig()
	config.ContentType = ""
	r := &rig{T: t}
	var err error
	if r.plain, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	scheme, err := controller.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if r.objects, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	r.namespace = r.newNamespace()
	own, err := plane.ServiceAccountConfig(t.Context(), system, "spazio-testbed")
	if err != nil {
		t.Fatal(err)
	}
	r.program = filepath.Join(t.TempDir(), "kubeconfig")
	if err := embedded.WriteKubeconfig(r.program, own); err != nil {
		t.Fatal(err)
	}
	r.waitMay(programAccount, "create", "schedulings")
	return r
}

// newNamespace creates a namespace with the callers.
func (r *rig) newNamespace() string {
	r.Helper()
	made, err := r.plain.CoreV1().Namespaces().Create(r.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "external-"}}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	for name, role := range map[string]string{driver: "spazio-external-scheduler", viewer: "spazio-testbed-viewer", nobody: ""} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := r.plain.CoreV1().ServiceAccounts(made.Name).Create(r.Context(), account, metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
		if role != "" {
			r.bind(made.Name, name, role)
			r.waitMayIn(made.Name, "system:serviceaccount:"+made.Name+":"+name, "list", "schedulings")
		}
	}
	return made.Name
}

func (r *rig) bind(namespace, account, role string) {
	r.Helper()
	r.bindOf(namespace, namespace, account, role)
}

// bindOf gives an account of a namespace a role in another.
func (r *rig) bindOf(namespace, of, account, role string) {
	r.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account + "-" + role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: of, Name: account}},
	}
	if _, err := r.plain.RbacV1().RoleBindings(namespace).Create(r.Context(), binding, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) waitMay(user, verb, resource string) { r.waitMayIn("somewhere", user, verb, resource) }

// everywhere gives an account of the rig's namespace a role in all namespaces.
func (r *rig) everywhere(account, role string) {
	r.Helper()
	o := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}
	if _, err := r.plain.CoreV1().ServiceAccounts(r.namespace).Create(r.Context(), o, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: r.namespace + "-" + account}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.namespace, Name: account}},
	}
	if _, err := r.plain.RbacV1().ClusterRoleBindings().Create(r.Context(), binding, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = r.plain.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{})
	})
	r.waitMay("system:serviceaccount:"+r.namespace+":"+account, "list", "schedulings")
}

// waitMayIn waits for the authorizer, which follows roles with a delay.
func (r *rig) waitMayIn(namespace, user, verb, resource string) {
	r.Helper()
	cluster.Eventually(r.T, user+" may "+verb+" "+resource, func() (bool, any) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: resource,
		}}}
		got, err := r.plain.AuthorizationV1().SubjectAccessReviews().Create(r.Context(), review, metav1.CreateOptions{})
		return err == nil && got.Status.Allowed, err
	})
}

// token returns a token of an account of the rig's namespace; audience "" is the interface's.
func (r *rig) token(account, audience string, edit ...func(*authenticationv1.TokenRequestSpec)) string {
	r.Helper()
	if audience == "" {
		audience = "spazio-external"
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	for _, e := range edit {
		e(&request.Spec)
	}
	made, err := r.plain.CoreV1().ServiceAccounts(r.namespace).CreateToken(r.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return made.Status.Token
}

// replica is spazio-testbed in this process.
type replica struct {
	*service.Service
	base string
	stop func() // waits for the end
}

// watchers returns its number of watching clients.
func (p *replica) watchers(t *testing.T) float64 {
	t.Helper()
	families, err := p.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "spazio_testbed_watchers" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("watchers are not counted")
	return 0
}

// serve runs spazio-testbed until stop or the test's end, ready.
func (r *rig) serve(edit ...func(*service.Config)) *replica {
	r.Helper()
	c := service.Config{
		Kubeconfig: r.program, LeaderElect: true, LeaseNamespace: system,
		External: service.External{
			Listen: "127.0.0.1:0", SeedPaths: true, DefaultNamespace: r.namespace, Review: time.Second,
			Limits: server.Limits{Rate: 1e6, Burst: 1e6}, // tests send requests as fast as they can
			Watch:  server.WatchConfig{Recheck: 500 * time.Millisecond, Bookmark: 500 * time.Millisecond},
		},
	}
	for _, e := range edit {
		e(&c)
	}
	s, err := service.New(r.Context(), c)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil && ctx.Err() == nil {
			r.Errorf("spazio-testbed: %v", err)
		}
	})
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	r.Cleanup(stop)
	cluster.Eventually(r.T, "spazio-testbed is ready", func() (bool, any) {
		err := s.Ready()
		return err == nil, err
	})
	return &replica{Service: s, base: "http://" + s.ExternalAddr().String(), stop: stop}
}

// caller sends requests to a replica with a token.
type caller struct {
	*rig
	base, token string
	http        *http.Client
}

func (r *rig) as(base, token string) *caller {
	return &caller{rig: r, base: base, token: token, http: http.DefaultClient}
}

// ask returns the answer to a request; body is encoded as JSON, or sent unchanged if it is a string.
func (c *caller) ask(method, path string, body any, header ...string) (status int, answer []byte, h http.Header) {
	c.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			c.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(c.Context(), method, c.base+path, reader)
	if err != nil {
		c.Fatal(err)
	}
	if reader != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.http.Do(request)
	if err != nil {
		c.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		c.Fatal(err)
	}
	return response.StatusCode, answer, response.Header
}

// do sends a request that must have an answer with a status, and decodes the answer.
func do[T any](c *caller, want int, method, path string, body any, header ...string) (out T) {
	c.Helper()
	status, answer, _ := c.ask(method, path, body, header...)
	if status != want {
		c.Fatalf("%s %s: %d, want %d: %s", method, path, status, want, answer)
	}
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &out); err != nil {
			c.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
	return out
}

// in returns the path of a namespace's objects.
func in(namespace string, parts ...string) string {
	return "/external/v1/namespaces/" + namespace + "/" + strings.Join(parts, "/")
}

// testbed creates a Testbed of so many slots on nodes of its own, and binds its placeholders.
func (r *rig) testbed(name string, nodes, slots int, edit ...func(*v1alpha1.Testbed)) {
	r.Helper()
	label := "example.com/" + r.namespace + "-" + name
	for i := range nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-%d", r.namespace, name, i), Labels: map[string]string{label: fmt.Sprint(i)}}}
		if _, err := r.plain.CoreV1().Nodes().Create(r.Context(), node, metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() {
			_ = r.plain.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{})
		})
	}
	t := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.namespace}, Spec: v1alpha1.TestbedSpec{
		NodeLabel: label, SlotsPerNode: intstr.FromInt(slots),
		ResourcesPerSlot: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
	}}
	for _, e := range edit {
		e(t)
	}
	if err := r.objects.Create(r.Context(), t); err != nil {
		r.Fatal(err)
	}
}

// bindPlaceholders acts as the scheduler, until so many placeholders of a namespace are bound.
func (r *rig) bindPlaceholders(want int) {
	r.Helper()
	pods := r.plain.CoreV1().Pods(r.namespace)
	cluster.Eventually(r.T, "placeholders are bound", func() (bool, any) {
		list, err := pods.List(r.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelRole + "=" + v1alpha1.RolePlaceholder})
		if err != nil {
			return false, err
		}
		bound := 0
		for _, p := range list.Items {
			if p.Spec.NodeName == "" {
				node, _, _ := strings.Cut(p.Annotations[v1alpha1.AnnotationSlot], "/")
				binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
				if err := pods.Bind(r.Context(), binding, metav1.CreateOptions{}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
					return false, err
				}
			}
			bound++
		}
		return bound >= want, len(list.Items)
	})
}

// job creates a BatchJob.
func (r *rig) job(namespace, name string, edit ...func(*v1alpha1.BatchJobSpec)) {
	r.Helper()
	j := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	j.Spec.JobSpec = &runtime.RawExtension{Raw: []byte(`{"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "spazio.invalid/none"}]}}}`)}
	for _, e := range edit {
		e(&j.Spec)
	}
	if err := r.objects.Create(r.Context(), j); err != nil {
		r.Fatal(err)
	}
}

// queue returns the body of a scheduling.
func queue(name, testbed string, jobs ...string) wire.Scheduling {
	return wire.Scheduling{Meta: wire.Meta{Name: name}, SchedulingSpec: wire.SchedulingSpec{Testbed: testbed, Queue: jobs}}
}
