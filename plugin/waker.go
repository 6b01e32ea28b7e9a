package plugin

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// roundSpacing lets reports that arrive together share one round: at 200
	// rounds a second choosing among 10,000 pods stays at some percent of a core.
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

// wake runs rounds of activation until ctx ends, and the inspection of what
// changes by the mere passing of time.
func (h *Hub) wake(ctx context.Context) {
	ticker := time.NewTicker(inspection)
	defer ticker.Stop()
	gauges := time.NewTicker(gauging)
	defer gauges.Stop()
	certificates := time.NewTicker(readCertificates)
	defer certificates.Stop()
	h.certificates()
	timer := time.NewTimer(inspection)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.waiting.kick:
			if wait := roundSpacing - time.Since(last); wait > 0 {
				timer.Reset(wait)
				continue
			}
		case <-timer.C:
		case <-ticker.C:
			h.inspect(ctx)
			continue
		case <-gauges.C:
			h.gauge(h.now())
			continue
		case <-certificates.C:
			h.certificates()
			continue
		}
		last = time.Now()
		activated, again := h.waiting.round(ctx, h.moment())
		if again > 0 {
			timer.Reset(again)
		}
		if activated > 0 {
			h.metrics.activations(causeRise, activated)
			klog.FromContext(ctx).V(4).Info("Activated waiting pods", "count", activated)
		}
	}
}

// inspect finds what no event tells: reports that were held back, signals that
// turned stale, reservations whose bind never came, pods that wait for too long.
func (h *Hub) inspect(ctx context.Context) {
	at := h.moment()
	now := at.Now
	d := h.nodes.list()
	for i, n := range d.nodes {
		if reserve.Validity(d.board[i].validity.Load()).Fresh(now) && n.held.Load() == nil {
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
