package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

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
