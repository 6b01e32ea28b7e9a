package recording

import "time"

// Mark records a remark, which recordings of other programs may have, of which the first 256 bytes
// are kept.
func (r *Recorder) Mark(at time.Time, text string) {
	if r.ready(at) {
		r.payload = appendText(r.payload[:0], KindMark, at, text)
		r.add()
	}
}

// WithFlush returns o with another time between two writes than the default.
func (o Options) WithFlush(d time.Duration) Options {
	o.flush = d
	return o
}
