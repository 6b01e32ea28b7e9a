package controller

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1/liqo"
)

const liqoKind = "liqo"

// exporter writes what is published as the thesis's custom resources too. They belong to
// the profile, and go with it. It is for one goroutine.
type exporter struct {
	*Controller
	client dynamic.Interface
	order  []exportKey
	of     map[exportKey]exported
}

// exportKey names an object.
type exportKey struct {
	resource string
	name     types.NamespacedName
}

// exported is what an object is to say, not before a time.
type exported struct {
	object any
	after  time.Time
}

func newExporter(c *Controller) (*exporter, error) {
	client, err := dynamic.NewForConfig(c.config.REST)
	if err != nil {
		return nil, err
	}
	return &exporter{Controller: c, client: client, of: map[exportKey]exported{}}, nil
}

// follow has nothing to follow.
func (e *exporter) follow(context.Context) {}

// add has objects written of what was published of a workload: what its pod, all
// containers together, should request.
func (e *exporter) add(u profiler.Update) {
	var sum profile.Amounts
	for _, r := range u.Recommendations {
		sum.CPU, sum.Memory = sum.CPU+r.Target.CPU, sum.Memory+r.Target.Memory
	}
	kept, there := e.objects.get(objectName(u.Workload))
	if !there || len(u.Recommendations) == 0 {
		return
	}
	owners := []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "WorkloadProfile", Name: v1alpha1.NameOf(u.Workload), UID: kept.uid}}
	memory, cpu := liqo.NewMemoryProfile(u.Workload, u.At, sum.Memory), liqo.NewCPUProfile(u.Workload, u.At, sum.CPU)
	memory.OwnerReferences, cpu.OwnerReferences = owners, owners
	e.put(liqo.MemoryProfiles, &memory, memory)
	e.put(liqo.CPUProfiles, &cpu, cpu)
}

// put has an object written once, as it is when its turn comes.
func (e *exporter) put(resource string, meta metav1.Object, object any) {
	key := exportKey{resource, types.NamespacedName{Namespace: meta.GetNamespace(), Name: meta.GetName()}}
	waits, queued := e.of[key]
	if !queued {
		e.order = append(e.order, key)
	}
	e.of[key] = exported{object, waits.after}
}

func (e *exporter) act(ctx context.Context, w *writer, now time.Time) bool {
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

// write applies the object, whether there is one or not.
func (e *exporter) write(ctx context.Context, w *writer, key exportKey, object any) error {
	patch, err := json.Marshal(object)
	if err != nil {
		return err
	}
	force := true
	return w.request(liqoKind, key.name, "apply", func() error {
		_, err := e.client.Resource(liqo.GroupVersion.WithResource(key.resource)).Namespace(key.name.Namespace).
			Patch(ctx, key.name.Name, types.ApplyPatchType, patch, metav1.PatchOptions{FieldManager: LeaseName, Force: &force})
		return err
	})
}
