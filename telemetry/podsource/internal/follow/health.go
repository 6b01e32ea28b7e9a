package follow

import (
	"errors"
	"sync/atomic"
)

// errNoAnswer is that what is followed has not answered yet.
var errNoAnswer = errors.New("no answer yet")

// Health is why there is no answer of what is followed, nil while it is; the zero
// Health has not begun. It is safe for concurrent use.
type Health struct{ err atomic.Pointer[error] }

// Get returns it.
func (h *Health) Get() error {
	if err := h.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (h *Health) set(err error) {
	if err == nil {
		h.err.Store(nil)
		return
	}
	h.err.Store(&err)
}
