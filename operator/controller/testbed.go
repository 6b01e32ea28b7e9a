package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// testbeds is the controller of Testbeds: it keeps their placeholders, grants their slots and
// writes their status. Its methods are safe for concurrent use, those of one Testbed's
// reconciliation one at a time.
type testbeds struct {
	// cached reads from the cache, live from the API server; client writes, and writer writes
	// pods without a limit of its own.
	client, writer client.Client
	cached, live   client.Reader
	options        Options
	metrics        *metrics
	logger         *slog.Logger
	now            func() time.Time
	// claimable is claimableIn, except in tests.
	claimable claimable
	// wake has a Testbed be looked at after a while; work has a request to the API server
	// be made when it is its turn.
	wake func(name types.NamespacedName, after time.Duration)
	work func(func())
	// background is what the work is done in. All are set before anything comes into the
	// queue.
	background context.Context
	once       sync.Once

	mu sync.Mutex
	// states are those of the Testbeds that were looked at.
	states map[types.NamespacedName]*testbedState
	// allotments are what each Testbed may use, by UID; stale reports whether they are to be
	// made anew.
	allotments map[types.UID]allotment
	stale      bool
}

func newTestbeds(c, writer client.Client, live client.Reader, o Options, m *metrics) *testbeds {
	return &testbeds{
		client: c, cached: c, writer: writer, live: live, options: o, metrics: m, logger: o.Logger, now: time.Now,
		claimable: claimableIn, stale: true,
		states: map[types.NamespacedName]*testbedState{}, allotments: map[types.UID]allotment{},
	}
}

// Reconcile looks at a Testbed once.
func (r *testbeds) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	due, err := r.look(ctx, req.NamespacedName)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil // the watch reports the deletion
	case apierrors.IsConflict(err):
		// Another has written first: what is to be done follows from that.
		return reconcile.Result{RequeueAfter: soon}, nil
	case err != nil || due.IsZero():
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(due.Sub(r.now()), time.Millisecond)}, nil
}

// look observes a Testbed, has its state make a step, and does what follows. It returns
// when to look again even if nothing happens; zero is never.
func (r *testbeds) look(ctx context.Context, name types.NamespacedName) (time.Time, error) {
	tb, err := r.read(ctx, name, r.state(name))
	if apierrors.IsNotFound(err) {
		r.forget(name)
	}
	if err != nil {
		return time.Time{}, err
	}
	s, err := r.adopt(ctx, tb)
	if err != nil || s == nil {
		return time.Time{}, err
	}
	now := r.now()
	o, err := r.observe(ctx, tb)
	if err != nil {
		return time.Time{}, err
	}
	out, err := s.step(o, now)
	if err != nil {
		return time.Time{}, err
	}
	for _, refused := range out.refused {
		r.logger.Warn("a Scheduling asks for what can't be granted", "scheduling", client.ObjectKeyFromObject(refused.scheduling).String(), "error", refused.err)
	}
	if err := r.write(ctx, s, o, &out, now); err != nil {
		return time.Time{}, err
	}
	r.act(s, o, &out, now)
	if tb.DeletionTimestamp != nil {
		if err := r.finish(ctx, s, o, &out); err != nil {
			return time.Time{}, err
		}
	}
	r.measure(name, s, o, now)
	return out.again, nil
}

// state returns what is kept of the Testbed of the name, nil if it was not looked at.
func (r *testbeds) state(name types.NamespacedName) *testbedState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[name]
}

// read returns the Testbed from the cache, or as it was last written if the cache has
// not seen that yet.
func (r *testbeds) read(ctx context.Context, name types.NamespacedName, s *testbedState) (*v1alpha1.Testbed, error) {
	tb := &v1alpha1.Testbed{}
	if err := r.cached.Get(ctx, name, tb); err != nil {
		return nil, err
	}
	if s == nil || s.written == nil {
		return tb, nil
	}
	if versionOf(s.written).isNewerThan(tb) {
		return s.written.DeepCopy(), nil
	}
	s.written = nil
	return tb, nil
}

// adopt returns the Testbed's state, made anew if this is another Testbed of the name,
// and sees to its finalizer. The state is nil if there is nothing to do about it.
func (r *testbeds) adopt(ctx context.Context, tb *v1alpha1.Testbed) (*testbedState, error) {
	name := client.ObjectKeyFromObject(tb)
	if !controllerutil.ContainsFinalizer(tb, v1alpha1.FinalizerPlaceholders) {
		if tb.DeletionTimestamp != nil {
			r.forget(name)
			return nil, nil
		}
		controllerutil.AddFinalizer(tb, v1alpha1.FinalizerPlaceholders)
		if err := r.client.Update(ctx, tb); err != nil {
			return nil, err
		}
	}
	if s := r.state(name); s != nil && s.uid == tb.UID {
		return s, nil
	}
	r.forget(name)
	s := newTestbedState(tb.UID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[name] = s
	return s, nil
}

// forget drops what is kept of a Testbed that is gone.
func (r *testbeds) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, name)
	r.stale = true
	r.metrics.slots.DeletePartialMatch(map[string]string{"testbed": name.String()})
	r.metrics.signalAge.DeleteLabelValues(name.String())
}

// write writes the status, if it differs and the difference can't wait. One write has
// all that was granted.
func (r *testbeds) write(ctx context.Context, s *testbedState, o *observation, out *outcome, now time.Time) error {
	due := s.due(&o.testbed.Status, &out.status, now)
	if due.IsZero() || now.Before(due) {
		out.wake(due)
		return nil
	}
	next := o.testbed.DeepCopy()
	next.Status = out.status
	if err := r.client.Status().Update(ctx, next); err != nil {
		if apierrors.IsConflict(err) {
			r.overtaken(ctx, s, o)
		}
		return fmt.Errorf("status of Testbed %s: %w", client.ObjectKeyFromObject(next), err)
	}
	s.written, s.staleSince = next, time.Time{}
	o.testbed = next.DeepCopy()
	r.metrics.claims.WithLabelValues("granted").Add(float64(len(out.granted)))
	r.metrics.claims.WithLabelValues("orphaned").Add(float64(out.released))
	for i := range out.granted {
		if since, ok := s.asking[out.granted[i].SchedulingUID]; ok {
			r.metrics.claimSeconds.Observe(r.now().Sub(since).Seconds())
		}
	}
	return nil
}

// overtaken reads the Testbed that another has written first: the next look starts from it.
func (r *testbeds) overtaken(ctx context.Context, s *testbedState, o *observation) {
	r.metrics.claims.WithLabelValues("conflict").Inc()
	fresh := &v1alpha1.Testbed{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(o.testbed), fresh); err == nil {
		s.written = fresh
	}
}

// finish removes the Testbed's finalizer once it has no claims and no placeholders.
func (r *testbeds) finish(ctx context.Context, s *testbedState, o *observation, out *outcome) error {
	tb := o.testbed
	running, _ := s.ops.state()
	if len(tb.Status.Claims) > 0 || running > 0 || slices.ContainsFunc(o.pods, func(p slot.Pod) bool { return p.Role == slot.Placeholder }) {
		return nil
	}
	left, err := r.leftovers(ctx, tb)
	if err != nil || left > 0 {
		out.wake(r.now().Add(time.Second))
		return err
	}
	controllerutil.RemoveFinalizer(tb, v1alpha1.FinalizerPlaceholders)
	return r.client.Update(ctx, tb)
}

// leftovers deletes the placeholders that no watch has shown, and returns how many there were.
func (r *testbeds) leftovers(ctx context.Context, tb *v1alpha1.Testbed) (int, error) {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(podListKind)
	if err := r.live.List(ctx, pods, client.InNamespace(tb.Namespace), client.MatchingLabels{
		v1alpha1.LabelRole: v1alpha1.RolePlaceholder, v1alpha1.LabelTestbedUID: string(tb.UID),
	}); err != nil {
		return 0, err
	}
	left := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if !isPlaceholder(p) {
			continue
		}
		left++
		if err := r.delete(ctx, p.Namespace, p.Name, p.UID, true); err != nil {
			return 0, err
		}
	}
	return left, nil
}

// measure sets the Testbed's metrics.
func (r *testbeds) measure(name types.NamespacedName, s *testbedState, o *observation, now time.Time) {
	for state, n := range s.table.Counts() {
		r.metrics.slots.WithLabelValues(name.String(), slot.State(state).String()).Set(float64(n))
	}
	if !o.testbed.Spec.Automatic() {
		r.metrics.signalAge.DeleteLabelValues(name.String())
		return
	}
	var age time.Duration
	for _, n := range s.autos {
		age = max(age, now.Sub(n.freshAt))
	}
	r.metrics.signalAge.WithLabelValues(name.String()).Set(age.Seconds())
}
