package telemetry_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// Events that come while others are gathered are reported afterwards, also if no event follows.
func TestEventsWhileGathering(t *testing.T) {
	c := newCgroups(t)
	c.dir("kubepods", "besteffort")
	w := c.watch(telemetry.CgroupConfig{Gather: 20 * time.Millisecond})
	w.untilPods()
	var want []string
	for i := range 10 {
		before := w.churns()
		uid := fmt.Sprintf("%08x-1111-2222-3333-444455556666", 2*i)
		c.container(c.dir("kubepods", "besteffort", "pod"+uid), "a", "sh")
		w.until("churn", func(_ []string, churn int) bool { return churn > before })
		// From here to the end of Gather.
		next := fmt.Sprintf("%08x-1111-2222-3333-444455556666", 2*i+1)
		c.container(c.dir("kubepods", "besteffort", "pod"+next), "a", "sh")
		want = append(want, uid, next)
		w.untilPods(want...)
	}
}

// A source that gathers ends at once with its context.
func TestGatheringEnds(t *testing.T) {
	c := newCgroups(t)
	c.dir("kubepods", "besteffort")
	w := c.watch(telemetry.CgroupConfig{Gather: 1000 * time.Hour})
	w.untilPods()
	c.container(c.dir("kubepods", "besteffort", "pod"+uidA), "a", "sh")
	w.until("churn", func(_ []string, churn int) bool { return churn > 0 })
}
