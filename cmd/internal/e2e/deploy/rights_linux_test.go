package deploy

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/svd"
)

// The programs, run as in the manifests and with only the manifests' permissions, are refused nothing,
// and use each permission: from the first certificates through a batch, the rotation of all
// certificates and of the authority, and the leader's death.
func TestRights(t *testing.T) {
	const (
		nodeCount = 4
		podCount  = 80
	)
	client, _ := cluster.Connect(t)
	s, k := connect(t), kubelet{client}
	objects := variant(t, install)
	s.install(t, profiles(t)) // the scheduler looks for them
	s.begin(t, client, objects)
	all := workloads(t, objects)

	k.certificates(t, all)
	aggregator := k.place(t, find(t, all, "spazio-aggregator"), "")
	aggregator.Args = slices.DeleteFunc(aggregator.Args, func(arg string) bool { return strings.HasPrefix(arg, "--peer=") }) // the name does not resolve here
	aggregator.Start(t)
	var schedulers []*container
	for range 2 {
		schedulers = append(schedulers, k.scheduler(t, all))
	}
	agents := map[string]*container{}
	nodes := cluster.NewPlaceNodesWith(t, client, nodeCount, cluster.Places, func(node string) publish.SignalsConfig {
		a := k.place(t, find(t, all, "spazio-agent"), node)
		agents[node] = a
		if a.kubeconfig != "" {
			t.Error("the agent's pod has a token for the API server")
		}
		return a.reports(t, schedulers)
	})
	for _, s := range schedulers {
		cluster.WaitMetric(t, s.scraper(t), `spazio_nodes{state="fresh"}`, nodeCount)
	}
	for node, a := range agents {
		push(t, aggregator, a, node)
	}

	log := cluster.Watch(t, client)
	more := cluster.Batch{Prefix: "batch", Pods: podCount / 2, Startup: 500 * time.Millisecond, Work: 100 * time.Millisecond}
	cluster.Submit(t, client, more)
	log.WaitBound(t, podCount/4)
	k.rotate(t, all, append(slices.Collect(maps.Values(agents)), append(schedulers, aggregator)...))
	for _, s := range schedulers {
		k.waitServed(t, s, scheduler)
	}
	for node, a := range agents {
		push(t, aggregator, a, node)
	}
	lead(t, schedulers).Kill(t)
	more.Prefix = "orphans"
	cluster.Submit(t, client, more)
	log.WaitSucceeded(t, podCount)
	cluster.CheckHeld(t, nodes)
	k.certificates(t, all)
	// TestRightsOfTheProfiler covers the profiler's.
	judge(t, s, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetName() == "spazio-profiler" }))
}

// The agent that lists pods from the API server needs only its two permissions.
func TestRightsOfTheAgentThatAsks(t *testing.T) {
	client, _ := cluster.Connect(t)
	s, k := connect(t), kubelet{client}
	objects := variant(t, install)
	s.begin(t, client, objects)
	k.certificates(t, workloads(t, objects))
	objects = variant(t, "agent-kube")
	s.install(t, objects)
	s.waitGranted(t, client, objects)
	a := k.place(t, find(t, workloads(t, objects), "spazio-agent"), "asking")
	a.Args = append(a.Args, "--listen=127.0.0.1:0")
	a.Start(t)
	cluster.Eventually(t, "the agent is healthy", func() (bool, any) {
		response, err := http.Get("http://" + a.ports[9700] + "/healthz")
		if err != nil {
			return false, err
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, response.Status
	})
	judge(t, s, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetName() != "spazio-agent" }))
}

// certificates runs spazio-certs to its end.
func (k kubelet) certificates(t *testing.T, all []workload) {
	t.Helper()
	if output, err := k.place(t, find(t, all, "spazio-certs"), "").Run(t); err != nil {
		t.Fatalf("spazio-certs: %v\n%s", err, output)
	}
}

// rotate revokes the authority and all that it has signed, lets spazio-certs recreate what is missing,
// and distributes it to the running programs.
func (k kubelet) rotate(t *testing.T, all []workload, running []*container) {
	t.Helper()
	secrets := k.client.CoreV1().Secrets(systemNamespace)
	for _, name := range []string{"spazio-ca", scheduler + "-tls", "spazio-aggregator-tls"} {
		secret, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		secret.Data = nil
		if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	k.certificates(t, all)
	for _, c := range running {
		k.refresh(t, c)
	}
}

// waitServed waits until a server presents the certificate stored for it.
func (k kubelet) waitServed(t *testing.T, c *container, name string) {
	t.Helper()
	secret, err := k.client.CoreV1().Secrets(systemNamespace).Get(t.Context(), name+"-tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(secret.Data["tls.crt"])
	cluster.Eventually(t, c.Args[0]+" shows its new certificate", func() (bool, any) {
		connection, err := tls.Dial("tcp", c.ports[9690], &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err != nil {
			return false, err
		}
		defer connection.Close()
		return bytes.Equal(connection.ConnectionState().PeerCertificates[0].Raw, block.Bytes), nil
	})
}

// scheduler starts a replica, with further arguments of the plugin as lines of YAML.
func (k kubelet) scheduler(t *testing.T, all []workload, args ...string) *container {
	t.Helper()
	c := k.place(t, find(t, all, scheduler), "")
	path := flag(t, c, "config")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config := "clientConnection:\n  kubeconfig: " + c.kubeconfig + "\n" + c.here(string(text), " ")
	for _, arg := range args {
		config = strings.ReplaceAll(config, "args:\n", "args:\n          "+arg+"\n")
	}
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, arg := range c.Args {
		c.Args[i] = strings.ReplaceAll(arg, "--secure-port=10259", "--secure-port="+c.port(t, 10259))
	}
	c.Args = append(c.Args, "--bind-address=127.0.0.1", "--debug-listen=", "--authentication-kubeconfig="+c.kubeconfig, "--authorization-kubeconfig="+c.kubeconfig)
	c.Start(t)
	return c
}

// reports returns an agent's configuration for reports to schedulers.
func (c *container) reports(t *testing.T, schedulers []*container) publish.SignalsConfig {
	t.Helper()
	var targets []string
	for _, s := range schedulers {
		targets = append(targets, renumber(t, flag(t, c, "schedulers"), s.port(t, 9690)))
	}
	return publish.SignalsConfig{
		Targets: targets, Resolver: loopback{},
		Transport: transport.Config{CAFile: flag(t, c, "tls-dir") + "/ca.crt"}, TokenFile: flag(t, c, "token-dir") + "/scheduler",
	}
}

// scraper queries the scheduler as an administrator.
func (c *container) scraper(t *testing.T) endpoint.Scraper {
	t.Helper()
	return cluster.NewScraper("https://"+c.ports[10259], cluster.Plane(t).RESTConfig().BearerToken)
}

// flag returns the value of a container's flag.
func flag(t *testing.T, c *container, name string) string {
	t.Helper()
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	t.Fatalf("no --%s in %q", name, c.Args)
	return ""
}

// renumber replaces the port of a target.
func renumber(t *testing.T, target, port string) string {
	t.Helper()
	return target[:strings.LastIndexByte(target, ':')+1] + port
}

// lead returns the leading scheduler.
func lead(t *testing.T, schedulers []*container) (found *container) {
	t.Helper()
	cluster.Eventually(t, "a leader", func() (bool, any) {
		for _, s := range schedulers {
			if led, err := s.scraper(t).Value(t.Context(), `leader_election_master_status{name="kube-scheduler"}`); err == nil && led == 1 {
				found = s
			}
		}
		return found != nil, nil
	})
	return found
}

// push sends the aggregator a model as the node's agent does.
func push(t *testing.T, aggregator, a *container, node string) {
	t.Helper()
	model, err := svd.Update(svd.Model{}, [][]float64{{.5, .2}, {.4, .1}}, svd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	options, err := transport.DialOptions(aggregator.ports[9692], transport.Config{CAFile: flag(t, a, "tls-dir") + "/ca.crt"})
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(flag(t, a, "aggregator"), ":")
	connection, err := grpc.NewClient(aggregator.ports[9692], append(options, transport.Token(flag(t, a, "token-dir")+"/aggregator"), grpc.WithAuthority(name))...)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	request := &spaziov1.PushRequest{Local: api.FromLocal(agent.Local{Node: node, Incarnation: 1, Sequence: 1, Schema: "e2e", Model: model.State()})}
	cluster.Eventually(t, "the aggregator takes the model of "+node, func() (bool, any) {
		_, err := spaziov1.NewModelServiceClient(connection).Push(t.Context(), request)
		return err == nil, err
	})
}

// judge compares the accounts' requests to the API server with the rules that the objects give them.
func judge(t *testing.T, s server, objects []*unstructured.Unstructured) {
	t.Helper()
	grants := grantsOf(t, s, objects)
	if len(grants) == 0 {
		t.Fatal("the manifests grant no permission")
	}
	cluster.Eventually(t, "every right of the manifests is used", func() (bool, any) {
		idle := idle(grants, audited.requested())
		return len(idle) == 0, strings.Join(idle, "\n")
	})
	requested := audited.requested()
	for _, account := range slices.Sorted(maps.Keys(grants)) {
		for _, r := range requested[account] {
			if !covered(grants[account], []request{r}) {
				t.Errorf("%s: got request %s, which none of its bindings allows", account, r)
			}
		}
		t.Logf("%s: %d kinds of requests", account, len(requested[account]))
	}
}

// begin installs the objects again, without leftovers of an earlier test and with an empty audit log.
// At its end, the test fails for each request of our accounts that the API server refused.
func (s server) begin(t *testing.T, client kubernetes.Interface, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if kind := o.GetKind(); kind == "Secret" || kind == "ConfigMap" || kind == "Lease" {
			resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
			err := s.Resource(resource).Namespace(o.GetNamespace()).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
		}
	}
	s.install(t, objects)
	s.waitGranted(t, client, objects)
	audited.forget()
	t.Cleanup(func() {
		for account, requests := range audited.requested() {
			for _, r := range requests {
				if strings.HasPrefix(account, "system:serviceaccount:spazio-") && r.code == http.StatusForbidden {
					t.Errorf("%s: got refused request %s", account, r)
				}
			}
		}
	})
}

// waitGranted waits for the authorizer, which follows roles with a delay.
func (s server) waitGranted(t *testing.T, client kubernetes.Interface, objects []*unstructured.Unstructured) {
	t.Helper()
	for account, given := range grantsOf(t, s, objects) {
		for _, g := range given {
			waitFor(t, client, account, g)
		}
	}
}

func waitFor(t *testing.T, client kubernetes.Interface, account string, g grant) {
	t.Helper()
	for _, rule := range g.rules {
		for _, part := range breakdown(rule) {
			if g.everybodys || len(part.Resources) == 0 {
				continue
			}
			attributes := &authorizationv1.ResourceAttributes{Namespace: g.namespace, Verb: part.Verbs[0], Group: part.APIGroups[0]}
			attributes.Resource, attributes.Subresource, _ = strings.Cut(part.Resources[0], "/")
			if len(part.ResourceNames) > 0 {
				attributes.Name = part.ResourceNames[0]
			}
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: account, ResourceAttributes: attributes}}
			cluster.Eventually(t, account+" has its rights", func() (bool, any) {
				got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
				return err == nil && got.Status.Allowed, err
			})
		}
	}
}

// grant is what a binding allows: its rules, in one namespace or, if that is empty, everywhere.
type grant struct {
	binding, namespace string
	rules              []rbacv1.PolicyRule
	// whole means that the role is Kubernetes' own, and ours only the binding; everybodys, that the
	// binding is Kubernetes' own, too.
	whole, everybodys bool
}

// grantsOf returns what the objects' bindings allow, by account.
func grantsOf(t *testing.T, s server, objects []*unstructured.Unstructured) map[string][]grant {
	t.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for _, r := range all[rbacv1.ClusterRole](t, objects, "ClusterRole") {
		roles["ClusterRole "+r.Name] = r.Rules
	}
	for _, r := range all[rbacv1.Role](t, objects, "Role") {
		roles["Role "+r.Namespace+"/"+r.Name] = r.Rules
	}
	grants := map[string][]grant{}
	add := func(subjects []rbacv1.Subject, namespace, binding string, ref rbacv1.RoleRef) {
		key := ref.Kind + " " + ref.Name
		if ref.Kind == "Role" {
			key = ref.Kind + " " + namespace + "/" + ref.Name
		}
		g := grant{binding: binding, namespace: namespace, rules: roles[key]}
		if g.rules == nil {
			g.rules, g.whole = s.role(t, ref, namespace), true
		}
		for _, subject := range subjects {
			account := fmt.Sprintf("system:serviceaccount:%s:%s", subject.Namespace, subject.Name)
			grants[account] = append(grants[account], g)
		}
	}
	for _, b := range all[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding") {
		add(b.Subjects, "", b.Name, b.RoleRef)
	}
	for _, b := range all[rbacv1.RoleBinding](t, objects, "RoleBinding") {
		add(b.Subjects, b.Namespace, b.Namespace+"/"+b.Name, b.RoleRef)
	}
	for account := range grants {
		rules := s.role(t, rbacv1.RoleRef{Kind: "ClusterRole", Name: "system:basic-user"}, "")
		grants[account] = append(grants[account], grant{rules: rules, everybodys: true})
	}
	return grants
}

// idle returns each account's unneeded rules, without which all its requests would still be allowed:
// verb by verb, resource by resource, name by name.
func idle(grants map[string][]grant, requested map[string][]request) (found []string) {
	for account, given := range grants {
		for i, g := range given {
			if g.everybodys {
				continue
			}
			if g.whole {
				less := slices.Delete(slices.Clone(given), i, i+1)
				if covered(less, requested[account]) {
					found = append(found, account+" needs no binding "+g.binding)
				}
				continue
			}
			var parts []rbacv1.PolicyRule
			for _, rule := range g.rules {
				parts = append(parts, breakdown(rule)...)
			}
			for j, part := range parts {
				less := slices.Clone(given)
				less[i].rules = slices.Delete(slices.Clone(parts), j, j+1)
				if covered(less, requested[account]) {
					found = append(found, fmt.Sprintf("%s, %s: nothing asks for %v %v/%v %v", account, g.binding, part.Verbs, part.APIGroups, part.Resources, part.ResourceNames))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// breakdown splits a rule, which validation.BreakdownRule does only down to resources.
func breakdown(rule rbacv1.PolicyRule) (parts []rbacv1.PolicyRule) {
	for _, part := range validation.BreakdownRule(rule) {
		if len(part.ResourceNames) == 0 {
			parts = append(parts, part)
		}
		for _, name := range part.ResourceNames {
			one := part
			one.ResourceNames = []string{name}
			parts = append(parts, one)
		}
	}
	return parts
}

// covered reports whether the grants allow all requests.
func covered(grants []grant, requested []request) bool {
	for _, r := range requested {
		var rules []rbacv1.PolicyRule
		for _, g := range grants {
			if g.namespace == "" || g.namespace == r.namespace {
				rules = append(rules, g.rules...)
			}
		}
		if ok, _ := validation.Covers(rules, []rbacv1.PolicyRule{r.rule()}); !ok {
			return false
		}
	}
	return true
}
