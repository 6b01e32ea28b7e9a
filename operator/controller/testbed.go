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
}

func newTestbeds(c, writer client.Client, live client.Reader, o Options, m *metrics) *testbeds {
	return &testbeds{
		client: c, cached: c, writer: writer, live: live, options: o, metrics: m, logger: o.Logger, now: time.Now,
		claimable: claimableIn, states: map[types.NamespacedName]*testbedState{},
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

// look observes a Testbed, decides and does what follows. It returns when to look again even if
// nothing happens; zero is never.
func (r *testbeds) look(ctx context.Context, name types.NamespacedName) (again time.Time, err error) {
	tb := &v1alpha1.Testbed{}
	if err := r.cached.Get(ctx, name, tb); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(name)
		}
		return again, err
	}
	s := r.state(tb)
	if s.written != nil && versionOf(s.written).isNewerThan(tb) { // the cache has yet to see it
		tb = s.written.DeepCopy()
	}
	if !controllerutil.ContainsFinalizer(tb, v1alpha1.FinalizerPlaceholders) {
		if tb.DeletionTimestamp != nil {
			r.forget(name)
			return again, nil
		}
		controllerutil.AddFinalizer(tb, v1alpha1.FinalizerPlaceholders)
		if err := r.client.Update(ctx, tb); err != nil {
			return again, err
		}
	}
	l := &testbedLook{r: r, s: s, tb: tb, now: r.now(), jobs: r.jobs(ctx)}
	if err := l.observe(ctx); err != nil {
		return again, err
	}
	if err := l.decide(); err != nil {
		return again, err
	}
	if err := l.write(ctx); err != nil {
		return again, err
	}
	l.act()
	if tb.DeletionTimestamp != nil {
		if err := l.finish(ctx); err != nil {
			return again, err
		}
	}
	l.measure(name.String())
	return l.again, nil
}

// state returns what is kept of the Testbed, made anew if this is another one of its name.
func (r *testbeds) state(tb *v1alpha1.Testbed) *testbedState {
	name := client.ObjectKeyFromObject(tb)
	r.mu.Lock()
	s := r.states[name]
	r.mu.Unlock()
	if s != nil && s.uid == tb.UID {
		return s
	}
	r.forget(name)
	s = newTestbedState(tb.UID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[name] = s
	return s
}

// forget drops what is kept of a Testbed that is gone.
func (r *testbeds) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, name)
	r.metrics.slots.DeletePartialMatch(map[string]string{"testbed": name.String()})
	r.metrics.signalAge.DeleteLabelValues(name.String())
}

// write writes the status, if it differs and the difference can't wait. One write has
// all that was granted.
func (l *testbedLook) write(ctx context.Context) error {
	m := l.r.metrics
	due := l.s.due(&l.tb.Status, &l.next, l.now)
	if due.IsZero() || l.now.Before(due) {
		l.wake(due)
		return nil
	}
	next := l.tb.DeepCopy()
	next.Status = l.next
	if err := m.updateStatus(ctx, l.r.client, "Testbed", next); err != nil {
		if apierrors.IsConflict(err) {
			m.claims.WithLabelValues("conflict").Inc()
		}
		return fmt.Errorf("status of Testbed %s: %w", client.ObjectKeyFromObject(next), err)
	}
	l.s.written, l.s.staleSince = next, time.Time{}
	l.tb = next.DeepCopy()
	m.claims.WithLabelValues("granted").Add(float64(len(l.granted)))
	m.claims.WithLabelValues("orphaned").Add(float64(l.released))
	for i := range l.granted {
		if since, ok := l.s.asking[l.granted[i].SchedulingUID]; ok {
			m.claimSeconds.Observe(l.r.now().Sub(since).Seconds())
		}
	}
	return nil
}

// finish removes the Testbed's finalizer once it has no claims and no placeholders.
func (l *testbedLook) finish(ctx context.Context) error {
	running, _ := l.s.ops.state()
	if len(l.tb.Status.Claims) > 0 || running > 0 || slices.ContainsFunc(l.pods, func(p slot.Pod) bool { return p.Role == slot.Placeholder }) {
		return nil
	}
	left, err := l.r.leftovers(ctx, l.tb)
	if err != nil || left > 0 {
		l.wake(l.r.now().Add(time.Second))
		return err
	}
	controllerutil.RemoveFinalizer(l.tb, v1alpha1.FinalizerPlaceholders)
	return l.r.client.Update(ctx, l.tb)
}

// leftovers deletes the placeholders that no watch has shown, and returns how many there were.
func (r *testbeds) leftovers(ctx context.Context, tb *v1alpha1.Testbed) (left int, err error) {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(podListKind)
	if err := r.live.List(ctx, pods, client.InNamespace(tb.Namespace), client.MatchingLabels{
		v1alpha1.LabelRole: v1alpha1.RolePlaceholder, v1alpha1.LabelTestbedUID: string(tb.UID),
	}); err != nil {
		return 0, err
	}
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
func (l *testbedLook) measure(name string) {
	for state, n := range l.s.table.Counts() {
		l.r.metrics.slots.WithLabelValues(name, slot.State(state).String()).Set(float64(n))
	}
	if !l.tb.Spec.Automatic() {
		l.r.metrics.signalAge.DeleteLabelValues(name)
		return
	}
	var age time.Duration
	for _, n := range l.s.autos {
		age = max(age, l.now.Sub(n.freshAt))
	}
	l.r.metrics.signalAge.WithLabelValues(name).Set(age.Seconds())
}
