package demo

import (
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// How often a run is shown: often enough on a terminal to look alive, and as
// lines seldom enough to leave other output readable.
const (
	framePeriod = 250 * time.Millisecond
	linePeriod  = 3 * time.Second
)

// view shows a run while it goes on.
type view struct {
	screen *text.Screen
	frame  func() frame
	ticker *time.Ticker
}

func newView(s *text.Screen, look func() frame) *view {
	period := linePeriod
	if s.Terminal() {
		period = framePeriod
	}
	return &view{screen: s, frame: look, ticker: time.NewTicker(period)}
}

func (v *view) show() {
	if v.screen.Terminal() {
		// A run does not end because it cannot be watched.
		_ = v.screen.Draw(func(_, height int) []string { return v.frame().lines(height) })
	} else {
		v.screen.Printf("%s", v.frame().progress())
	}
}

// finish shows the last state; on a terminal it stays.
func (v *view) finish() {
	v.ticker.Stop()
	v.show()
	v.screen.Release()
}

func (v *view) stop() { v.ticker.Stop() }
