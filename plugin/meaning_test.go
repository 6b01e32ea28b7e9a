package plugin_test

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/reserve"
)

// TestReportsOfANewerMeaning: a report of a newer semantic version does not count, whatever its
// numbers, even after one that was understood: the node counts as one without an agent until a report
// is understood again.
func TestReportsOfANewerMeaning(t *testing.T) {
	const counted = `spazio_reports_total{result="unsupported"}`
	c, clock := timed(t, 2)
	newer := func(node string, avail float64) {
		t.Helper()
		s := c.open(c.dial(), node)
		m := api.FromReport(agent.Report{Node: node, Incarnation: 9, Sequence: 9, Avail: avail})
		m.Meaning = 2
		before := c.metric(counted)
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
		if code := s.end(); code != codes.FailedPrecondition {
			t.Errorf("the stream ended with %v", code)
		}
		if got := c.metric(counted) - before; got != 1 {
			t.Errorf("got %g unsupported reports, want 1", got)
		}
	}
	newer(nodeName(0), 5)
	newer(nodeName(0), math.Inf(1)) // not invalid: the next version defines the values
	if got := c.state(nodeName(0)); got.Signal != "missing" || got.Refused == nil || !strings.Contains(got.Refused.Reason, "newer version") {
		t.Errorf("got signal %q, refused %+v", got.Signal, got.Refused)
	}

	understood := c.open(c.dial(), nodeName(1))
	understood.settle(agent.Report{Avail: 3})
	newer(nodeName(1), 7)
	if got := c.state(nodeName(1)); got.Avail != 3 || got.Signal != "fresh" {
		t.Errorf("got avail %g, %s, from an unsupported report", got.Avail, got.Signal)
	}
	clock.advance(reserve.DefaultMaxAge + 1)
	if got := c.state(nodeName(1)).Signal; got != "stale" {
		t.Errorf("got signal %q, renewed by an unsupported report", got)
	}
	again := c.open(c.dial(), nodeName(0))
	again.settle(agent.Report{Avail: 2})
}

// TestFirstMeaning: a report without a version has the first one.
func TestFirstMeaning(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	s := c.open(c.dial(), nodeName(0))
	m := api.FromReport(agent.Report{Node: nodeName(0), Incarnation: 1, Sequence: 1, Avail: 4})
	m.Meaning = 0
	if err := s.Send(m); err != nil {
		t.Fatal(err)
	}
	c.eventually("report seen", func() bool { return c.state(nodeName(0)).Avail == 4 })
}
