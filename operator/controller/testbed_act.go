package controller

import (
	"context"
	"maps"
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

// backlogPeriod is how often the backlog is logged.
const backlogPeriod = 5 * time.Second

func sameAllotment(a, b allotment) bool {
	return maps.Equal(a.nodes, b.nodes) && maps.Equal(a.lost, b.lost)
}

// act has placeholders created and deleted. It does not wait for the API server's answers.
func (r *testbeds) act(s *testbedState, o *observation, out *outcome, now time.Time) {
	actions, due := s.table.Diff(now)
	out.wake(due)
	if o.testbed.DeletionTimestamp != nil {
		// Of what goes, nothing is made anew.
		actions = slices.DeleteFunc(actions, func(a slot.Action) bool { return a.Op == slot.CreatePlaceholder })
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
				r.logger.Warn("a slot's pod is not changed", "what", string(a.Op), "why", a.Reason,
					"testbed", name.String(), "slot", a.Slot.String(), "error", err)
				r.wake(name, firstRetry)
			case more:
				r.wake(name, soon)
			}
		})
	}
	if len(actions) > 0 && now.Sub(s.logged) >= backlogPeriod {
		if !s.logged.IsZero() {
			c := s.table.Counts()
			r.logger.Info("slots are being prepared", "testbed", client.ObjectKeyFromObject(o.testbed).String(),
				"slots", c.Slots(), "pending", c[slot.Pending], "todo", len(actions))
		}
		s.logged = now
	}
	if len(actions) == 0 {
		s.logged = time.Time{}
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
	// unseen is after what time an action is carried out again whose effect no watch has
	// shown: far longer than one lags.
	unseen = 10 * time.Second
	// firstRetry and lastRetry bound the time until what failed is tried again, and until
	// others are while all fails.
	firstRetry, lastRetry = time.Second, 30 * time.Second
)

// opKey is what makes two actions one.
type opKey struct {
	op        slot.Op
	slot      slot.ID
	uid, size string
}

func opKeyOf(a *slot.Action) opKey { return opKey{a.Op, a.Slot, a.UID, a.Size} }

// op is what came of an action so far.
type op struct {
	running bool
	// until is when it may be carried out again.
	until    time.Time
	failures int
}

// ops are the actions of a Testbed that are under way, or were carried out and are not
// seen to have worked. An action stands in a Diff until its effect is observed; ops keep
// it from being asked for meanwhile, and from being asked for too often. Safe for
// concurrent use. The zero value has none.
type ops struct {
	mu      sync.Mutex
	of      map[opKey]*op
	running int
	// failed is the error of the action that was refused last, nil once one has worked;
	// nothing is tried before probe then, which is put off each of the probes times.
	failed error
	probe  time.Time
	probes int
}

// take returns which of the actions to carry out now, in their order, and when to ask
// again; zero is when one of those has been done, or never. Each of them must be handed
// to done.
func (o *ops) take(actions []slot.Action, now time.Time) (start []slot.Action, again time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.prune(actions)
	most := maxRunning
	switch {
	case o.failed != nil && now.Before(o.probe):
		most, again = 0, o.probe
	case o.failed != nil:
		most = maxProbes
	}
	for i := range actions {
		key := opKeyOf(&actions[i])
		before := o.of[key]
		switch {
		case before != nil && before.running:
		case before != nil && now.Before(before.until):
			if again.IsZero() || before.until.Before(again) {
				again = before.until
			}
		case o.running < most:
			if before == nil {
				before = &op{}
				o.of[key] = before
			}
			before.running = true
			o.running++
			start = append(start, actions[i])
		}
	}
	return start, again
}

// prune forgets what is wanted no more: its effect was observed, or something else is
// wanted.
func (o *ops) prune(actions []slot.Action) {
	wanted := make(map[opKey]*op, len(actions))
	for i := range actions {
		key := opKeyOf(&actions[i])
		if before := o.of[key]; before != nil {
			wanted[key] = before
		}
	}
	o.of = wanted
}

// done says what came of an action, and returns whether more can be taken at once.
func (o *ops) done(a *slot.Action, err error, now time.Time) (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running--
	switch {
	case err != nil && !now.Before(o.probe):
		o.probe = now.Add(backoff(o.probes))
		o.probes++
	case err == nil && o.failed != nil:
		o.probe, o.probes = time.Time{}, 0
		for _, other := range o.of {
			if !other.running && other.failures > 0 {
				*other = op{}
			}
		}
	}
	o.failed = err
	if before := o.of[opKeyOf(a)]; before != nil {
		before.running = false
		if err == nil {
			before.until, before.failures = now.Add(unseen), 0
		} else {
			before.until = now.Add(backoff(before.failures))
			before.failures++
		}
	}
	return err == nil && o.running <= maxRunning/2
}

// backoff is how long to wait after so many failures before.
func backoff(failures int) time.Duration { return min(firstRetry<<min(failures, 10), lastRetry) }

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
