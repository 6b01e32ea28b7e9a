//go:build !linux

package agentd

import "time"

// ticker ticks on C as Ticks says.
type ticker struct {
	C     <-chan struct{}
	end   chan struct{}
	ended chan struct{}
}

func newTicker(period time.Duration) (*ticker, error) {
	c := make(chan struct{}, 1)
	t := &ticker{C: c, end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		started, due := time.Now(), Ticks{Period: period}
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

// stop ends the ticks and returns when nothing of them is left.
func (t *ticker) stop() {
	close(t.end)
	<-t.ended
}
