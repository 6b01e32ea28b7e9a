package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Problem is why an installation would fail.
type Problem struct {
	// About is "version", "rights", "resource", "images", "object", or "fields": those
	// that somebody else has set, which Options.Force takes over.
	About string `json:"about"`
	Text  string `json:"text"`
}

// Preflight returns what is in the way of installing the objects, without changing anything:
// resources that the cluster lacks, each right that is missing, and what the API server refuses in
// a dry run of the objects whose namespace exists already. The error is that of asking.
// [Config.Preflight] returns what is in the way whatever the objects, such as the cluster's version.
func (c *Cluster) Preflight(ctx context.Context, objects []*unstructured.Unstructured) (problems []Problem, err error) {
	defined := map[string]bool{}
	var located []mapped
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			defined[group+" "+kind] = true
		}
		m, err := c.locate(o)
		switch kind := o.GroupVersionKind(); {
		case meta.IsNoMatchError(err) && defined[kind.Group+" "+kind.Kind]:
		case meta.IsNoMatchError(err):
			problems = append(problems, Problem{"resource", fmt.Sprintf("the cluster has no %s of %s, as %s is", kind.Kind, kind.GroupVersion(), o.GetName())})
		case err != nil:
			return nil, err
		default:
			located = append(located, m)
		}
	}
	missing, err := c.missing(ctx, located)
	if err != nil {
		return nil, err
	}
	for _, text := range missing {
		problems = append(problems, Problem{"rights", text})
	}
	if len(problems) > 0 {
		return problems, nil // a dry run would repeat them in other words
	}
	return c.dryRun(ctx, located)
}

// Preflight returns what is in the way whatever the objects: no registry for the images, and a
// scheduler that may not serve that API server.
func (c Config) Preflight(server Version) (problems []Problem) {
	if c.Registry == "" {
		problems = append(problems, Problem{"images", "--registry is needed: where the images are, or " + NoRegistry + " if the nodes have them already"})
	}
	if err := server.Takes(cmp.Or(c.Kubernetes, DefaultScheduler())); err != nil {
		problems = append(problems, Problem{"version", err.Error()})
	}
	return problems
}

// missing names the rights that the user lacks of those needed to apply the objects.
func (c *Cluster) missing(ctx context.Context, objects []mapped) (texts []string, err error) {
	asked := map[authorizationv1.ResourceAttributes]bool{}
	may := func(a authorizationv1.ResourceAttributes) (bool, error) {
		if allowed, known := asked[a]; known {
			return allowed, nil
		}
		allowed, err := c.may(ctx, a)
		asked[a] = allowed
		return allowed, err
	}
	for _, o := range objects {
		a := authorizationv1.ResourceAttributes{Namespace: o.id.Namespace, Group: o.id.Group, Resource: o.id.Resource}
		for _, a.Verb = range []string{"get", "create", "patch"} {
			allowed, err := may(a)
			if err != nil {
				return nil, err
			}
			if !allowed {
				texts = append(texts, right(a))
			}
		}
		found, err := c.escalation(o, may)
		if err != nil {
			return nil, err
		}
		texts = append(texts, found...)
	}
	slices.Sort(texts)
	return slices.Compact(texts), nil
}

// escalation names the rights that a role of ours gives and its creator lacks: a user can only
// give rights that he has, unless he may escalate.
func (c *Cluster) escalation(o mapped, may func(authorizationv1.ResourceAttributes) (bool, error)) (texts []string, err error) {
	if o.id.Group != rbacv1.GroupName || o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
		return nil, nil
	}
	if allowed, err := may(authorizationv1.ResourceAttributes{Namespace: o.id.Namespace, Group: o.id.Group, Resource: o.id.Resource, Name: o.id.Name, Verb: "escalate"}); allowed || err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole // a Role has the same rules
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
		return nil, fmt.Errorf("deploy: %s: %w", o.id, err)
	}
	for _, a := range attributes(role.Rules, o.id.Namespace) {
		allowed, err := may(a)
		if err != nil {
			return nil, err
		}
		if !allowed {
			texts = append(texts, fmt.Sprintf("%s, or escalate %s, to give it", right(a), o.id))
		}
	}
	return texts, nil
}

// attributes are the single rights that rules give.
func attributes(rules []rbacv1.PolicyRule, namespace string) (all []authorizationv1.ResourceAttributes) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						a := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Name: name}
						a.Resource, a.Subresource, _ = strings.Cut(resource, "/")
						all = append(all, a)
					}
				}
			}
		}
	}
	return all
}

// may reports whether the user has a right.
func (c *Cluster) may(ctx context.Context, a authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a}}
	got, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("deploy: ask for rights: %w", err)
	}
	return got.Status.Allowed, nil
}

// Missing names those of the rights that the user lacks.
func (c *Cluster) Missing(ctx context.Context, rights []authorizationv1.ResourceAttributes) (texts []string, err error) {
	for _, a := range rights {
		allowed, err := c.may(ctx, a)
		if err != nil {
			return nil, err
		}
		if !allowed {
			texts = append(texts, right(a))
		}
	}
	return texts, nil
}

// right returns a right in words: create deployments.apps in spazio-system.
func right(a authorizationv1.ResourceAttributes) string {
	resource := a.Resource
	if a.Group != "" {
		resource += "." + a.Group
	}
	if a.Subresource != "" {
		resource = strings.Replace(resource, a.Resource, a.Resource+"/"+a.Subresource, 1)
	}
	text := a.Verb + " " + resource
	if a.Name != "" {
		text += " " + a.Name
	}
	if a.Namespace != "" {
		text += " in " + a.Namespace
	}
	return text
}

// dryRun returns what the API server would refuse of the objects.
func (c *Cluster) dryRun(ctx context.Context, objects []mapped) (problems []Problem, err error) {
	there := map[string]bool{"": true}
	for _, o := range objects {
		if _, known := there[o.id.Namespace]; !known {
			_, err := c.client.CoreV1().Namespaces().Get(ctx, o.id.Namespace, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("deploy: namespace %s: %w", o.id.Namespace, err)
			}
			there[o.id.Namespace] = err == nil
		}
		if !there[o.id.Namespace] {
			continue
		}
		_, err := c.patch(ctx, o, Options{DryRun: true})
		if isOwned(err) {
			problems = append(problems, Problem{"fields", fmt.Sprintf("%s: %v", o.id, err)})
			_, err = c.patch(ctx, o, Options{DryRun: true, Force: true})
		}
		var status apierrors.APIStatus
		switch {
		case err == nil, apierrors.IsNotFound(err): // it is of what is installed with it
		case apierrors.IsForbidden(err) && terminating(err): // installing waits for its end
		case errors.As(err, &status):
			problems = append(problems, Problem{"object", fmt.Sprintf("%s: %v", o.id, err)})
		default:
			return nil, fmt.Errorf("deploy: %s: %w", o.id, err)
		}
	}
	return problems, nil
}

// terminating reports whether something was refused because its namespace ends.
func terminating(err error) bool {
	return apierrors.HasStatusCause(err, "NamespaceTerminating")
}

// patch applies an object on the server's side, strictly.
func (c *Cluster) patch(ctx context.Context, o mapped, options Options) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(o.Unstructured)
	if err != nil {
		return nil, err
	}
	p := metav1.PatchOptions{FieldManager: fieldManager, Force: &options.Force, FieldValidation: metav1.FieldValidationStrict}
	if options.DryRun {
		p.DryRun = []string{metav1.DryRunAll}
	}
	return c.of(o).Patch(ctx, o.id.Name, types.ApplyPatchType, text, p)
}
