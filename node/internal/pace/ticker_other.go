//go:build !linux

package pace

import "time"

// Ticker ticks on C as Schedule says.
type Ticker struct {
	C     <-chan struct{}
	end   chan struct{}
	ended chan struct{}
}

// NewTicker returns a ticker that has started; the caller must Stop it.
func NewTicker(period time.Duration) (*Ticker, error) {
	c := make(chan struct{}, 1)
	t := &Ticker{C: c, end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		started, due := time.Now(), Schedule{Period: period}
		timer := time.NewTimer(due.Next(0))
		defer timer.Stop()
		for {
			select {
			case <-t.end:
				return
			case <-timer.C:
				timer.Reset(due.Next(time.Since(started)))
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}()
	return t, nil
}

// Stop ends the ticks and returns when nothing of them is left.
func (t *Ticker) Stop() {
	close(t.end)
	<-t.ended
}
