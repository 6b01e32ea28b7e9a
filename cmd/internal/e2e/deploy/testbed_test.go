package deploy

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

const (
	testbedAccount   = "system:serviceaccount:spazio-system:spazio-testbed"
	schedulerAccount = "system:serviceaccount:spazio-system:spazio-scheduler"
)

var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// ours returns the resource of test beds with its group.
func ours(resource string) string { return resource + "." + v1alpha1.GroupVersion.Group }

// roles are the verbs that each role allows, by resource and group; it allows no others.
var testbedRoles = map[string]map[string]string{
	"spazio-testbed": {
		ours("testbeds"): "get list watch update", ours("testbeds/status"): "update",
		ours("batchjobs"): "get list watch patch", ours("batchjobs/status"): "update",
		ours("schedulings"): "get list watch create patch delete", ours("schedulings/status"): "update",
		"pods.": "list watch create delete", "nodes.": "list watch", "namespaces.": "get list watch",
		"jobs.batch": "get list watch create delete", "sparkapplications.sparkoperator.k8s.io": "get list watch create delete",
		"flinkdeployments.flink.apache.org":  "get list watch create delete",
		"tokenreviews.authentication.k8s.io": "create", "subjectaccessreviews.authorization.k8s.io": "create",
		"events.": "create", "events.events.k8s.io": "create",
	},
	"spazio-scheduler-testbeds": {ours("batchjobs"): "list watch", ours("testbeds"): "list watch"},
	"spazio-testbed-viewer": {
		ours("testbeds"): "get list watch", ours("batchjobs"): "get list watch", ours("schedulings"): "get list watch", "pods.": "list",
	},
	"spazio-external-scheduler": {
		ours("testbeds"): "get list watch", ours("batchjobs"): "get list watch",
		ours("schedulings"): "get list watch create update patch delete", ours("batchjobs/external"): "update patch",
	},
	"spazio-testbed-author": {
		ours("testbeds"):    "get list watch create update patch delete",
		ours("batchjobs"):   "get list watch create update patch delete",
		ours("schedulings"): "get list watch create update patch delete",
	},
}

// beyond are resources that no role covers.
var beyond = []string{
	"secrets.", "configmaps.", "serviceaccounts.", "pods/exec.", "pods/binding.", "pods/status.", "nodes/status.", "leases.coordination.k8s.io",
	"roles.rbac.authorization.k8s.io", "resourcequotas.", "deployments.apps", "tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io",
}

// Each role allows what it should and nothing more, verb by verb, by the API server's authorizer.
func TestTestbedRoles(t *testing.T) {
	client, _ := cluster.Connect(t)
	s := connect(t)
	objects := variant(t, "testbed")
	s.install(t, objects)
	resources := map[string]bool{}
	for _, of := range testbedRoles {
		for resource := range of {
			resources[resource] = true
		}
	}
	for _, resource := range beyond {
		resources[resource] = true
	}
	for role, expected := range testbedRoles {
		t.Run(role, func(t *testing.T) {
			user := "user-of-" + role
			bind(t, client, role, user, "")
			for _, resource := range slices.Sorted(maps.Keys(resources)) {
				want := strings.Fields(expected[resource])
				for _, verb := range verbs {
					cluster.Eventually(t, fmt.Sprintf("%s of %s is %v", verb, resource, slices.Contains(want, verb)), func() (bool, any) {
						allowed, err := may(t, client, user, "somewhere", resource, verb)
						return err == nil && allowed == slices.Contains(want, verb), err
					})
				}
			}
		})
	}
	// The accounts have them everywhere, and people only where they are bound.
	for account, resource := range map[string]string{testbedAccount: ours("testbeds"), schedulerAccount: ours("batchjobs")} {
		cluster.Eventually(t, account+" has its role", func() (bool, any) {
			allowed, err := may(t, client, account, "somewhere", resource, "list")
			return allowed, err
		})
	}
	bind(t, client, "spazio-testbed-author", "here-alone", metav1.NamespaceDefault)
	cluster.Eventually(t, "a role is of its namespace", func() (bool, any) {
		here, err := may(t, client, "here-alone", metav1.NamespaceDefault, ours("testbeds"), "create")
		return here, err
	})
	if there, err := may(t, client, "here-alone", "somewhere", ours("testbeds"), "create"); there || err != nil {
		t.Errorf("a role of one namespace is valid in another: %v", err)
	}
}

// bind gives a user a ClusterRole, in one namespace or everywhere, until the test's end.
func bind(t *testing.T, client kubernetes.Interface, role, user, namespace string) {
	t.Helper()
	name := metav1.ObjectMeta{Name: "test-" + role + "-" + user}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	var err error
	if namespace == "" {
		_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: name, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		t.Cleanup(func() {
			_ = client.RbacV1().ClusterRoleBindings().Delete(context.Background(), name.Name, metav1.DeleteOptions{})
		})
	} else {
		_, err = client.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: name, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		t.Cleanup(func() {
			_ = client.RbacV1().RoleBindings(namespace).Delete(context.Background(), name.Name, metav1.DeleteOptions{})
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// may queries the authorizer about RESOURCE[/SUBRESOURCE].GROUP.
func may(t *testing.T, client kubernetes.Interface, user, namespace, resource, verb string) (bool, error) {
	t.Helper()
	resource, group, _ := strings.Cut(resource, ".")
	attributes := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group}
	attributes.Resource, attributes.Subresource, _ = strings.Cut(resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: attributes}}
	got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return got.Status.Allowed, nil
}

// as returns clients of another user.
func as(t *testing.T, user string) (dynamic.Interface, kubernetes.Interface) {
	t.Helper()
	config := cluster.Plane(t).RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	config.ContentType = ""
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return untyped, client
}

// job returns a BatchJob of a field's kind.
func job(name, field, spec string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{field: map[string]any{"note": spec}}}}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BatchJob"))
	o.SetNamespace(metav1.NamespaceDefault)
	o.SetName(name)
	return o
}

// An author of a BatchJob must be allowed to create what it runs; a user who changes something else of
// one need not.
func TestBatchJobAuthors(t *testing.T) {
	client, _ := cluster.Connect(t)
	s := connect(t)
	s.install(t, variant(t, "testbed"))
	const author = "author"
	bind(t, client, "spazio-testbed-author", author, metav1.NamespaceDefault)
	mine, _ := as(t, author)
	jobs := mine.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.BatchJobs)).Namespace(metav1.NamespaceDefault)
	t.Cleanup(func() {
		_ = s.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.BatchJobs)).Namespace(metav1.NamespaceDefault).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
	})
	kinds := map[string]string{"jobSpec": "jobs.batch", "sparkSpec": "sparkapplications.sparkoperator.k8s.io", "flinkSpec": "flinkdeployments.flink.apache.org"}
	for field, child := range kinds {
		name := strings.ToLower(field)
		refused := func() (bool, any) {
			_, err := jobs.Create(t.Context(), job(name, field, "first"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "spec."+field+": author must be allowed to create "+child+" in namespace default"), err
		}
		cluster.Eventually(t, child+" take a right of their own", refused)
	}
	give(t, client, author, "batch", "jobs")
	allowed := func(o *unstructured.Unstructured) {
		t.Helper()
		cluster.Eventually(t, o.GetName()+" is taken", func() (bool, any) {
			_, err := jobs.Create(t.Context(), o, metav1.CreateOptions{})
			return err == nil || apierrors.IsAlreadyExists(err), err
		})
	}
	allowed(job("jobspec", "jobSpec", "first"))
	// Permission for one kind does not include another.
	if _, err := jobs.Create(t.Context(), job("sparkspec", "sparkSpec", "x"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user who may only create Jobs created a Spark application: %v", err)
	}
	// Another user without permission for Jobs stores data in one, and cannot change what it runs.
	const other = "keeper"
	bind(t, client, "spazio-testbed-author", other, metav1.NamespaceDefault)
	theirs, _ := as(t, other)
	patch := func(text string) error {
		_, err := theirs.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.BatchJobs)).Namespace(metav1.NamespaceDefault).
			Patch(t.Context(), "jobspec", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	cluster.Eventually(t, "other fields may be changed", func() (bool, any) {
		err := patch(`{"spec": {"externalScheduler": {"seen": 3}, "retry": {"limit": 2}}, "metadata": {"labels": {"a": "b"}}}`)
		return err == nil, err
	})
	if err := patch(`{"spec": {"jobSpec": {"note": "second"}}}`); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.jobSpec: keeper must be") {
		t.Errorf("a user changed what runs without permission to create it: %v", err)
	}
	if _, err := jobs.Patch(t.Context(), "jobspec", types.MergePatchType, []byte(`{"spec": {"jobSpec": {"note": "second"}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("change by the author: got %v", err)
	}
}

// give allows a user everything with a resource of the namespace default.
func give(t *testing.T, client kubernetes.Interface, user, group, resource string) {
	t.Helper()
	name := "test-" + user + "-" + strings.ReplaceAll(resource, "/", "-")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{group}, Resources: []string{resource, resource + "/status", resource + "/binding"}, Verbs: []string{"*"},
	}}}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.RbacV1().ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	bind(t, client, name, user, metav1.NamespaceDefault)
}

// marked returns a pod with labels and annotations of a pod in a slot.
func marked(name, role, slot string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Labels: map[string]string{"app": "x"}},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "i.example"}}},
	}
	if role != "" {
		p.Labels[v1alpha1.LabelRole] = role
	}
	if slot != "" {
		p.Annotations = map[string]string{v1alpha1.AnnotationSlot: slot}
	}
	return p
}

// Only our accounts may mark a pod as a placeholder, or set a pod's slot: a user who may do anything
// else with pods may not.
func TestSlotMarks(t *testing.T) {
	client, _ := cluster.Connect(t)
	s := connect(t)
	s.install(t, variant(t, "testbed"))
	t.Cleanup(func() { cluster.Remove(t, client) })
	const user = "podowner"
	give(t, client, user, "", "pods")
	give(t, client, testbedAccount, "", "pods")
	_, mine := as(t, user)
	_, controller := as(t, testbedAccount)
	_, scheduler := as(t, schedulerAccount)
	pods := mine.CoreV1().Pods(metav1.NamespaceDefault)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	cluster.Eventually(t, "the policy is in force and the user may create pods", func() (bool, any) {
		_, plain := pods.Create(t.Context(), marked("plain", "", ""), dry)
		_, placeholder := pods.Create(t.Context(), marked("placeholder", v1alpha1.RolePlaceholder, ""), dry)
		return plain == nil && refusedMark(placeholder, "role=placeholder"), fmt.Sprint(plain, placeholder)
	})
	if _, err := pods.Create(t.Context(), marked("slot", v1alpha1.RoleSlot, "n/0"), dry); !refusedMark(err, "/slot is for") {
		t.Errorf("setting a slot: got %v", err)
	}
	// The workload's controllers create the pods of jobs, with their role and no slot.
	taken, err := pods.Create(t.Context(), marked("waiting", v1alpha1.RoleSlot, ""), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"", "status"} {
		if _, err := pods.Patch(t.Context(), taken.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"annotations": {%q: "n/0"}}}`, v1alpha1.AnnotationSlot), metav1.PatchOptions{}, parts(sub)...); !refusedMark(err, "/slot is for") {
			t.Errorf("setting a slot through pods/%s: got %v", sub, err)
		}
		if _, err := pods.Patch(t.Context(), taken.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"labels": {%q: "placeholder"}}}`, v1alpha1.LabelRole), metav1.PatchOptions{}, parts(sub)...); !refusedMark(err, "role=placeholder") {
			t.Errorf("marking a placeholder through pods/%s: got %v", sub, err)
		}
		if _, err := pods.Patch(t.Context(), taken.Name, types.MergePatchType, []byte(`{"metadata": {"labels": {"app": "y"}}}`), metav1.PatchOptions{}, parts(sub)...); err != nil {
			t.Errorf("another label through pods/%s: got %v", sub, err)
		}
	}
	binding := func(pod string) *corev1.Binding {
		return &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod, Annotations: map[string]string{v1alpha1.AnnotationSlot: "n/0"}},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "n"},
		}
	}
	if err := pods.Bind(t.Context(), binding(taken.Name), metav1.CreateOptions{}); !refusedMark(err, "/slot is for") {
		t.Errorf("setting a slot by a binding: got %v", err)
	}
	// Our accounts: the scheduler's binding sets the pod's annotation.
	if err := scheduler.CoreV1().Pods(metav1.NamespaceDefault).Bind(t.Context(), binding(taken.Name), metav1.CreateOptions{}); err != nil {
		t.Errorf("binding into a slot by the scheduler: got %v", err)
	}
	bound, err := client.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), taken.Name, metav1.GetOptions{})
	if err != nil || bound.Annotations[v1alpha1.AnnotationSlot] != "n/0" || bound.Spec.NodeName != "n" {
		t.Errorf("bound: %v on %q, %v", bound.Annotations, bound.Spec.NodeName, err)
	}
	placeholder, err := controller.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), marked("placeholder", v1alpha1.RolePlaceholder, "n/1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("placeholder by spazio-testbed: got %v", err)
	}
	// Others may still write a placeholder's status, as kubelets do, without removing either mark.
	placeholder.Status.Phase = corev1.PodRunning
	if _, err := pods.UpdateStatus(t.Context(), placeholder, metav1.UpdateOptions{}); err != nil {
		t.Errorf("a placeholder's status: %v", err)
	}
	for _, text := range []string{fmt.Sprintf(`{"labels": {%q: null}}`, v1alpha1.LabelRole), fmt.Sprintf(`{"annotations": {%q: null}}`, v1alpha1.AnnotationSlot)} {
		if _, err := pods.Patch(t.Context(), placeholder.Name, types.MergePatchType, []byte(`{"metadata": `+text+`}`), metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("removing a mark: got %v", err)
		}
	}
	if err := pods.Delete(t.Context(), placeholder.Name, metav1.DeleteOptions{}); err != nil {
		t.Errorf("deletion of a placeholder by a user who may delete pods: got %v", err)
	}
}

// parts returns a subresource, if any.
func parts(sub string) []string {
	if sub == "" {
		return nil
	}
	return []string{sub}
}

func refusedMark(err error, mark string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "spazio-slot-marks") && strings.Contains(err.Error(), mark)
}

// The API server accepts every example unchanged.
func TestTestbedExamples(t *testing.T) {
	s := connect(t)
	s.install(t, variant(t, "testbed"))
	files, err := filepath.Glob(root + "/examples/testbeds/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		for _, o := range cluster.ReadManifests(t, file) {
			kinds[o.GetKind()] = true
			if o.GetNamespace() != "" {
				t.Errorf("%s has no namespace", file)
			}
			o.SetNamespace(metav1.NamespaceDefault)
			cluster.Eventually(t, filepath.Base(file)+" is taken", func() (bool, any) {
				err := s.apply(t, o, true)
				if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
					t.Fatalf("%s: %v", file, err)
				}
				return err == nil, err
			})
		}
	}
	if want := map[string]bool{"Testbed": true, "BatchJob": true, "Scheduling": true, "ResourceQuota": true}; !maps.Equal(kinds, want) {
		t.Errorf("got examples of %v", kinds)
	}
}
