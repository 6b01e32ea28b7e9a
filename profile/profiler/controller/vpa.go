package controller

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/vpa"
)

const vpaKind = "vpa"

// autoscalers recommends for the Vertical Pod Autoscaler's objects that ask for it.
type autoscalers struct {
	*Controller
	client  dynamic.Interface
	objects *index[vpa.Object]
	agenda  agenda
}

func newAutoscalers(c *Controller) (*autoscalers, error) {
	client, err := dynamic.NewForConfig(c.config.REST)
	if err != nil {
		return nil, err
	}
	a := &autoscalers{Controller: c, client: client}
	a.objects = &index[vpa.Object]{read: a.read}
	return a, nil
}

// read is an object that asks for our recommendation.
func (a *autoscalers) read(object any) (vpa.Object, bool) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return vpa.Object{}, false
	}
	o, err := vpa.Decode(u.Object)
	if err != nil {
		a.metrics.strange.Inc()
		a.complain("strange "+vpaKind, "an autoscaler's object is passed over", "object", u.GetNamespace()+"/"+u.GetName(), "error", err)
		return o, false
	}
	return o, o.Asks(a.config.VPAName)
}

func (a *autoscalers) follow(ctx context.Context) {
	resource := a.client.Resource(vpa.Resource)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return resource.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, o)
		},
	}
	a.Controller.follow(ctx, lw, vpa.Resource.Resource, &unstructured.Unstructured{}, a.objects)
}

// status is what an object's should be, and whether it is.
func (a *autoscalers) status(now time.Time, o *vpa.Object) (next vpa.Status, is bool) {
	var advice profiler.Advice
	of, known := o.Workload()
	if known {
		advice, known = a.config.Store.Advise(now, of)
	}
	next = o.Next(now, advice, known)
	return next, vpa.Equal(next, o.Status)
}

// look counts the objects and finds those whose status is not what it should be.
func (a *autoscalers) look(now time.Time) (due []types.NamespacedName) {
	served := 0
	for _, name := range a.objects.names() {
		o, ok := a.objects.get(name)
		if !ok {
			continue
		}
		if o.Status.Recommendation != nil {
			served++
		}
		if _, is := a.status(now, &o); !is {
			due = append(due, name)
		}
	}
	a.metrics.autoscalers.WithLabelValues("true").Set(float64(served))
	a.metrics.autoscalers.WithLabelValues("false").Set(float64(len(a.objects.names()) - served))
	return due
}

func (a *autoscalers) act(ctx context.Context, w *writer, now time.Time) bool {
	for {
		name, ok := a.agenda.next(now, func() []types.NamespacedName { return a.look(now) })
		if !ok {
			return false
		}
		o, there := a.objects.get(name)
		if !there {
			continue
		}
		next, is := a.status(now, &o)
		if is {
			continue
		}
		if a.write(ctx, w, name, next) != nil {
			a.agenda.failed(now, name)
		}
		return true
	}
}

func (a *autoscalers) write(ctx context.Context, w *writer, name types.NamespacedName, next vpa.Status) error {
	// What was recommended may have to go: null takes it away.
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"recommendation": next.Recommendation, "conditions": next.Conditions, "observedGeneration": next.ObservedGeneration,
	}})
	if err != nil {
		return err
	}
	return w.request(vpaKind, name, "patch", func() error {
		written, err := a.client.Resource(vpa.Resource).Namespace(name.Namespace).Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		switch {
		case err == nil:
			_ = a.objects.Add(written)
		case apierrors.IsNotFound(err): // and its end may have been heard before its last answer
			a.objects.drop(name)
		}
		return err
	})
}
