package testbeds

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// statuses have every field of each kind.
var statuses = map[string]string{
	v1alpha1.Testbeds: `
observedGeneration: 3
conditions: [{type: Ready, status: "False", reason: WaitingForCapacity, message: 1 of 4 slots, lastTransitionTime: "2026-11-22T09:00:00Z"}]
nodes: [{name: node-a, id: 0, slots: 2, wanted: 2}, {name: node-b, id: 1, slots: 1, wanted: 2, reason: Pending}]
counts: {slots: 4, free: 1, reserved: 1, occupied: 1, pending: 1, retiring: 0}
exclusiveFor: 5e1d
claims: [{batchJobUID: c0de, batchJob: default/a, scheduling: default/first, schedulingUID: 5e1d, slots: [node-a/0, node-a/1], since: "2026-11-22T09:00:00Z"}]
`,
	v1alpha1.BatchJobs: `
observedGeneration: 2
state: Running
reason: BackoffLimitExceeded
retries: 1
notBefore: "2026-11-22T09:01:10Z"
conditions: [{type: Valid, status: "True", reason: Valid, message: "", lastTransitionTime: "2026-11-22T09:00:00Z"}]
activeScheduling: {namespace: default, name: first, uid: 5e1d}
creationRequest: {testbed: {namespace: lab, name: small, uid: 71fe}, slots: [node-a/0], resources: {cpu: 700m}, replication: 1, attempt: 2}
application: {apiVersion: batch/v1, kind: Job, name: a-r2, uid: f00d, state: Running, message: fine}
pods: {expected: 1, bound: 1, running: 1, failed: 0}
runs:
- {scheduling: default/first, testbed: lab/small, slots: [node-a/0], attempt: 1, application: f00c, submitted: "2026-11-22T09:00:00Z", scheduled: "2026-11-22T09:00:01Z", started: "2026-11-22T09:00:02Z", finished: "2026-11-22T09:01:00Z", outcome: Failed, reason: BackoffLimitExceeded}
- {scheduling: default/first, testbed: lab/small, slots: [node-a/0], attempt: 2, submitted: "2026-11-22T09:02:00Z"}
`,
	v1alpha1.Schedulings: `
observedGeneration: 1
state: Confirming
conditions: [{type: Feasible, status: "True", reason: Feasible, message: "", lastTransitionTime: "2026-11-22T09:00:00Z"}]
jobs: [{name: a, namespace: default, state: Submitted, slots: [node-a/0]}, {name: b, namespace: default, state: InQueue}]
acquired: [default/a, default/b]
started: "2026-11-22T09:00:00Z"
completed: "2026-11-22T10:00:00Z"
`,
}

var specs = map[string]string{
	v1alpha1.Testbeds:    "{nodeLabel: slots, slotsPerNode: 2, resourcesPerSlot: {cpu: 700m}}",
	v1alpha1.BatchJobs:   "{jobSpec: {template: {}}}",
	v1alpha1.Schedulings: "{testbed: {name: small}, queueBased: [{name: a}]}",
}

// A user who may write the kinds cannot write their status: it is ignored on creation and update, and
// its subresource is forbidden. A user who may only write the status cannot write a spec through it.
func TestStatusIsOurs(t *testing.T) {
	connect(t)
	author := user(t, "author", rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.GroupVersion.Group},
		Resources: []string{v1alpha1.Testbeds, v1alpha1.BatchJobs, v1alpha1.Schedulings},
		Verbs:     []string{"get", "create", "update", "patch", "delete"},
	})
	controller := user(t, "controller", rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.GroupVersion.Group},
		Resources: []string{v1alpha1.Testbeds + "/status", v1alpha1.BatchJobs + "/status", v1alpha1.Schedulings + "/status"},
		Verbs:     []string{"update", "patch"},
	})
	for resource, status := range statuses {
		t.Run(resource, func(t *testing.T) {
			theirs := resourceOf(clientOf(t, author), resource)
			o := object(t, resource, "ours", specs[resource])
			o.Object["status"] = parse(t, status).Object
			made := create(t, theirs, o)
			if made.Object["status"] != nil {
				t.Errorf("its author created a status: %v", made.Object["status"])
			}
			o.SetResourceVersion(made.GetResourceVersion())
			if made, err := theirs.Update(t.Context(), o, metav1.UpdateOptions{}); err != nil || made.Object["status"] != nil {
				t.Errorf("its author updated the status: %v, %v", made, err)
			}
			patch := []byte(`{"status":{"observedGeneration":9}}`)
			if made, err := theirs.Patch(t.Context(), "ours", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil || made.Object["status"] != nil {
				t.Errorf("its author patched the status: %v, %v", made, err)
			}
			if _, err := theirs.UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("its author may update the status: %v", err)
			}
			if _, err := theirs.Patch(t.Context(), "ours", types.MergePatchType, patch, metav1.PatchOptions{}, "status"); !apierrors.IsForbidden(err) {
				t.Errorf("its author may patch the status: %v", err)
			}

			ours := resourceOf(clientOf(t, controller), resource)
			o.Object["spec"] = map[string]any{"changed": true}
			written, err := ours.UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, status).Object, written.Object["status"]); diff != "" {
				t.Errorf("the written status differs: %s", diff)
			}
			if diff := cmp.Diff(made.Object["spec"], written.Object["spec"]); diff != "" {
				t.Errorf("the spec was written through the status: %s", diff)
			}
			if _, err := ours.Patch(t.Context(), "ours", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("a user who may write the status wrote the spec: %v", err)
			}
		})
	}
}

// `kubectl get sched` shows why a Scheduling waits: the API server returns the table whose columns
// kubectl prints.
func TestSchedulingsAreListedWithTheirReason(t *testing.T) {
	admin := connect(t)
	const reason = "the BatchJob default/a waits for 2 slots, of which 1 are not claimed; the BatchJob default/b of the Scheduling default/first has 3 slots"
	made := create(t, resourceOf(admin, v1alpha1.Schedulings), object(t, v1alpha1.Schedulings, "listed", specs[v1alpha1.Schedulings]))
	made.Object["status"] = map[string]any{"state": "Submitting", "reason": reason}
	if _, err := resourceOf(admin, v1alpha1.Schedulings).UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.Plane(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	served, err := client.Discovery().ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return slices.Contains(r.ShortNames, "sched") }) {
		t.Errorf("no resource has the short name sched: %+v", served.APIResources)
	}
	text, err := client.Discovery().RESTClient().Get().
		AbsPath("/apis", v1alpha1.GroupVersion.String(), "namespaces", metav1.NamespaceDefault, v1alpha1.Schedulings, "listed").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	shown := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		if column.Priority == 0 { // shown without -o wide
			shown[column.Name] = table.Rows[0].Cells[i]
		}
	}
	delete(shown, "Age")
	want := map[string]any{"Name": "listed", "Testbed": "small", "State": "Submitting", "Done": nil, "Reason": reason}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// user returns the configuration of a user with the permission everywhere.
func user(t *testing.T, name string, right rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	admin, err := kubernetes.NewForConfig(cluster.Plane(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{right}}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.RbacV1().ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := admin.RbacV1().ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.Plane(t).UserConfig(name)
	if err != nil {
		t.Fatal(err)
	}
	// The authorizer follows roles with a delay.
	resource, subresource, _ := strings.Cut(right.Resources[0], "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: name,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: right.APIGroups[0], Resource: resource, Subresource: subresource, Verb: right.Verbs[0], Namespace: metav1.NamespaceDefault,
		},
	}}
	cluster.Eventually(t, name+" has its right", func() (bool, any) {
		got, err := admin.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && got.Status.Allowed, err
	})
	return config
}
