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

// newTicker returns a ticker that has started; the caller must Stop it.
func newTicker(period time.Duration) (*ticker, error) {
	return &ticker{started: time.Now(), due: schedule{Period: period}, end: make(chan struct{}), ended: make(chan struct{})}, nil
}

// Run calls tick at each tick until Stop. While tick takes its time one tick waits and
// others are lost. Run is called once.
func (t *ticker) Run(tick func()) {
	defer close(t.ended)
	timer := time.NewTimer(t.due.Next(time.Since(t.started)))
	defer timer.Stop()
	for {
		select {
		case <-t.end:
			return
		case <-timer.C:
			timer.Reset(t.due.Next(time.Since(t.started)))
			tick()
		}
	}
}

// Stop ends the ticks and returns when none is under way; tick itself must not call it.
func (t *ticker) Stop() {
	close(t.end)
	<-t.ended
}
