package controller

import (
	"context"
	"slices"
	"sync"
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

// act has placeholders created and deleted. It does not wait for the API server's answers.
func (l *testbedLook) act() {
	r, ops, tb, name := l.r, &l.s.ops, l.tb, client.ObjectKeyFromObject(l.tb)
	actions, due := l.s.table.Diff(l.now)
	l.wake(due)
	if tb.DeletionTimestamp != nil {
		// Of what goes, nothing is made anew.
		actions = slices.DeleteFunc(actions, func(a slot.Action) bool { return a.Op == slot.CreatePlaceholder })
	}
	start, due := ops.take(actions, l.now)
	l.wake(due)
	for _, a := range start {
		size := l.s.sizes[a.Size]
		r.work(func() {
			err := r.carryOut(r.background, tb, &a, &size)
			r.count(&a, err)
			switch more := ops.done(&a, err, r.now()); {
			case err != nil:
				r.logger.Warn("a slot's pod is not changed", "what", string(a.Op), "why", a.Reason,
					"testbed", name.String(), "slot", a.Slot.String(), "error", err)
				r.wake(name, firstRetry)
			case more:
				r.wake(name, soon)
			}
		})
	}
}

// carryOut does what is to be done about a slot. That it is done already is a success.
func (r *testbeds) carryOut(ctx context.Context, tb *v1alpha1.Testbed, a *slot.Action, size *placeholderSize) error {
	if a.Op != slot.CreatePlaceholder {
		return r.delete(ctx, a.Namespace, a.Name, types.UID(a.UID), a.Op == slot.DeletePlaceholder)
	}
	err := r.writer.Create(ctx, placeholderPod(tb, a.Slot, a.Name, r.options.PlaceholderImage, size))
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
	err := r.writer.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, &o)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is gone, or another has its name
		return nil
	}
	return err
}

// opNames are those of the metric.
var opNames = map[slot.Op]string{slot.CreatePlaceholder: "create", slot.DeletePlaceholder: "delete", slot.DeletePod: "delete_pod"}

func (r *testbeds) count(a *slot.Action, err error) {
	reason := a.Reason
	if err != nil {
		reason = "failed"
	}
	r.metrics.placeholders.WithLabelValues(opNames[a.Op], reason).Inc()
}

// Bounds of what is done about a Testbed's slots.
const (
	// maxRunning requests of one Testbed wait at once, so that what is wanted no more is
	// not asked for, and others have their turn.
	maxRunning = 128
	// maxProbes of them are made at a time while the API server refuses: it refuses most for
	// one reason, a quota for example.
	maxProbes = 4
	// repeatAfter is after what time an action is carried out again that has failed, or whose
	// effect no watch has shown: far longer than one lags.
	repeatAfter = 10 * time.Second
	// firstRetry and lastRetry bound the time until something is tried while all fails.
	firstRetry, lastRetry = time.Second, 30 * time.Second
)

// opKey is what makes two actions one.
type opKey struct {
	op        slot.Op
	slot      slot.ID
	uid, size string
}

func opKeyOf(a *slot.Action) opKey { return opKey{a.Op, a.Slot, a.UID, a.Size} }

// op is an action that runs, or may be carried out again from a time on.
type op struct {
	running bool
	until   time.Time
}

// ops are the actions of a Testbed that are under way, or were carried out and are not
// seen to have worked. An action stands in a Diff until its effect is observed; ops keep
// it from being asked for meanwhile, and from being asked for too often. Safe for
// concurrent use. The zero value has none.
type ops struct {
	mu      sync.Mutex
	of      map[opKey]op
	running int
	// failed is the error of the action that was refused last, nil once one has worked;
	// nothing is tried before probe then, which is put off each of the probes times.
	failed error
	probe  time.Time
	probes int
}

// take returns which of the actions to carry out now, in their order, and when to ask
// again; zero is when one of those has been done, or never. Each of them must be handed
// to done. What is wanted no more is forgotten.
func (o *ops) take(actions []slot.Action, now time.Time) (start []slot.Action, again time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	most := maxRunning
	switch {
	case o.failed != nil && now.Before(o.probe):
		most, again = 0, o.probe
	case o.failed != nil:
		most = maxProbes
	}
	before := o.of
	o.of = make(map[opKey]op, len(actions))
	for i := range actions {
		key := opKeyOf(&actions[i])
		is, known := before[key]
		switch {
		case is.running:
		case known && now.Before(is.until):
			if again.IsZero() || is.until.Before(again) {
				again = is.until
			}
		case o.running < most:
			is, known = op{running: true}, true
			o.running++
			start = append(start, actions[i])
		}
		if known {
			o.of[key] = is
		}
	}
	return start, again
}

// done says what came of an action, and returns whether more can be taken at once.
func (o *ops) done(a *slot.Action, err error, now time.Time) (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running--
	switch {
	case err == nil:
		o.probes = 0
	case !now.Before(o.probe):
		o.probe = now.Add(min(firstRetry<<min(o.probes, 10), lastRetry))
		o.probes++
	}
	o.failed = err
	if key := opKeyOf(a); o.of[key].running {
		o.of[key] = op{until: now.Add(repeatAfter)}
	}
	return err == nil && o.running <= maxRunning/2
}

// state returns how many actions are under way, and why the last one failed.
func (o *ops) state() (running int, failed error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.running, o.failed
}

// pool runs functions, as many at once as fit in running and in no order. Safe for concurrent use.
type pool struct {
	running chan struct{}
	all     sync.WaitGroup
}

// run runs f as soon as there is room.
func (p *pool) run(f func()) {
	p.all.Go(func() {
		p.running <- struct{}{}
		defer func() { <-p.running }()
		f()
	})
}

// wait returns when nothing runs and nothing waits.
func (p *pool) wait() { p.all.Wait() }
