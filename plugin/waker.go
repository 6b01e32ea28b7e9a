package plugin

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

const (
	// roundSpacing is the least time between two rounds: reports that arrive together
	// share one.
	roundSpacing = 5 * time.Millisecond
	// inspection is how often signals are looked at for having turned stale,
	// well below any sensible MaxAge.
	inspection = 250 * time.Millisecond
	// gauging is how often the sums over nodes are made, well below any scrape's
	// interval.
	gauging = time.Second
	// overdueMost is how many pods the slow retry activates at an inspection: it
	// covers what waking missed, which is rare, and must not flood the queue.
	overdueMost = 16
)

// attend starts what the Hub does by itself until ctx ends.
func (h *Hub) attend(ctx context.Context) {
	if h.driven {
		return
	}
	h.tasks.Go(func() { h.wake(ctx) })
	h.tasks.Go(func() { every(ctx, inspection, func() { h.inspect(ctx) }) })
	h.tasks.Go(func() { every(ctx, gauging, func() { h.gauge(h.now()) }) })
	h.tasks.Go(func() { h.markAll(ctx) })
	h.tasks.Go(func() {
		h.certificates()
		every(ctx, readCertificates, h.certificates)
	})
}

// wake runs rounds of activation until ctx ends.
func (h *Hub) wake(ctx context.Context) {
	timer := time.NewTimer(inspection)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.waiting.kick:
		case <-timer.C:
		}
		if again := h.round(ctx); again > 0 {
			timer.Reset(max(again, roundSpacing))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(roundSpacing):
		}
	}
}

// round activates the pods that there are slots for, and returns after how long there is
// more to do; 0 is not before the next rise.
func (h *Hub) round(ctx context.Context) (again time.Duration) {
	activated, again := h.waiting.round(ctx, h.moment())
	if activated > 0 {
		h.metrics.activations(causeRise, activated)
		klog.FromContext(ctx).V(4).Info("Activated waiting pods", "count", activated)
	}
	return again
}

// every calls f once a period until ctx ends.
func every(ctx context.Context, period time.Duration, f func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// inspect finds what no event tells: reports that were held back, signals that
// turned stale, reservations whose bind never came, pods that wait for too long.
func (h *Hub) inspect(ctx context.Context) {
	at := h.moment()
	now := at.Now
	d := h.nodes.list()
	for _, n := range d.nodes {
		if n.view.Load().fresh(now) && n.held.Load() == nil {
			continue // what time changes of a node begins when its report is too old
		}
		n.mu.Lock()
		held, surprises := h.release(n, now)
		changed := h.recountLocked(n, at)
		n.mu.Unlock()
		if held || changed {
			h.waiting.rise(n)
		}
		h.surprised(n.name, surprises)
	}
	h.expire(ctx)
	if now-h.reclassed >= h.retry {
		h.reclassed = now
		h.reclassAll()
	}
	h.waiting.sweep()
	if late := h.waiting.overdue(h.slots.Load(), overdueMost, now); len(late) > 0 {
		h.metrics.activations(causeRetry, len(late))
		activate(ctx, late)
	}
	h.wakeOverdue(ctx, at)
}
