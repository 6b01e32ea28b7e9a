package relief

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

const account = "spazio-descheduler"

// TestEachRightWithheld: the descheduler runs with the chart's rights. Without any one of them the log
// names what it may not do. Those of optional parts are left out: the review of tokens and profiles,
// which all receivers of reports have, the class that a policy's threshold names,
// and the events that are repeated.
func TestEachRightWithheld(t *testing.T) {
	r := newRig(t, 2, 8)
	role := install(t, r)
	config, err := cluster.Plane(t).ServiceAccountConfig(t.Context(), deploy.SystemNamespace, account)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := t.TempDir() + "/kubeconfig"
	if err := embedded.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	as, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	r.replicas(t, "web", 8)
	for _, rule := range role.Rules {
		if rule.APIGroups[0] == "authentication.k8s.io" || strings.Contains(rule.APIGroups[0], "spazio") {
			continue
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if verb == "get" || verb == "patch" {
					continue
				}
				t.Run(verb+" "+resource, func(t *testing.T) { withhold(t, r, as, kubeconfig, role, rule.APIGroups[0], resource, verb) })
			}
		}
	}
}

// withhold runs a descheduler without one right.
func withhold(t *testing.T, r *rig, as kubernetes.Interface, kubeconfig string, role *rbacv1.ClusterRole, group, resource, verb string) {
	less := role.DeepCopy()
	less.Rules = nil
	for _, rule := range role.Rules {
		for _, of := range rule.Resources {
			verbs := slices.Clone(rule.Verbs)
			if of == resource {
				verbs = slices.DeleteFunc(verbs, func(v string) bool { return v == verb })
			}
			if len(verbs) > 0 {
				less.Rules = append(less.Rules, rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: []string{of}, Verbs: verbs})
			}
		}
	}
	if _, err := r.client.RbacV1().ClusterRoles().Update(t.Context(), less, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	base, sub, _ := strings.Cut(resource, "/")
	// Another right of the role has taken effect by then, too: the policies change as a whole.
	waitAllowed(t, as, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: base, Subresource: sub}, false)
	from := len(r.log.String())
	// The descheduler reads some kinds in a dry run alone.
	d, stop := r.deschedule(t, kubeconfig, sustained, resource == "namespaces" || resource == "priorityclasses")
	defer stop()
	if verb == "create" {
		hot := r.nodes[0]
		if r.on(t, hot) == 0 {
			hot = r.nodes[1]
		}
		r.heat(t, hot, 1)
		defer hot.Set(8, false)
	}
	cluster.Eventually(t, "the log names it", func() (bool, any) {
		for line := range strings.Lines(r.log.String()[from:]) {
			if strings.Contains(line, "forbidden") && strings.Contains(line, "cannot "+verb+" resource") && strings.Contains(line, resource) {
				return true, nil
			}
		}
		// A watch that begins with the objects that there are does without a list.
		return verb == "list" && d.Hub().Ready(), nil
	})
}

func waitAllowed(t *testing.T, as kubernetes.Interface, right authorizationv1.ResourceAttributes, allowed bool) {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
	cluster.Eventually(t, "rights have changed", func() (bool, any) {
		answer, err := as.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status.Allowed == allowed, answer.Status
	})
}

// install creates the descheduler's account and rights as the chart has them.
func install(t *testing.T, r *rig) (role *rbacv1.ClusterRole) {
	t.Helper()
	objects, err := deploy.Config{Components: []string{"descheduler"}}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	o := metav1.CreateOptions{}
	if _, err := r.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deploy.SystemNamespace}}, o); err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetName() != account {
			continue
		}
		convert := func(into any) {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		switch object.GetKind() {
		case "ServiceAccount":
			made := &corev1.ServiceAccount{}
			convert(made)
			_, err = r.client.CoreV1().ServiceAccounts(made.Namespace).Create(t.Context(), made, o)
		case "ClusterRole":
			role = &rbacv1.ClusterRole{}
			convert(role)
			_, err = r.client.RbacV1().ClusterRoles().Create(t.Context(), role, o)
		case "ClusterRoleBinding":
			made := &rbacv1.ClusterRoleBinding{}
			convert(made)
			_, err = r.client.RbacV1().ClusterRoleBindings().Create(t.Context(), made, o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if role == nil {
		t.Fatal("the chart has no rights for the descheduler")
	}
	return role
}
