package plugin_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

const maxAge = reserve.DefaultMaxAge

func (s *stream) beat(sequence, unchanged uint64, age time.Duration) {
	s.c.t.Helper()
	if err := s.Send(api.FromHeartbeat(api.Heartbeat{Sequence: sequence, Unchanged: unchanged, SampleAge: age})); err != nil {
		s.c.t.Fatal(err)
	}
}

// end closes the stream and returns the status code that the scheduler ends it with.
func (s *stream) end() codes.Code {
	s.c.t.Helper()
	if err := s.CloseSend(); err != nil {
		s.c.t.Fatal(err)
	}
	for {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			return codes.OK
		} else if err != nil {
			return status.Code(err)
		}
	}
}

func timed(t *testing.T, nodes int) (*cluster, *clock) {
	clock := newClock()
	c := newCluster(t, setup{nodes: nodes, options: plugin.HubOptions{Now: clock.Now}})
	clock.advance(time.Minute)
	return c, clock
}

// TestHeartbeatsKeepAReport: a heartbeat renews the age of the last report and changes nothing else.
func TestHeartbeatsKeepAReport(t *testing.T) {
	c, clock := timed(t, 1)
	s := c.open(c.dial(), nodeName(0))
	full := agent.Report{
		Incarnation: 3, Sequence: 10, Avail: 4, Allowance: 1, K: 2, Limiting: "memory",
		Pods: []reserve.PodKey{keyOf(7)}, Channels: []agent.ChannelReport{{Name: "memory", Usage: .5}},
	}
	s.settle(full)
	before := c.state(nodeName(0))
	for sequence := uint64(11); sequence < 20; sequence++ {
		clock.advance(maxAge)
		age := time.Duration(sequence) * time.Millisecond
		s.beat(sequence, 10, age)
		c.eventually("the heartbeat arrives", func() bool { return c.state(nodeName(0)).Age == age })
		got := c.state(nodeName(0))
		got.Age = before.Age
		if diff := cmp.Diff(before, got); diff != "" {
			t.Fatalf("a heartbeat changed the node (-before +after):\n%s", diff)
		}
	}
	clock.advance(maxAge)
	if got := c.state(nodeName(0)).Signal; got != "stale" {
		t.Errorf("after the last heartbeat the signal is %s", got)
	}
	if code := s.end(); code != codes.OK {
		t.Errorf("the stream ended with %v", code)
	}
}

// TestHeartbeatsKeepAStream: a stream with heartbeats is not idle. On a slow machine a heartbeat may be
// too late for a short timeout, but not for all of them.
func TestHeartbeatsKeepAStream(t *testing.T) {
	const longest = 16 * time.Second
	for idle := 250 * time.Millisecond; ; idle *= 2 {
		code := beatFor(t, 3*idle, idle)
		if code == codes.OK {
			return
		}
		if idle == longest {
			t.Fatalf("the stream ended with %v, with heartbeats all the time", code)
		}
	}
}

// beatFor sends heartbeats for a span on a stream with an idle timeout and returns the code of its end.
func beatFor(t *testing.T, span, idle time.Duration) codes.Code {
	t.Helper()
	timeout := metav1.Duration{Duration: idle}
	c := newCluster(t, setup{nodes: 1, args: plugin.SpazioArgs{MaxAge: timeout, IdleTimeout: timeout}})
	s := c.open(c.dial(), nodeName(0))
	s.report(agent.Report{Incarnation: 1, Sequence: 1, Avail: 3})
	sequence := uint64(1)
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(idle / 20) {
		sequence++
		// Send fails once the stream has ended; end has the reason.
		if s.Send(api.FromHeartbeat(api.Heartbeat{Sequence: sequence, Unchanged: 1})) != nil {
			break
		}
	}
	return s.end()
}

// TestLateHeartbeatsAreStale: a delayed heartbeat is as old as its sample.
func TestLateHeartbeatsAreStale(t *testing.T) {
	c, clock := timed(t, 1)
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 4, Incarnation: 1, Sequence: 1})
	clock.advance(time.Hour)
	s.beat(2, 1, maxAge+1)
	c.eventually("the heartbeat arrives", func() bool { return c.state(nodeName(0)).Age == maxAge+1 })
	if got := c.state(nodeName(0)).Signal; got != "stale" {
		t.Errorf("the signal is %s", got)
	}
	s.beat(3, 1, maxAge)
	c.eventually("the next is in time", func() bool { return c.state(nodeName(0)).Signal == "fresh" })
}

// TestHeartbeatsOfOtherReports end the stream and renew nothing.
func TestHeartbeatsOfOtherReports(t *testing.T) {
	for _, test := range []struct {
		name string
		want codes.Code
		send func(c *cluster, s *stream)
	}{
		{"before any report", codes.FailedPrecondition, func(c *cluster, s *stream) { s.beat(12, 11, 0) }},
		{"of a report never sent", codes.FailedPrecondition, func(c *cluster, s *stream) {
			s.report(agent.Report{Incarnation: 1, Sequence: 11, Avail: 4})
			s.beat(13, 12, 0)
		}},
		{"of an older report", codes.FailedPrecondition, func(c *cluster, s *stream) {
			s.report(agent.Report{Incarnation: 1, Sequence: 11, Avail: 4})
			s.report(agent.Report{Incarnation: 1, Sequence: 12, Avail: 4})
			s.beat(13, 11, 0)
		}},
		{"of another stream's report", codes.FailedPrecondition, func(c *cluster, s *stream) { s.beat(12, 10, 0) }},
		{"of a report that the scheduler ignored", codes.FailedPrecondition, func(c *cluster, s *stream) {
			s.report(agent.Report{Incarnation: 1, Sequence: 9, Avail: 4})
			s.beat(12, 9, 0)
		}},
		{"of another incarnation", codes.FailedPrecondition, func(c *cluster, s *stream) {
			s.report(agent.Report{Incarnation: 0, Sequence: 10, Avail: 4})
			s.beat(12, 10, 0)
		}},
		{"with a node name", codes.InvalidArgument, func(c *cluster, s *stream) {
			m := api.FromHeartbeat(api.Heartbeat{Sequence: 12, Unchanged: 10})
			m.Node = s.node
			_ = s.Send(m)
		}},
		{"from the past", codes.InvalidArgument, func(c *cluster, s *stream) {
			s.report(agent.Report{Incarnation: 1, Sequence: 11, Avail: 4})
			_ = s.Send(&spaziov1.Report{Sequence: 10, Unchanged: 11})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, clock := timed(t, 1)
			client := c.dial()
			first, s := c.open(client, nodeName(0)), c.open(client, nodeName(0))
			first.settle(agent.Report{Incarnation: 1, Sequence: 10, Avail: 3})
			clock.advance(maxAge / 2)
			test.send(c, s)
			if code := s.end(); code != test.want {
				t.Errorf("the stream ended with %v, want %v", code, test.want)
			}
			clock.advance(maxAge/2 + 1)
			if got := c.state(nodeName(0)); got.Avail == 3 && got.Signal == "fresh" {
				t.Errorf("got a fresh report of age %v from the first stream", got.Age)
			}
		})
	}
}

// TestHeartbeatsOfARecreatedNode: after the API's node was deleted and created again, heartbeats of the
// former node's report do not count.
func TestHeartbeatsOfARecreatedNode(t *testing.T) {
	c, _ := timed(t, 1)
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Incarnation: 1, Sequence: 1, Avail: 3})
	nodes := c.client.CoreV1().Nodes()
	if err := nodes.Delete(context.Background(), nodeName(0), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is gone", func() bool { return c.state(nodeName(0)).Node == "" })
	if _, err := nodes.Create(context.Background(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(0)}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is back", func() bool { return c.state(nodeName(0)).Signal == "missing" })
	s.beat(2, 1, 0)
	if code := s.end(); code != codes.FailedPrecondition {
		t.Errorf("the stream ended with %v", code)
	}
	if got := c.state(nodeName(0)).Signal; got != "missing" {
		t.Errorf("the signal is %s", got)
	}
}

// TestHeartbeatsKeepTheOrder: a report older than the newest heartbeat is too late.
func TestHeartbeatsKeepTheOrder(t *testing.T) {
	c, clock := timed(t, 1)
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Incarnation: 1, Sequence: 10, Avail: 3})
	clock.advance(time.Second)
	s.beat(15, 10, 0)
	c.eventually("the heartbeat arrives", func() bool { return c.state(nodeName(0)).Age == 0 })
	clock.advance(time.Second)
	s.beat(15, 10, 0) // a repetition
	s.beat(14, 10, 0)
	other := c.open(client, nodeName(0))
	other.report(agent.Report{Incarnation: 1, Sequence: 14, Avail: 9})
	if code := other.end(); code != codes.OK {
		t.Errorf("the other stream ended with %v", code)
	}
	if code := s.end(); code != codes.OK {
		t.Errorf("the stream ended with %v", code)
	}
	if got := c.state(nodeName(0)); got.Avail != 3 || got.Age != time.Second {
		t.Errorf("got avail %v at age %v", got.Avail, got.Age)
	}
	again := c.open(client, nodeName(0))
	again.settle(agent.Report{Incarnation: 1, Sequence: 16, Avail: 5})
}

// TestHeartbeatsAreLimited: heartbeats count towards a node's rate as reports do, and renew a report
// that is held back.
func TestHeartbeatsAreLimited(t *testing.T) {
	c, clock := timed(t, 1)
	s := c.open(c.dial(), nodeName(0))
	s.report(agent.Report{Incarnation: 1, Sequence: 1, Avail: 1})
	for i := range uint64(40 - 1) {
		s.beat(i+2, 1, 0)
	}
	const base = 1000
	s.report(agent.Report{Incarnation: 1, Sequence: base, Avail: 7}) // over the limit
	s.beat(base+1, base, time.Millisecond)
	s.beat(base+2, base, 2*time.Millisecond)
	if code := s.end(); code != codes.OK {
		t.Fatalf("the stream ended with %v", code)
	}
	if got := c.state(nodeName(0)).Avail; got != 1 {
		t.Errorf("after the burst: got avail %v", got)
	}
	clock.advance(time.Second)
	c.eventually("the report takes effect", func() bool { return c.state(nodeName(0)).Avail == 7 })
	if got, want := c.state(nodeName(0)).Age, time.Second+2*time.Millisecond; got != want {
		t.Errorf("got age %v, want %v", got, want)
	}
}

// TestHeartbeatWakesPods: after a silence the node has room again.
func TestHeartbeatWakesPods(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{
		nodes: 1, options: plugin.HubOptions{Now: clock.Now},
		args: plugin.SpazioArgs{StalePolicy: reserve.Reject.String(), RetryPeriod: metav1.Duration{Duration: 1000 * time.Hour}},
	})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Incarnation: 1, Sequence: 1, Avail: 3})
	clock.advance(maxAge + 1)
	c.arrive(newPod(1))
	if _, status := c.schedule(newPod(1), c.infos); status.IsSuccess() {
		t.Fatal("a silent node admitted a pod")
	}
	c.woken()
	polls, sequence := 0, uint64(1)
	c.eventually("the pod is woken", func() bool {
		switch polls++; polls % 100 {
		case 1: // long enough before the heartbeat for the scheduler to notice the silence
			clock.advance(maxAge + 1)
		case 0:
			sequence++
			s.beat(sequence, 1, 0)
		}
		return c.peek()["pod-1"]
	})
}
