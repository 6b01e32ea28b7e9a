package controller

import (
	"context"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1/liqo"
)

// Right is one that a profiler needs, and what does not work without.
type Right struct {
	Group, Resource, Subresource, Verb string
	// own reports that it is needed in the profiler's own namespace alone.
	own     bool
	without string
}

// String is "update workloadprofiles/status".
func (r Right) String() string { return r.Verb + " " + r.path() }

func (r Right) path() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// isLease reports whether it is for the lease of who writes.
func (r Right) isLease() bool { return r.Resource == "leases" }

// Feature is what needs rights of its own.
type Feature string

// Features.
const (
	ForVPA    Feature = "vpa"
	ForResize Feature = "resize"
	ForExport Feature = "export"
)

// Rights are all that a profiler needs with the features that are on. Its lease is taken to
// be there already: the right to create one is not among them.
func Rights(on ...Feature) []Right {
	const (
		noPods       = "no pod is known, and no measurement counts"
		noProfiles   = "published profiles are not known, and all are written again"
		notPublished = "new workloads get no profile"
		notUpdated   = "schedulers do not see what changes"
		notDeleted   = "profiles of workloads that are gone stay published"
		notSaved     = "a restart forgets what was learnt"
		notRestored  = "nothing is restored at the start"
		noLease      = "no replica writes"
		noEvents     = "changes of what workloads take make no events"
		noAgents     = "no batch of an agent that shows a token is accepted"
	)
	group := v1alpha1.GroupVersion.Group
	rights := slices.Concat(
		rightsTo("", "pods", "", noPods, "list", "watch"),
		rightsTo(group, v1alpha1.Profiles, "", "profiles that somebody else wrote are not updated", "get"),
		rightsTo(group, v1alpha1.Profiles, "", noProfiles, "list", "watch"),
		rightsTo(group, v1alpha1.Profiles, "", notPublished, "create"),
		rightsTo(group, v1alpha1.Profiles, "", notDeleted, "delete"),
		rightsTo(group, v1alpha1.Profiles, "status", notUpdated, "update"),
		rightsTo("", "events", "", noEvents, "create"),
		rightsTo("events.k8s.io", "events", "", noEvents, "create"),
		rightsTo("authentication.k8s.io", "tokenreviews", "", noAgents, "create"),
	)
	own := slices.Concat(
		rightsTo("coordination.k8s.io", "leases", "", noLease, "get", "update"),
		rightsTo(group, v1alpha1.Checkpoints, "", notRestored, "list"),
		rightsTo(group, v1alpha1.Checkpoints, "", notSaved, "create", "patch"),
	)
	for _, r := range own {
		r.own = true
		rights = append(rights, r)
	}
	for _, feature := range on {
		rights = append(rights, rightsOf[feature]...)
	}
	return rights
}

// rightsTo returns a right for each verb.
func rightsTo(group, resource, subresource, without string, verbs ...string) (rights []Right) {
	for _, verb := range verbs {
		rights = append(rights, Right{Group: group, Resource: resource, Subresource: subresource, Verb: verb, without: without})
	}
	return rights
}

// rightsOf are those of the features.
var rightsOf = map[Feature][]Right{
	ForVPA: slices.Concat(
		rightsTo(vpaResource.Group, vpaResource.Resource, "", noAutoscalers, "list", "watch"),
		rightsTo(vpaResource.Group, vpaResource.Resource, "status", noAutoscalers, "patch"),
	),
	ForResize: slices.Concat(
		rightsTo(autoscalingv2.GroupName, "horizontalpodautoscalers", "", notResized, "list", "watch"),
		rightsTo("", "pods", "resize", notResized, "patch"),
	),
	ForExport: slices.Concat(
		rightsTo(liqo.GroupVersion.Group, liqo.MemoryProfiles, "", notExported, "create", "patch"),
		rightsTo(liqo.GroupVersion.Group, liqo.CPUProfiles, "", notExported, "create", "patch"),
		rightsTo(liqo.GroupVersion.Group, liqo.ConnectionProfiles, "", notLinked, "list", "watch"),
		rightsTo(liqo.GroupVersion.Group, liqo.ConnectionProfiles, "", notExported, "create", "patch"),
		rightsTo(liqo.GroupVersion.Group, liqo.ConnectionProfiles, "", "connections that ended stay published", "delete"),
	),
}

const (
	noAutoscalers = "VerticalPodAutoscalers get no recommendation from Spazio"
	notResized    = "no running pod is resized"
	notLinked     = "no ConnectionProfile is written, or those that are there are not known"
	notExported   = "an object of the group webapp.liqo.io.profiling is not written"
)

// Rules are rights as a role has them: those of the lease name it.
func Rules(rights []Right) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, r := range rights {
		i := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return rule.APIGroups[0] == r.Group && rule.Resources[0] == r.path()
		})
		if i < 0 {
			rule := rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.path()}}
			if r.isLease() {
				rule.ResourceNames = []string{LeaseName}
			}
			rules = append(rules, rule)
			i = len(rules) - 1
		}
		rules[i].Verbs = append(rules[i].Verbs, r.Verb)
	}
	return rules
}

// askAgain is how often rights are looked at.
const askAgain = 5 * time.Minute

// watchRights names those that are missing, until ctx ends.
func (c *Controller) watchRights(ctx context.Context) {
	ticker := time.NewTicker(askAgain)
	defer ticker.Stop()
	for {
		for _, r := range Rights(c.config.features()...) {
			c.checkRight(ctx, r)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (c *Controller) checkRight(ctx context.Context, r Right) {
	attributes := &authorizationv1.ResourceAttributes{Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Verb: r.Verb}
	if r.own {
		attributes.Namespace = c.leaseNamespace()
	}
	if r.isLease() {
		attributes.Name = LeaseName
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
	if err := c.client.Create(ctx, review); err != nil {
		if ctx.Err() == nil {
			c.logger.Warn("a right cannot be checked at the API server", "right", r.String(), "error", err)
		}
		return
	}
	missing := 0.
	if !review.Status.Allowed {
		missing = 1
		c.logger.Error("a right is missing", "right", r.String(), "group", r.Group, "effect", r.without)
	}
	c.metrics.missing.WithLabelValues(r.Group, r.path(), r.Verb).Set(missing)
}
