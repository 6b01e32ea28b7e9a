package controller

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

const (
	// burstSeconds' worth of writes may come at once, so that a batch of unknown
	// workloads is priced soon.
	burstSeconds = 4
	// writesOfFirst are those of a profile that is not there: itself and its status.
	writesOfFirst = 2
	// between looks where nothing was heard.
	idle = 100 * time.Millisecond
	// firstPause doubles with each failed write up to the longest.
	firstPause, longestPause = 200 * time.Millisecond, 30 * time.Second
	// oneInFour writes is a checkpoint's where one is due, however much changes.
	oneInFour = 4
)

// writer writes while its replica leads. It is for one goroutine.
type writer struct {
	*Controller
	events   events.EventRecorder
	limit    *rate.Limiter
	turn     int
	acting   int // the actuator that acted last
	failures int
	paused   time.Time
}

func newWriter(c *Controller, recorder events.EventRecorder) *writer {
	burst := max(writesOfFirst, int(burstSeconds*c.config.WriteRate))
	return &writer{Controller: c, events: recorder, limit: rate.NewLimiter(rate.Limit(c.config.WriteRate), burst)}
}

// Start implements manager.Runnable: it is called when this replica has the lease.
func (w *writer) Start(ctx context.Context) error {
	w.logger.Info("this replica holds the lease and writes")
	w.metrics.leader.Set(1)
	ticker := time.NewTicker(idle)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.config.Received:
		case <-ticker.C:
		}
		w.round(ctx)
	}
}

// round writes what is due, as far as the rate goes.
func (w *writer) round(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		if w.limit.TokensAt(now) < writesOfFirst || !w.write(ctx, now) {
			return
		}
	}
}

// write makes one write; false if there is none to make. While profiles can't be written
// what else there is goes on.
func (w *writer) write(ctx context.Context, now time.Time) bool {
	paused := now.Before(w.paused)
	w.turn++
	switch {
	case !paused && w.turn%oneInFour == 0 && w.save(ctx, now):
	case w.turn%oneInFour == oneInFour/2 && w.act(ctx, now):
	case !paused && (w.publish(ctx, now) || w.save(ctx, now)):
	case w.act(ctx, now):
	default:
		return false
	}
	return true
}

// request makes one request that writes, and counts it.
func (w *writer) request(kind string, name types.NamespacedName, verb string, do func() error) error {
	w.limit.Allow()
	err := do()
	result := resultOf(err)
	w.metrics.writes.WithLabelValues(kind, result).Inc()
	if err != nil && result != "conflict" && result != "canceled" {
		w.complain(verb+kind+result, "an object is not written", "verb", verb, "kind", kind, "object", name.String(), "result", result, "error", err)
	}
	return err
}

// after notes whether a write went well: while none does, they come seldom.
func (w *writer) after(now time.Time, err error) {
	if err == nil {
		w.failures = 0
		return
	}
	w.paused = now.Add(min(firstPause<<min(w.failures, 10), longestPause))
	w.failures++
}

// publish writes one update; false if there is none.
func (w *writer) publish(ctx context.Context, now time.Time) bool {
	updates := w.config.Store.Changed(now, 1)
	if len(updates) == 0 {
		return false
	}
	u := updates[0]
	w.objects.begin(objectName(u.Workload))
	defer w.objects.end()
	err := w.update(ctx, u)
	w.after(time.Now(), err)
	if err != nil {
		w.config.Store.Failed(time.Now(), u)
		return true
	}
	w.config.Store.Published(u)
	if !u.Gone && w.exporter != nil {
		w.exporter.add(u)
	}
	return true
}

const (
	profileKind    = "profile"
	checkpointKind = "checkpoint"
)

func (w *writer) update(ctx context.Context, u profiler.Update) error {
	name := objectName(u.Workload)
	if u.Gone {
		return w.delete(ctx, name)
	}
	known, there := w.objects.get(name)
	o := &v1alpha1.WorkloadProfile{}
	o.Namespace, o.Name, o.ResourceVersion = name.Namespace, name.Name, known.version
	o.Spec.Workload, o.Status.Conditions = v1alpha1.Reference(u.Workload), known.conditions
	if !there {
		err := w.request(profileKind, name, "create", func() error { return w.client.Create(ctx, o) })
		if apierrors.IsAlreadyExists(err) {
			err = w.client.Get(ctx, name, o)
		}
		if err != nil {
			return err
		}
		w.objects.keep(o)
	}
	contradicted := w.fill(&o.Status, u)
	err := w.request(profileKind, name, "update", func() error { return w.client.Status().Update(ctx, o) })
	if apierrors.IsConflict(err) {
		if err = w.client.Get(ctx, name, o); err != nil {
			return err
		}
		contradicted = w.fill(&o.Status, u)
		err = w.request(profileKind, name, "update", func() error { return w.client.Status().Update(ctx, o) })
	}
	if err != nil {
		if apierrors.IsNotFound(err) {
			w.objects.lose(name) // it, or all of them
		}
		return err
	}
	w.objects.keep(o)
	if contradicted {
		w.events.Eventf(o, nil, corev1.EventTypeWarning, v1alpha1.Contradicted, "Measure", "three pods in a row took other amounts than predicted for %s: its profile is learnt anew", u.Workload)
	}
	return nil
}

// delete takes a workload's profile away, unless its owner asks something of it.
func (w *writer) delete(ctx context.Context, name types.NamespacedName) error {
	known, there := w.objects.get(name)
	if !there || known.owned {
		return nil
	}
	o := &v1alpha1.WorkloadProfile{}
	o.Namespace, o.Name = name.Namespace, name.Name
	return w.request(profileKind, name, "delete", func() error { return client.IgnoreNotFound(w.client.Delete(ctx, o)) })
}

// save writes one shard of the checkpoints; false if none is due.
func (w *writer) save(ctx context.Context, now time.Time) bool {
	due := w.config.Store.Checkpoints(now, 1)
	if len(due) == 0 {
		return false
	}
	if left := due[0].Left; left > 0 {
		w.complain("left", "a checkpoint has no room for some workloads", "checkpoint", due[0].Number, "workloads", left)
	}
	err := w.keep(ctx, w.checkpointOf(due[0]))
	w.after(time.Now(), err)
	if err != nil {
		w.config.Store.Unsaved(time.Now(), due[0].Number)
	}
	return true
}

// keep writes a checkpoint: a merge patch is one request where there is an object.
func (w *writer) keep(ctx context.Context, o *v1alpha1.WorkloadProfileCheckpoint) error {
	patch, err := json.Marshal(map[string]any{"version": o.Version, "workloads": o.Workloads})
	if err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(o)
	sent := &v1alpha1.WorkloadProfileCheckpoint{ObjectMeta: o.ObjectMeta}
	err = w.client.Patch(ctx, sent, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) {
		w.limit.Allow()
		return w.request(checkpointKind, name, "create", func() error { return w.client.Create(ctx, o) })
	}
	return w.request(checkpointKind, name, "patch", func() error { return err })
}

// actuator writes something else than profiles, of what they say.
type actuator interface {
	// follow keeps up with what it writes to, until ctx ends.
	follow(ctx context.Context)
	// act makes one request that writes, by w; false if there is none to make.
	act(ctx context.Context, w *writer, now time.Time) bool
}

// addActuators makes those that are on.
func (c *Controller) addActuators() error {
	var err error
	if c.config.VPAName != "" {
		a, failed := newAutoscalers(c)
		c.actuators, err = append(c.actuators, a), errors.Join(err, failed)
	}
	if c.config.Resize {
		s, failed := newScalers(c)
		c.scalers, err = s, errors.Join(err, failed)
		c.actuators = append(c.actuators, newResizer(c))
	}
	if c.config.ExportLiqo {
		e, failed := newExporter(c)
		c.exporter, err = e, errors.Join(err, failed)
		c.actuators = append(c.actuators, e)
	}
	return err
}

const (
	// leastBetween and mostBetween bound the time from one look at all objects to the
	// next, which is a hundred times what a look takes: some thousands take seconds.
	leastBetween, mostBetween = time.Second, time.Minute
	lookShare                 = 100
	// leaveFor is how long an object is left alone that could not be written.
	leaveFor = 5 * time.Second
)

// agenda is what an actuator has found to do in a look at all objects. It is for one
// goroutine.
type agenda struct {
	due     time.Time
	pending []types.NamespacedName
	// later is what failed, and is not tried again before.
	later map[types.NamespacedName]time.Time
}

// next is what to do next; look finds anew what there is, in its order.
func (a *agenda) next(now time.Time, look func() []types.NamespacedName) (types.NamespacedName, bool) {
	if len(a.pending) == 0 && !now.Before(a.due) {
		began := time.Now()
		for name, at := range a.later {
			if !now.Before(at) {
				delete(a.later, name)
			}
		}
		for _, name := range look() {
			if _, waits := a.later[name]; !waits {
				a.pending = append(a.pending, name)
			}
		}
		end := time.Now()
		a.due = end.Add(min(max(lookShare*end.Sub(began), leastBetween), mostBetween))
	}
	if len(a.pending) == 0 {
		return types.NamespacedName{}, false
	}
	name := a.pending[0]
	a.pending = a.pending[1:]
	return name, true
}

// failed leaves an object alone for a while.
func (a *agenda) failed(now time.Time, name types.NamespacedName) {
	if a.later == nil {
		a.later = map[types.NamespacedName]time.Time{}
	}
	a.later[name] = now.Add(leaveFor)
}

// act has the actuators write in turn, one request in all.
func (w *writer) act(ctx context.Context, now time.Time) bool {
	for range w.actuators {
		w.acting = (w.acting + 1) % len(w.actuators)
		if w.actuators[w.acting].act(ctx, w, now) {
			return true
		}
	}
	return false
}
