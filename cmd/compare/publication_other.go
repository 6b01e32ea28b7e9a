//go:build !linux

package compare

import (
	"os"
	"time"
)

// publication is when the energy in a file was sampled, a moment before it was published.
func publication(path string) (time.Time, error) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
