package simnode

import "time"

// Clock maps the wall clock to virtual time: virtual = epoch + scale · elapsed.
// It is a plain value, safe for concurrent use. The zero Clock is the wall
// clock itself.
type Clock struct {
	epoch time.Time
	scale float64
}

// NewClock returns a clock that shows epoch at the moment epoch and runs scale
// times as fast as the wall clock from there. A scale of 0 means 1.
func NewClock(epoch time.Time, scale float64) Clock {
	return Clock{epoch: epoch, scale: scale}
}

// Now returns the virtual time.
func (c Clock) Now() time.Time {
	if c.Scale() == 1 {
		return time.Now()
	}
	return c.Virtual(time.Now())
}

// Virtual returns the virtual time at a moment of the wall clock.
func (c Clock) Virtual(wall time.Time) time.Time {
	if c.Scale() == 1 {
		return wall
	}
	return c.epoch.Add(time.Duration(float64(wall.Sub(c.epoch)) * c.scale))
}

// Scale returns how many virtual seconds pass in one second.
func (c Clock) Scale() float64 {
	if c.scale == 0 {
		return 1
	}
	return c.scale
}

// Wall returns how long the virtual span d takes on the wall clock.
func (c Clock) Wall(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.Scale())
}
