package guests

import "time"

// Share is one round at a time that Run did not take from its clock.
func (s *Sharing) Share(at time.Time) { s.share(at) }
