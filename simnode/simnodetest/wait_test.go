package simnodetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spazio-scheduler/spazio/simnode/simnodetest"
)

// TestEventually: what takes long is looked at less and less often, and seen within a
// twentieth of the time that it took.
func TestEventually(t *testing.T) {
	for took, most := range map[time.Duration]int{0: 1, 10 * time.Millisecond: 6, time.Second: 100, time.Minute: 2500} {
		synctest.Test(t, func(t *testing.T) {
			began, looks := time.Now(), 0
			simnodetest.Eventually(t, "time goes by", func() (bool, any) {
				looks++
				return time.Since(began) >= took, looks
			})
			if late := time.Since(began) - took; looks > most || late > max(took/20, 2*time.Millisecond) {
				t.Errorf("%v: %d looks, the last %v late", took, looks, late)
			}
		})
	}
}
