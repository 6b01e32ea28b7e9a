package controller

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler/resize"
)

const resizeKind = "resize"

// resizer changes the requests of running pods whose owners ask for it.
type resizer struct {
	*Controller
	pods   *index[resize.Pod]
	agenda agenda
}

func newResizer(c *Controller) *resizer {
	return &resizer{Controller: c, pods: &index[resize.Pod]{read: func(object any) (made resize.Pod, ok bool) {
		p, ok := object.(*corev1.Pod)
		if ok {
			made = resize.PodOf(p)
		}
		return made, ok
	}}}
}

func (r *resizer) follow(ctx context.Context) {
	var scalers sync.WaitGroup
	defer scalers.Wait()
	scalers.Go(func() { r.scalers.follow(ctx, r.Controller) })
	r.Controller.follow(ctx, listWatch(r.Controller.pods, "pods", resize.Label+"=true"), "pods", &corev1.Pod{}, r.pods)
}

// decide says what a pod's requests should be.
func (r *resizer) decide(now time.Time, p *resize.Pod, about map[profile.Workload]resize.Known) ([]byte, resize.Verdict) {
	k, asked := about[p.Workload]
	if !asked {
		k.Scaled = r.scalers.scaling(p.Workload)
		k.Advice, k.Known = r.config.Store.Advise(now, p.Workload)
		about[p.Workload] = k
	}
	k.Peak = func(container string) float64 { return r.config.Store.Peak(p.UID, container) }
	return resize.Decide(now, p, k)
}

// look counts pods by what becomes of them, and finds those to change.
func (r *resizer) look(now time.Time) (due []types.NamespacedName) {
	counts, about := map[resize.Verdict]int{}, map[profile.Workload]resize.Known{}
	for _, name := range r.pods.names() {
		p, ok := r.pods.get(name)
		if !ok {
			continue
		}
		_, verdict := r.decide(now, &p, about)
		if counts[verdict]++; verdict == resize.Change {
			due = append(due, name)
		}
	}
	for _, verdict := range resize.Verdicts() {
		r.metrics.resizable.WithLabelValues(string(verdict)).Set(float64(counts[verdict]))
	}
	return due
}

// act waits until it is known what is scaled horizontally.
func (r *resizer) act(ctx context.Context, w *writer, now time.Time) bool {
	if !r.scalers.all() || !r.pods.all() {
		return false
	}
	for {
		name, ok := r.agenda.next(now, func() []types.NamespacedName { return r.look(now) })
		if !ok {
			return false
		}
		p, there := r.pods.get(name)
		if !there {
			continue
		}
		patch, verdict := r.decide(now, &p, map[profile.Workload]resize.Known{})
		if verdict != resize.Change {
			continue
		}
		if err := r.write(ctx, w, name, patch); err != nil && !apierrors.IsConflict(err) {
			r.agenda.failed(now, name)
		}
		return true
	}
}

func (r *resizer) write(ctx context.Context, w *writer, name types.NamespacedName, patch []byte) error {
	return w.request(resizeKind, name, "patch", func() error {
		written := &corev1.Pod{}
		err := r.Controller.pods.Patch(types.StrategicMergePatchType).Namespace(name.Namespace).Resource("pods").Name(name.Name).SubResource("resize").
			Param("fieldManager", LeaseName).Body(patch).Do(ctx).Into(written)
		switch {
		case err == nil:
			_ = r.pods.Add(written)
		case apierrors.IsNotFound(err): // and its end may have been heard before its last answer
			r.pods.drop(name)
		}
		return err
	})
}
