package plugin

import (
	"sync"

	"github.com/spazio-scheduler/spazio/reserve"
)

// pulse notices when the scheduler's process stood still: the inspection alone
// looks at the clock several times a second. Safe for concurrent use; the zero
// value begins at the Hub's start.
type pulse struct {
	mu   sync.Mutex
	last reserve.Moment
}

// moment is the time of a decision that is made now.
func (h *Hub) moment() reserve.Moment {
	h.pulse.mu.Lock()
	defer h.pulse.mu.Unlock()
	h.pulse.last = h.rules.freshness.Resume(h.pulse.last, h.now())
	return h.pulse.last
}
