package telemetry

import (
	"os"
	"sync"
	"time"
)

// speedFile reads the speed of a link aside: the kernel gives it under the lock
// that pods' networks are set up with and keeps the reader until that is free,
// which may take seconds. One read is under way at most.
type speedFile struct {
	path  string
	aside *sync.WaitGroup
	// answer is of the read under way, nil while there is none.
	answer chan linkSpeed
}

// linkSpeed is what a read returned, in bytes/s, 0 if the driver does not show it. It
// was asked at a count of carrier changes.
type linkSpeed struct {
	whole   float64
	changes uint64
}

// read returns the speed and the count of carrier changes that it is of, unless
// that takes longer than patience: then a later call does.
func (f *speedFile) read(changes uint64, patience time.Duration) (whole float64, of uint64, ok bool) {
	if f.answer == nil {
		answer, path := make(chan linkSpeed, 1), f.path
		f.answer = answer
		f.aside.Add(1)
		go func() {
			defer f.aside.Done()
			answer <- linkSpeed{readSpeed(path), changes}
		}()
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case speed := <-f.answer:
		f.answer = nil
		return speed.whole, speed.changes, true
	case <-timer.C:
		return 0, 0, false
	}
}

func readSpeed(path string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	speed, _, _ := parseLinkSpeed(text)
	return speed
}
