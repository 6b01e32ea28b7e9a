package plugin

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

const (
	// roundSpacing lets reports that arrive together share one round: at 200
	// rounds a second choosing among 10,000 pods stays at some percent of a core.
	roundSpacing = 5 * time.Millisecond
	// A round that activated pods is repeated after firstRepeat, and if it meets
	// the same pods after twice that and so on up to lastRepeat: an attempt takes
	// milliseconds on an idle scheduler, and activating a pod that is still queued
	// does nothing. Pods whose turn has just come start over, so that many which
	// something else holds cannot keep the others from a free slot for long.
	firstRepeat = 10 * time.Millisecond
	lastRepeat  = time.Second
	// inspection is how often signals are looked at for having turned stale,
	// well below any sensible MaxAge.
	inspection = 250 * time.Millisecond
)

// wake runs rounds of activation until ctx ends, and the inspection of what
// changes by the mere passing of time.
func (h *Hub) wake(ctx context.Context) {
	ticker := time.NewTicker(inspection)
	defer ticker.Stop()
	timer := time.NewTimer(lastRepeat)
	defer timer.Stop()
	var last time.Time
	pause := firstRepeat
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.waiting.kick:
			pause = firstRepeat
			if wait := roundSpacing - time.Since(last); wait > 0 {
				timer.Reset(wait)
				continue
			}
		case <-timer.C:
		case <-ticker.C:
			h.inspect(ctx)
			continue
		}
		last = time.Now()
		activated, fresh := h.waiting.round(ctx, h.slots.Load(), h.now())
		if activated == 0 {
			continue
		}
		h.metrics.activations(causeRise, activated)
		klog.FromContext(ctx).V(4).Info("Activated waiting pods", "count", activated)
		if fresh {
			pause = firstRepeat
		}
		timer.Reset(pause)
		pause = min(2*pause, lastRepeat)
	}
}

// inspect finds what no event tells: reports that were held back, signals that
// turned stale, reservations whose bind never came, pods that wait for too long.
func (h *Hub) inspect(ctx context.Context) {
	now := h.now()
	risen := 0
	for _, n := range h.nodes.list().nodes {
		n.mu.Lock()
		held := h.release(n, now)
		change := n.recount(&h.rules, n.view.Load(), now)
		n.mu.Unlock()
		h.slots.Add(int64(change))
		risen += max(held, 0) + max(change, 0)
	}
	for _, name := range h.ledger.Expire(h.clock()) {
		h.metrics.correction(correctionExpired)
		klog.FromContext(ctx).Info("Reservation expired without a bind", "node", name)
		if n := h.nodes.get(name); n != nil {
			h.refresh(n)
		}
	}
	if risen > 0 {
		h.waiting.rise(risen)
	}
	if h.slots.Load() > 0 {
		if late := h.waiting.overdue(h.retry, now); len(late) > 0 {
			h.metrics.activations(causeRetry, len(late))
			activate(ctx, late)
		}
	}
	h.dropGone()
	h.gauge(now)
}
