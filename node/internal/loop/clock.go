package loop

import "time"

// newSteadyClock returns the wall clock at its start, advanced by the monotonic
// one: a step of the wall clock makes no interval between two of its times wrong,
// and unlike those of time.Now they can be written to a file and compared again.
func newSteadyClock() func() time.Time {
	started := time.Now()
	return func() time.Time { return started.Round(0).Add(time.Since(started)) }
}

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
