package controller

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1/liqo"
)

// link is a ConnectionProfile that belongs to a profile.
type link struct {
	name, owner types.NamespacedName
	rate        float64
}

// links are the ConnectionProfiles that belong to profiles, so that those go whose
// connection has, whoever wrote them. Safe for concurrent use.
type links struct {
	*index[link]
	resource dynamic.NamespaceableResourceInterface

	mu sync.Mutex
	of map[types.NamespacedName]map[types.NamespacedName]float64 // rates by owner and name
}

func newLinks(client dynamic.Interface) *links {
	l := &links{
		resource: client.Resource(liqo.GroupVersion.WithResource(liqo.ConnectionProfiles)),
		of:       map[types.NamespacedName]map[types.NamespacedName]float64{},
	}
	l.index = &index[link]{read: linkOf, changed: l.moved}
	return l
}

// linkOf is an object's, if it belongs to a profile.
func linkOf(object any) (link, bool) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return link{}, false
	}
	for _, owner := range u.GetOwnerReferences() {
		if owner.APIVersion != v1alpha1.GroupVersion.String() || owner.Kind != profileObject {
			continue
		}
		return link{
			name:  types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()},
			owner: types.NamespacedName{Namespace: u.GetNamespace(), Name: owner.Name}, rate: rateOf(u),
		}, true
	}
	return link{}, false
}

// rateOf is an object's, NaN if it is such as this program does not write.
func rateOf(u *unstructured.Unstructured) float64 {
	var spec liqo.ConnectionProfileSpec
	text, err := json.Marshal(u.Object["spec"])
	if err != nil || json.Unmarshal(text, &spec) != nil {
		return math.NaN()
	}
	return float64(spec.BandwidthRequirement)
}

func (l *links) moved(before, after *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before != nil {
		delete(l.of[before.owner], before.name)
		if len(l.of[before.owner]) == 0 {
			delete(l.of, before.owner)
		}
	}
	if after != nil {
		if l.of[after.owner] == nil {
			l.of[after.owner] = map[types.NamespacedName]float64{}
		}
		l.of[after.owner][after.name] = after.rate
	}
}

func (l *links) follow(ctx context.Context, c *Controller) {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return l.resource.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return l.resource.Watch(ctx, o)
		},
	}
	c.follow(ctx, lw, liqo.ConnectionProfiles, &unstructured.Unstructured{}, l.index)
}

// rewrittenFrom is the share by which a rate changes before it is written again.
const rewrittenFrom = .1

// A profile has mostLinks links, to whom it sends most. Who has one keeps it up to the
// rank of keptLinks, and who has none gets one at the rank of sureLinks or where there is
// room: two that send alike would be written and deleted in turn else.
const (
	sureLinks = 48
	mostLinks = 64
	keptLinks = 80
)

// chosen are those that a profile is to have of links sorted by what is sent.
func chosen(have map[types.NamespacedName]float64, sorted []liqo.ConnectionProfile) []liqo.ConnectionProfile {
	if len(sorted) <= mostLinks {
		return sorted
	}
	first, others := sorted[:sureLinks], slices.Clone(sorted[sureLinks:min(len(sorted), keptLinks)])
	slices.SortStableFunc(others, func(a, b liqo.ConnectionProfile) int {
		_, x := have[nameOf(&a)]
		_, y := have[nameOf(&b)]
		switch {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return append(slices.Clone(first), others[:min(len(others), mostLinks-sureLinks)]...)
}

func nameOf(p *liqo.ConnectionProfile) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// due says what is to be written, and what to be deleted, for a profile to have these,
// sorted by what is sent, as far as it may have them.
func (l *links) due(owner types.NamespacedName, sorted []liqo.ConnectionProfile) (written []liqo.ConnectionProfile, deleted []types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	have := l.of[owner]
	want := chosen(have, sorted)
	wanted := make(map[types.NamespacedName]bool, len(want))
	for _, p := range want {
		name := nameOf(&p)
		wanted[name] = true
		rate, there := have[name]
		if now := float64(p.Spec.BandwidthRequirement); !there || !(math.Abs(now-rate) <= rewrittenFrom*rate) {
			written = append(written, p)
		}
	}
	for name := range have {
		if !wanted[name] {
			deleted = append(deleted, name)
		}
	}
	return written, deleted
}
