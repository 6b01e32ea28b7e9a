package autoscale

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// own is the name of the roles that the chart adds for the controller.
const own = "spazio-scheduler-autoscale"

// right is a verb of one of the controller's rules, and the request that fails without it.
type right struct {
	group, resource, verb, fails string
}

// rightsOf lists the permissions in rules. Apply creates, so that a patch fails without either verb.
func rightsOf(rules []rbacv1.PolicyRule) (all []right) {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			fails := verb
			if verb == "create" {
				fails = "patch"
			}
			all = append(all, right{rule.APIGroups[0], rule.Resources[0], verb, fails + " " + rule.Resources[0]})
		}
	}
	return all
}

// without returns the rules without one permission.
func without(rules []rbacv1.PolicyRule, r right) (less []rbacv1.PolicyRule) {
	for _, rule := range rules {
		if rule.Resources[0] == r.resource {
			rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == r.verb })
		}
		if len(rule.Verbs) > 0 {
			less = append(less, rule)
		}
	}
	return less
}

// TestEachRightWithheld: the scheduler runs with the chart's permissions. Without any one of the
// controller's a named request fails, pods are still bound, and once the permission is back nothing is
// left over.
func TestEachRightWithheld(t *testing.T) {
	r := newRig(t)
	role, clusterRole := install(t, r)
	account, err := cluster.Plane(t).ServiceAccountConfig(t.Context(), namespace, "spazio-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := t.TempDir() + "/kubeconfig"
	if err := embedded.WriteKubeconfig(kubeconfig, account); err != nil {
		t.Fatal(err)
	}
	as, err := kubernetes.NewForConfig(account)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(rightsOf(role.Rules), rightsOf(clusterRole.Rules))
	if len(all) < 11 {
		t.Fatalf("the chart grants only %v", all)
	}
	for _, withheld := range all {
		t.Run(withheld.verb+" "+withheld.resource, func(t *testing.T) {
			setRules(t, r, as, withheld, without(role.Rules, withheld), without(clusterRole.Rules, withheld), false)
			before := failures(t, withheld.fails)
			hub, stop := r.schedule(t, kubeconfig, "spazio-scheduler")
			nodes := cluster.NewPlaceNodes(t, r.client, 2, 0, hub.Addr().String())
			cluster.WaitSignals(t, hub, "fresh", 2)
			nodes[0].SetUsage(usage(0.9))
			log := cluster.Watch(t, r.client)
			submit(t, r, "waits", 3, func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.invalid"}}}}
			})
			if withheld.verb != "delete" {
				waitFailure(t, withheld.fails, before)
			} else {
				r.waitReplicas(t, map[string]int64{"default/Workload/waits": 3})
			}
			nodes[1].Set(10, false)
			log.WaitBound(t, 3)
			waitFailure(t, withheld.fails, before)
			setRules(t, r, as, withheld, role.Rules, clusterRole.Rules, true)
			nodes[0].SetUsage(usage(0.1))
			r.waitGone(t, bothLabels...)
			r.waitNode(t, nodes[0].Name(), false, nil)
			stop()
			cluster.Remove(t, r.client)
		})
	}
	t.Run("uninstall", func(t *testing.T) { uninstall(t, r, kubeconfig) })
}

// uninstall: marks are removed with Spazio although the autoscaler has been disabled and nothing waits,
// and foreign settings stay.
func uninstall(t *testing.T, r *rig, kubeconfig string) {
	hub, stop := r.schedule(t, kubeconfig, "spazio-scheduler")
	node := cluster.NewPlaceNodes(t, r.client, 1, 0, hub.Addr().String())[0]
	r.annotate(t, node.Name(), drain, "true")
	node.SetUsage(usage(0.9))
	submit(t, r, "waits", 1, nil)
	r.waitNode(t, node.Name(), true, map[string]string{drain: "true", disrupt: "true"})
	stop()
	cluster.Remove(t, r.client)
	to, err := deploy.Connect(cluster.Plane(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.client.RbacV1().ClusterRoles().Delete(t.Context(), own, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := to.Uninstall(t.Context(), deploy.Options{Force: true, NoWait: true}); err != nil {
		t.Fatal(err)
	}
	left := r.node(t, node.Name())
	delete(left.Annotations, drain)
	for _, has := range []map[string]string{left.Labels, left.Annotations} {
		for key := range has {
			if strings.Contains(key, "spazio") || key == disrupt {
				t.Errorf("got remaining %s of Spazio", key)
			}
		}
	}
	r.waitNode(t, node.Name(), false, map[string]string{drain: "true"})
}

// install creates the scheduler's permissions as in the chart and returns the controller's.
func install(t *testing.T, r *rig) (role rbacv1.Role, clusterRole rbacv1.ClusterRole) {
	t.Helper()
	objects, err := deploy.Config{Components: []string{"autoscaler"}}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	create := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	o, ctx := metav1.CreateOptions{}, t.Context()
	for _, object := range objects {
		if object.GetLabels()["app.kubernetes.io/name"] != "spazio-scheduler" {
			continue
		}
		switch object.GetKind() {
		case "ServiceAccount":
			_, err := r.client.CoreV1().ServiceAccounts(namespace).Create(ctx, typed[corev1.ServiceAccount](t, object), o)
			create(err)
		case "Role":
			made := typed[rbacv1.Role](t, object)
			if made.Name == own {
				role = *made
			}
			_, err := r.client.RbacV1().Roles(made.Namespace).Create(ctx, made, o)
			create(err)
		case "RoleBinding":
			made := typed[rbacv1.RoleBinding](t, object)
			_, err := r.client.RbacV1().RoleBindings(made.Namespace).Create(ctx, made, o)
			create(err)
		case "ClusterRole":
			made := typed[rbacv1.ClusterRole](t, object)
			if made.Name == own {
				clusterRole = *made
			}
			_, err := r.client.RbacV1().ClusterRoles().Create(ctx, made, o)
			create(err)
		case "ClusterRoleBinding":
			_, err := r.client.RbacV1().ClusterRoleBindings().Create(ctx, typed[rbacv1.ClusterRoleBinding](t, object), o)
			create(err)
		case "Deployment":
			made := typed[appsv1.Deployment](t, object)
			_, err := r.client.AppsV1().Deployments(made.Namespace).Create(ctx, made, o)
			create(err)
		}
	}
	return role, clusterRole
}

func typed[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	made := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, made); err != nil {
		t.Fatal(err)
	}
	return made
}

// setRules updates both roles, and waits until the API server allows the account a request, or not.
func setRules(t *testing.T, r *rig, as kubernetes.Interface, of right, inNamespace, inCluster []rbacv1.PolicyRule, allowed bool) {
	t.Helper()
	role, err := r.client.RbacV1().Roles(namespace).Get(t.Context(), own, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = inNamespace
	if _, err := r.client.RbacV1().Roles(namespace).Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	clusterRole, err := r.client.RbacV1().ClusterRoles().Get(t.Context(), own, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clusterRole.Rules = inCluster
	if _, err := r.client.RbacV1().ClusterRoles().Update(t.Context(), clusterRole, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	resource, subresource, _ := strings.Cut(of.resource, "/")
	in, name := namespace, ""
	switch resource {
	case "nodes":
		in = ""
	case "deployments":
		name = "spazio-scheduler"
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: in, Verb: of.verb, Group: of.group, Resource: resource, Subresource: subresource, Name: name,
	}}}
	cluster.Eventually(t, fmt.Sprintf("%+v is %v", of, allowed), func() (bool, any) {
		answer, err := as.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status.Allowed == allowed, answer.Status
	})
}

// failures returns how often a request has failed in this process.
func failures(t *testing.T, operation string) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "spazio_autoscale_failures_total" && m.GetLabel()[0].GetValue() == operation {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func waitFailure(t *testing.T, operation string, before float64) {
	t.Helper()
	cluster.Eventually(t, operation+" fails", func() (bool, any) {
		now := failures(t, operation)
		return now > before, now
	})
}
