package compare

import (
	"time"

	"golang.org/x/sys/unix"
)

// publication is when a file was put in its place: its mtime says when the energy in it was
// sampled.
func publication(path string) (time.Time, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return time.Time{}, err
	}
	return time.Unix(s.Ctim.Unix()), nil
}
