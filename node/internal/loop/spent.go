package loop

import "time"

// Spent is CPU time since some moment: what a watchdog's line in the log names
// as possible causes.
type Spent struct {
	// Own is what this process used, Stolen what the hypervisor gave to others,
	// of all CPUs.
	Own, Stolen time.Duration
}

// since is what was spent after before.
func (s Spent) since(before Spent) Spent {
	return Spent{Own: max(0, s.Own-before.Own), Stolen: max(0, s.Stolen-before.Stolen)}
}
