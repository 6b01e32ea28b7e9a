package controller

import (
	"context"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
)

// Right is one that a profiler needs, and what does not work without.
type Right struct {
	Group, Resource, Subresource, Verb string
	Without                            string
}

// String is "update workloadprofiles/status".
func (r Right) String() string { return r.Verb + " " + r.path() }

func (r Right) path() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// Rights are all that a profiler needs; those of the lease in its namespace alone.
func Rights() []Right {
	const (
		noPods        = "no pod is known, and no window counts"
		noProfiles    = "what is published is not known, and all of it is written again"
		notPublished  = "no workload is published that was not before"
		notUpdated    = "schedulers do not hear what changes"
		notDeleted    = "what went stays published"
		notSaved      = "a restart forgets what was learnt"
		notRestored   = "nothing is restored at the start"
		noLease       = "no replica writes"
		noEvents      = "changes of what workloads take make no events"
		nobodyIsKnown = "no agent that shows a token is heard"
	)
	group := v1alpha1.GroupVersion.Group
	rights := []Right{{Resource: "pods", Verb: "list", Without: noPods}, {Resource: "pods", Verb: "watch", Without: noPods}}
	add := func(group, resource, subresource, verb, without string) {
		rights = append(rights, Right{group, resource, subresource, verb, without})
	}
	add(group, v1alpha1.Profiles, "", "get", "profiles that somebody else wrote are not updated")
	add(group, v1alpha1.Profiles, "", "list", noProfiles)
	add(group, v1alpha1.Profiles, "", "watch", noProfiles)
	add(group, v1alpha1.Profiles, "", "create", notPublished)
	add(group, v1alpha1.Profiles, "", "delete", notDeleted)
	add(group, v1alpha1.Profiles, "status", "update", notUpdated)
	add(group, v1alpha1.Checkpoints, "", "list", notRestored)
	add(group, v1alpha1.Checkpoints, "", "create", notSaved)
	add(group, v1alpha1.Checkpoints, "", "patch", notSaved)
	add(group, v1alpha1.Checkpoints, "", "delete", notDeleted)
	for _, verb := range []string{"get", "create", "update"} {
		add("coordination.k8s.io", "leases", "", verb, noLease)
	}
	add("events.k8s.io", "events", "", "create", noEvents)
	add("events.k8s.io", "events", "", "patch", noEvents)
	add("authentication.k8s.io", "tokenreviews", "", "create", nobodyIsKnown)
	return rights
}

// Rules are the rights as a ClusterRole has them.
func Rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, r := range Rights() {
		i := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return rule.APIGroups[0] == r.Group && rule.Resources[0] == r.path()
		})
		if i < 0 {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.path()}})
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
		for _, r := range Rights() {
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
	if r.Resource == "leases" {
		attributes.Namespace = c.leaseNamespace()
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
	if err := c.client.Create(ctx, review); err != nil {
		if ctx.Err() == nil {
			c.logger.Warn("the API server does not say whether a right is there", "right", r.String(), "error", err)
		}
		return
	}
	missing := 0.
	if !review.Status.Allowed {
		missing = 1
		c.logger.Error("a right is missing", "right", r.String(), "group", r.Group, "without", r.Without)
	}
	c.metrics.missing.WithLabelValues(r.Verb, r.path()).Set(missing)
}
