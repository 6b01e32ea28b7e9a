package controller

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
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
	if e.config.Store.Heard() {
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
			p := liqo.NewConnectionProfile(b.From, b.To, u.At, b.Rate)
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
			_ = e.links.Add(written)
		}
		return err
	})
}
