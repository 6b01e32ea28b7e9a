package backend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

const (
	// maxAnswers bounds the answers that are remembered, of some 100 bytes each: 100
	// callers with all verbs on all kinds in 10 namespaces.
	maxAnswers = 20_000
	// reviewsAtOnce bounds the reviews under way; further ones wait.
	reviewsAtOnce = 16
	// refusalFresh is how long a refusal counts at most: a role that was just given
	// must not be refused for long.
	refusalFresh = 10 * time.Second
	// mostRefused bounds the refusals to a caller that are asked for within refusalFresh:
	// names without end are each a question of their own.
	mostRefused = 32
	// patience is what a review may take, its turn included.
	patience = 10 * time.Second
)

// subresourceExternal of batchjobs is what outside programs keep in a job. No API server
// has it: it is there for roles to name.
const subresourceExternal = "external"

// reviewer asks the API server what somebody may do. A client.Client is one. Create
// is called by several goroutines at once.
type reviewer interface {
	Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error
}

// authorizer asks the API server what a caller may do (SubjectAccessReview), and remembers
// the answer for a while. Safe for concurrent use.
type authorizer struct {
	reviews reviewer
	fresh   time.Duration
	answers *cache.LRUExpireCache // digest to bool
	refused *cache.LRUExpireCache // caller to the number of refusals, *atomic.Int64
	turns   chan struct{}
}

var _ server.Authorizer = (*authorizer)(nil)

// NewAuthorizer makes an authorizer that asks the API server what a caller may do
// (SubjectAccessReview). Answers count for fresh, 0 being a minute, but refusals for ten seconds at
// most. It is safe for concurrent use. now is the clock, nil being time.Now.
func NewAuthorizer(reviews reviewer, fresh time.Duration, now func() time.Time) server.Authorizer {
	if now == nil {
		now = time.Now
	}
	return &authorizer{
		reviews: reviews, fresh: cmp.Or(fresh, defaultReview),
		answers: cache.NewLRUExpireCacheWithClock(maxAnswers, clock(now)), turns: make(chan struct{}, reviewsAtOnce),
		refused: cache.NewLRUExpireCacheWithClock(maxAnswers, clock(now)),
	}
}

type clock func() time.Time

// Now is the time.
func (c clock) Now() time.Time { return c() }

// Authorize implements server.Authorizer. The right to all objects of a namespace is asked
// about first, so that a caller who reads one after the other costs one review.
func (a *authorizer) Authorize(ctx context.Context, caller server.Caller, access server.Access) error {
	resource, err := resourceOf(&access)
	if err != nil {
		return err
	}
	attributes := authorizationv1.ResourceAttributes{
		Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: resource, Verb: string(access.Verb), Namespace: access.Namespace,
	}
	if access.External {
		attributes.Subresource = subresourceExternal
	}
	names := []string{""}
	if access.Name != "" {
		names = append(names, access.Name)
	}
	for i, name := range names {
		attributes.Name = name
		if ok, err := a.allowed(ctx, &caller, attributes, i == len(names)-1); ok || err != nil {
			return err
		}
	}
	return server.Forbid(caller, access)
}

// resourceOf is the resource that the right to a kind is of.
func resourceOf(access *server.Access) (string, error) {
	switch {
	case access.External && access.Kind != wire.Jobs:
	case access.Kind == wire.Testbeds, access.Kind == wire.Slots:
		return v1alpha1.Testbeds, nil
	case access.Kind == wire.Jobs:
		return v1alpha1.BatchJobs, nil
	case access.Kind == wire.Schedulings:
		return v1alpha1.Schedulings, nil
	}
	return "", fmt.Errorf("backend: no right is known to kind %q", access.Kind)
}

// allowed returns the API server's answer, or what it was a while ago. Where a refusal is the
// last word it counts against the caller.
func (a *authorizer) allowed(ctx context.Context, caller *server.Caller, attributes authorizationv1.ResourceAttributes, last bool) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &attributes, User: caller.Name, UID: caller.UID, Groups: caller.Groups,
	}
	if len(caller.Extra) > 0 {
		spec.Extra = make(map[string]authorizationv1.ExtraValue, len(caller.Extra))
		for key, values := range caller.Extra {
			spec.Extra[key] = values
		}
	}
	text, err := json.Marshal(spec) // keys of maps are sorted
	if err != nil {
		return false, err
	}
	key := sha256.Sum256(text)
	if ok, known := a.answers.Get(key); known {
		return ok.(bool), nil
	}
	refused := a.refusals(caller)
	if refused.Load() >= mostRefused {
		return false, server.RefuseForNow(http.StatusTooManyRequests, int(refusalFresh.Seconds()),
			fmt.Sprintf("Too many requests that you may not make: %d refusals within %s.", mostRefused, refusalFresh))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-ctx.Done():
		return false, unanswered()
	}
	if ok, known := a.answers.Get(key); known { // another has asked meanwhile
		return ok.(bool), nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: spec}
	if err := a.reviews.Create(ctx, review); err != nil {
		return false, unanswered()
	}
	ok := review.Status.Allowed && !review.Status.Denied
	fresh := a.fresh
	if !ok {
		fresh = min(fresh, refusalFresh)
		if last {
			refused.Add(1)
		}
	}
	a.answers.Add(key, ok, fresh)
	return ok, nil
}

// refusals counts those to a caller since the first of them, which is forgotten after
// refusalFresh.
func (a *authorizer) refusals(caller *server.Caller) *atomic.Int64 {
	key := caller.Name + "/" + caller.UID
	if n, ok := a.refused.Get(key); ok {
		return n.(*atomic.Int64)
	}
	n := new(atomic.Int64)
	a.refused.Add(key, n, refusalFresh)
	return n
}

func unanswered() error {
	return server.RefuseForNow(http.StatusServiceUnavailable, 1, "The API server does not say what you may do.")
}
