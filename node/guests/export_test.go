package guests

import "time"

// Share runs one round at a time that the test gives instead of Run's clock.
func (s *Sharing) Share(at time.Time) { s.share(at) }
