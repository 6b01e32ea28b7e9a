//go:build !linux

package node

import (
	"time"
)

// ticker ticks as a schedule determines.
type ticker struct {
	started time.Time
	due     schedule
	end     chan struct{}
	ended   chan struct{}
}

// newTicker returns a ticker that has started; the caller must stop it.
func newTicker(period time.Duration) (*ticker, error) {
	return &ticker{started: time.Now(), due: schedule{Period: period}, end: make(chan struct{}), ended: make(chan struct{})}, nil
}

// run calls tick at each tick until stop. While tick takes its time one tick waits and
// others are lost. run is called once.
func (t *ticker) run(tick func()) {
	defer close(t.ended)
	timer := time.NewTimer(t.due.next(time.Since(t.started)))
	defer timer.Stop()
	for {
		select {
		case <-t.end:
			return
		case <-timer.C:
			timer.Reset(t.due.next(time.Since(t.started)))
			tick()
		}
	}
}

// stop ends the ticks and returns when none is under way; tick itself must not call it.
func (t *ticker) stop() {
	close(t.end)
	<-t.ended
}
