package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// request is a request to the API server for a resource, with the response code.
type request struct {
	verb, group, resource, namespace, name string
	code                                   int32
}

func (r request) String() string {
	return fmt.Sprintf("%s %s.%s %s/%s: %d", r.verb, r.resource, r.group, r.namespace, r.name, r.code)
}

// rule returns the smallest rule that allows it.
func (r request) rule() rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: []string{r.verb}, APIGroups: []string{r.group}, Resources: []string{r.resource}}
	if r.name != "" {
		rule.ResourceNames = []string{r.name}
	}
	return rule
}

// auditLog records the API server's requests by their users. It is safe for concurrent use.
type auditLog struct {
	mu     sync.Mutex
	events map[string]map[request]bool
}

// audited is the process's log.
var audited auditLog

func (l *auditLog) add(e auditv1.Event) {
	if e.ObjectRef == nil || e.ResponseStatus == nil {
		return // every account may request non-resource paths such as the version
	}
	r := request{
		verb: e.Verb, group: e.ObjectRef.APIGroup, resource: e.ObjectRef.Resource, namespace: e.ObjectRef.Namespace, name: e.ObjectRef.Name,
		code: e.ResponseStatus.Code,
	}
	if e.ObjectRef.Subresource != "" {
		r.resource += "/" + e.ObjectRef.Subresource
	}
	if r.verb == "create" && e.ObjectRef.Subresource == "" {
		r.name = "" // the permission is checked without the name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events == nil {
		l.events = map[string]map[request]bool{}
	}
	if l.events[e.User.Username] == nil {
		l.events[e.User.Username] = map[request]bool{}
	}
	l.events[e.User.Username][r] = true
}

// forget empties the log.
func (l *auditLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = nil
}

// asked returns each kind of request once, by user.
func (l *auditLog) requested() map[string][]request {
	l.mu.Lock()
	defer l.mu.Unlock()
	requested := map[string][]request{}
	for user, requests := range l.events {
		requested[user] = slices.SortedFunc(maps.Keys(requests), func(a, b request) int { return cmp.Compare(a.String(), b.String()) })
	}
	return requested
}

// role returns the rules of a role in the API server.
func (s server) role(t *testing.T, ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	t.Helper()
	resource := schema.GroupVersionResource{Group: rbacv1.GroupName, Version: "v1", Resource: "clusterroles"}
	if ref.Kind == "Role" {
		resource.Resource = "roles"
	} else {
		namespace = ""
	}
	o, err := s.Resource(resource).Namespace(namespace).Get(t.Context(), ref.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole // a Role has the same rules
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}
