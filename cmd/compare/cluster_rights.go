package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// Role is the least role with which Cluster works. Of the resources in namespaces it has
// all namespaces, for a role in one that is yet to be made can't be given.
func Role() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: Namespace},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"create"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{Namespace}, Verbs: []string{"get", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create", "get", "list", "watch", "delete", "deletecollection"}},
			{APIGroups: []string{""}, Resources: []string{"pods/portforward", "services"}, Verbs: []string{"create"}},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create", "delete"}},
		},
	}
}

// rights are those of the role, where they are used.
func rights() (all []authorizationv1.ResourceAttributes) {
	for _, rule := range Role().Rules {
		for _, resource := range rule.Resources {
			kind, sub, _ := strings.Cut(resource, "/")
			namespace := Namespace
			if kind == "nodes" || kind == "namespaces" {
				namespace = ""
			}
			for _, verb := range rule.Verbs {
				right := authorizationv1.ResourceAttributes{Group: rule.APIGroups[0], Resource: kind, Subresource: sub, Verb: verb, Namespace: namespace}
				if len(rule.ResourceNames) > 0 {
					right.Name = rule.ResourceNames[0]
				}
				all = append(all, right)
			}
		}
	}
	return append(all,
		authorizationv1.ResourceAttributes{Resource: "pods", Verb: "list", Namespace: deploy.AgentNamespace},
		authorizationv1.ResourceAttributes{Resource: "pods", Subresource: "portforward", Verb: "create", Namespace: deploy.AgentNamespace},
	)
}

// permitted refuses a user who lacks a right.
func (f *fleet) permitted(ctx context.Context) error {
	cluster, err := deploy.Connect(f.config.Rest)
	if err != nil {
		return err
	}
	missing, err := cluster.Missing(ctx, rights())
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w %s", errRights, strings.Join(slices.Compact(missing), ", "))
	}
	return nil
}
