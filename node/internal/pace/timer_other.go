//go:build !linux

package pace

import "time"

// Timer sends on C when its time has come.
type Timer struct {
	C     <-chan struct{}
	timer *time.Timer
}

// NewTimer returns a timer that is not set; the caller must Close it.
func NewTimer() (*Timer, error) {
	c := make(chan struct{}, 1)
	t := &Timer{C: c, timer: time.AfterFunc(time.Hour, func() {
		select {
		case c <- struct{}{}:
		default: // the receiver has yet to take the one before
		}
	})}
	t.timer.Stop()
	return t, nil
}

// Reset has the timer send after so long, and not when it was to before. What it has sent
// already stays in C.
func (t *Timer) Reset(after time.Duration) { t.timer.Reset(after) }

// Close ends the timer. Reset must not follow.
func (t *Timer) Close() { t.timer.Stop() }
