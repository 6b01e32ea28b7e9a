package backend

import "time"

// SetClock sets another clock than time.Now.
func (s *Store) SetClock(now func() time.Time) { s.now = now }
