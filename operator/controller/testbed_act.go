package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var podListKind = corev1.SchemeGroupVersion.WithKind("PodList")

// tell is how often the backlog is told of.
const tell = 5 * time.Second

func sameAllotment(a, b allotment) bool {
	return maps.Equal(a.nodes, b.nodes) && slices.Equal(a.lost, b.lost)
}

// act has ghosts created and deleted. It does not wait for the API server's answers.
func (r *testbeds) act(s *testbedState, o *observation, out *outcome, now time.Time) {
	actions, due := s.table.DiffTo(nil, now)
	out.wake(due)
	if o.testbed.DeletionTimestamp != nil {
		// Of what goes, nothing is made anew.
		actions = slices.DeleteFunc(actions, func(a slot.Action) bool { return a.Op == slot.CreateGhost })
	}
	start, due := s.ops.take(actions, now)
	out.wake(due)
	for i := range start {
		a, size := start[i], s.sizes[start[i].Size]
		tb, name := o.testbed, client.ObjectKeyFromObject(o.testbed)
		r.work(func() {
			err := r.carryOut(r.background, tb, &a, &size)
			r.count(&a, err)
			switch more := s.ops.done(&a, err, r.now()); {
			case err != nil:
				r.logger.Warn("a slot's pod is left as it is", "what", a.Op.String(), "why", a.Reason.String(),
					"testbed", name.String(), "slot", a.Slot.String(), "error", err)
				r.wake(name, firstRetry)
			case more:
				r.wake(name, soon)
			}
		})
	}
	if len(actions) > 0 && now.Sub(s.logged) >= tell {
		if !s.logged.IsZero() {
			c := s.table.Counts()
			r.logger.Info("slots are being prepared", "testbed", client.ObjectKeyFromObject(o.testbed).String(),
				"slots", c.Slots, "pending", c.Pending, "todo", len(actions))
		}
		s.logged = now
	}
	if len(actions) == 0 {
		s.logged = time.Time{}
	}
}

// carryOut does what is to be done about a slot. That it is done already is a success.
func (r *testbeds) carryOut(ctx context.Context, tb *v1alpha1.Testbed, a *slot.Action, size *ghostSize) error {
	if a.Op != slot.CreateGhost {
		return r.delete(ctx, a.Namespace, a.Name, types.UID(a.UID), a.Op == slot.DeleteGhost)
	}
	err := r.ghosts.Create(ctx, ghost(tb, a.Slot, a.Name, r.options.GhostImage, size))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// delete deletes the pod of the UID, at once or as the pod would have it.
func (r *testbeds) delete(ctx context.Context, namespace, name string, uid types.UID, atOnce bool) error {
	o := client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if atOnce {
		none := int64(0)
		o.GracePeriodSeconds = &none
	}
	err := r.ghosts.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, &o)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is gone, or another has its name
		return nil
	}
	return err
}

// opNames are those of the metric.
var opNames = map[slot.Op]string{slot.CreateGhost: "create", slot.DeleteGhost: "delete", slot.DeletePod: "delete_pod"}

func (r *testbeds) count(a *slot.Action, err error) {
	reason := a.Reason.String()
	if err != nil {
		reason = "failed"
	}
	r.metrics.ghosts.WithLabelValues(opNames[a.Op], reason).Inc()
}
