package node

import "time"

// steadyClock is the wall clock at its start, advanced by the monotonic one: a
// step of the wall clock makes no interval between two of its times wrong, and
// unlike those of time.Now they can be written to a file and compared again.
type steadyClock struct{ started time.Time }

func newSteadyClock() steadyClock { return steadyClock{time.Now()} }

// Now returns the time.
func (c steadyClock) Now() time.Time { return c.started.Round(0).Add(time.Since(c.started)) }

// Wall returns d: the clock runs as fast as the wall clock.
func (steadyClock) Wall(d time.Duration) time.Duration { return d }

// maxStep is how far the wall clock may get ahead of the steady one between two
// samples before the sample is dropped.
const maxStep = time.Second

// clocks are the times of a sample: the pipeline's and the wall clock's.
type clocks struct{ at, wall time.Time }

// step is how much farther the wall clock came than the steady one since an
// earlier sample.
func (c clocks) step(since clocks) time.Duration {
	if since.at.IsZero() {
		return 0
	}
	return c.wall.Sub(since.wall) - c.at.Sub(since.at)
}
