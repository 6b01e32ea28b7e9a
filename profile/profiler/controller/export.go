package controller

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1/liqo"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

const liqoKind = "liqo"

// exporter writes what is published as the thesis's custom resources too. They belong to
// the profile, and go with it. It is for one goroutine.
type exporter struct {
	*Controller
	client dynamic.Interface
	links  *links
	order  []exportKey
	of     map[exportKey]exported
	// unlinked were published before it was known which ConnectionProfiles there are.
	unlinked map[types.NamespacedName]profiler.Update
}

// exportKey names an object.
type exportKey struct {
	resource string
	name     types.NamespacedName
}

// exported is what an object is to say, nil if it is to go; not before a time.
type exported struct {
	object any
	after  time.Time
}

func newExporter(c *Controller) (*exporter, error) {
	of, err := dynamic.NewForConfig(c.config.REST)
	if err != nil {
		return nil, err
	}
	return &exporter{
		Controller: c, client: of, links: newLinks(of), of: map[exportKey]exported{}, unlinked: map[types.NamespacedName]profiler.Update{},
	}, nil
}

func (e *exporter) follow(ctx context.Context) { e.links.follow(ctx, e.Controller) }

// add has objects written of what was published of a workload: what its pod, all
// containers together, should request, and what it sends to others.
func (e *exporter) add(u profiler.Update) {
	owners := e.owners(u)
	if owners == nil {
		return
	}
	if len(u.Recommendations) > 0 {
		var sum profile.Amounts
		for _, r := range u.Recommendations {
			sum.CPU, sum.Memory = sum.CPU+r.Target.CPU, sum.Memory+r.Target.Memory
		}
		memory, cpu := liqo.NewMemoryProfile(u.Workload, u.At, sum.Memory), liqo.NewCPUProfile(u.Workload, u.At, sum.CPU)
		memory.OwnerReferences, cpu.OwnerReferences = owners, owners
		e.put(liqo.MemoryProfiles, &memory, memory)
		e.put(liqo.CPUProfiles, &cpu, cpu)
	}
	if e.config.Store.HasFlows() {
		e.unlinked[objectName(u.Workload)] = u
		e.link()
	}
}

// owners is the profile that an update was written to, nil if it has gone.
func (e *exporter) owners(u profiler.Update) []metav1.OwnerReference {
	kept, there := e.objects.get(objectName(u.Workload))
	if !there {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: profileObject, Name: v1alpha1.NameOf(u.Workload), UID: kept.uid}}
}

// profileObject is the kind of what all these belong to.
const profileObject = "WorkloadProfile"

// link has the ConnectionProfiles written, and deleted, of what was published, once all
// are known that there are.
func (e *exporter) link() {
	if !e.links.all() {
		return
	}
	for name, u := range e.unlinked {
		delete(e.unlinked, name)
		owners := e.owners(u)
		if owners == nil {
			continue
		}
		var want []liqo.ConnectionProfile
		sent := e.config.Store.Bandwidths(u.Workload)
		for _, b := range sent[:min(len(sent), keptLinks)] {
			p := liqo.NewConnectionProfile(b.From, b.To, u.At, b.Request)
			p.OwnerReferences = owners
			want = append(want, p)
		}
		written, deleted := e.links.due(name, want)
		for i := range written {
			e.put(liqo.ConnectionProfiles, &written[i], written[i])
		}
		for _, name := range deleted {
			e.put(liqo.ConnectionProfiles, &metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, nil)
		}
	}
}

// put has an object written once, or deleted, as it is when its turn comes.
func (e *exporter) put(resource string, meta metav1.Object, object any) {
	key := exportKey{resource, types.NamespacedName{Namespace: meta.GetNamespace(), Name: meta.GetName()}}
	waits, queued := e.of[key]
	if !queued {
		e.order = append(e.order, key)
	}
	e.of[key] = exported{object, waits.after}
}

func (e *exporter) act(ctx context.Context, w *writer, now time.Time) bool {
	e.link()
	for range len(e.order) {
		key := e.order[0]
		e.order = e.order[1:]
		one := e.of[key]
		if now.Before(one.after) {
			e.order = append(e.order, key)
			continue
		}
		delete(e.of, key)
		if e.write(ctx, w, key, one.object) != nil {
			one.after = now.Add(leaveFor)
			e.order, e.of[key] = append(e.order, key), one
		}
		return true
	}
	return false
}

// write applies the object, whether there is one or not, or deletes what there is.
func (e *exporter) write(ctx context.Context, w *writer, key exportKey, object any) error {
	resource := e.client.Resource(liqo.GroupVersion.WithResource(key.resource)).Namespace(key.name.Namespace)
	if object == nil {
		return w.request(liqoKind, key.name, "delete", func() error {
			err := client.IgnoreNotFound(resource.Delete(ctx, key.name.Name, metav1.DeleteOptions{}))
			if err == nil {
				e.links.drop(key.name)
			}
			return err
		})
	}
	patch, err := json.Marshal(object)
	if err != nil {
		return err
	}
	force := true
	return w.request(liqoKind, key.name, "apply", func() error {
		written, err := resource.Patch(ctx, key.name.Name, types.ApplyPatchType, patch, metav1.PatchOptions{FieldManager: LeaseName, Force: &force})
		if err == nil && key.resource == liqo.ConnectionProfiles {
			e.links.note(written)
		}
		return err
	})
}

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
	c.follow(ctx, lw, liqo.ConnectionProfiles, &unstructured.Unstructured{}, reflectorStore{sink: l.index})
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
