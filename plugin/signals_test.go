package plugin_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

func klogr() klog.Logger { return klog.Background() }

func TestStreamsRefuseInvalidReports(t *testing.T) {
	c := newCluster(t, setup{nodes: 2})
	client := c.dial()
	for _, test := range []struct {
		name    string
		reports []agent.Report
	}{
		{"unknown node", []agent.Report{{Node: "elsewhere", Avail: 3}}},
		{"no node", []agent.Report{{Avail: 3}}},
		{"NaN", []agent.Report{{Node: nodeName(0), Avail: math.NaN()}}},
		{"infinite", []agent.Report{{Node: nodeName(0), Avail: math.Inf(1)}}},
		{"negative allowance", []agent.Report{{Node: nodeName(0), Allowance: -1}}},
		{"two nodes", []agent.Report{{Node: nodeName(0), Avail: 1}, {Node: nodeName(1), Avail: 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := c.open(client, "")
			for _, r := range test.reports {
				s.report(r)
			}
			_, err := s.Recv()
			if got := status.Code(err); got != codes.InvalidArgument {
				t.Errorf("got code %v: %v", got, err)
			}
		})
	}
	if got := c.state(nodeName(1)).Signal; got != "missing" {
		t.Errorf("second node: got signal %q", got)
	}
}

// TestRefusedReportsAreShown with the node whose agent sent them, shortened, until a report counts.
func TestRefusedReportsAreShown(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now}})
	client := c.dial()
	refuse := func(reports ...agent.Report) {
		t.Helper()
		s := c.open(client, "")
		for _, r := range reports {
			s.report(r)
		}
		if _, err := s.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Fatalf("the stream ended with %v", err)
		}
	}
	refuse(agent.Report{Node: nodeName(0), Avail: math.NaN()})
	got := c.state(nodeName(0)).Refused
	if got == nil || !got.At.Equal(clock.Now()) || !strings.Contains(got.Reason, "NaN") {
		t.Fatalf("report with NaN: got %+v", got)
	}
	if got := c.state(nodeName(1)).Refused; got != nil {
		t.Errorf("report of another node: got %+v", got)
	}
	refuse(agent.Report{Node: nodeName(0), Limiting: strings.Repeat("é", 10_000)})
	if got := c.state(nodeName(0)).Refused; got == nil || len(got.Reason) > 210 || !utf8.ValidString(got.Reason) {
		t.Errorf("report of maximal length: got %+v", got)
	}
	clock.advance(time.Second)
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 1})
	if got := c.state(nodeName(0)).Refused; got != nil {
		t.Errorf("after a valid report: got %+v", got)
	}
	clock.advance(time.Second)
	refuse(agent.Report{Node: nodeName(1), Avail: 1}, agent.Report{Node: nodeName(0), Avail: 1})
	if got := c.state(nodeName(1)).Refused; got == nil || !strings.Contains(got.Reason, nodeName(0)) {
		t.Errorf("stream of two nodes: got %+v", got)
	}
}

func TestNewestReportWins(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
	s := c.open(c.dial(), nodeName(0))
	send := func(incarnation, sequence uint64, avail float64) {
		s.report(agent.Report{Incarnation: incarnation, Sequence: sequence, Avail: avail, SampledAt: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)})
	}
	expect := func(want float64) {
		t.Helper()
		// A stream is processed in order: once the last report counts, all were processed.
		c.eventually("the avail arrives", func() bool { return c.state(nodeName(0)).Avail == want })
	}
	send(5, 10, 1)
	send(5, 9, 2)
	send(5, 10, 3)
	send(4, 99, 4)
	send(5, 11, 5)
	expect(5)
	send(6, 1, 6)
	send(5, 12, 7)
	send(6, 2, 8)
	expect(8)
	// Its report is stale, so a node whose clock was set back may start again.
	clock.advance(reserve.DefaultMaxAge + 1)
	send(1, 1, 9)
	expect(9)
}

// TestOldSamplesAreNotFresh: the age of a delayed report counts from its sample.
func TestOldSamplesAreNotFresh(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
	clock.advance(time.Minute)
	s := c.open(c.dial(), nodeName(0))
	expect := func(want string, age time.Duration) {
		t.Helper()
		if got := c.state(nodeName(0)); got.Signal != want || got.Age != age {
			t.Errorf("got signal %s at age %v, want %s at %v", got.Signal, got.Age, want, age)
		}
	}
	arrive := func(avail float64, age time.Duration) {
		t.Helper()
		s.next++
		m := api.FromReport(agent.Report{Node: s.node, Incarnation: 1, Sequence: s.next, Avail: avail})
		m.SampleAgeNanos = age.Nanoseconds()
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
		c.eventually("the report arrives", func() bool { return c.state(nodeName(0)).Avail == avail })
	}
	arrive(3, reserve.DefaultMaxAge-time.Second)
	expect("fresh", reserve.DefaultMaxAge-time.Second)
	clock.advance(time.Second + 1)
	expect("stale", reserve.DefaultMaxAge+1)
	arrive(2, time.Hour) // older than the scheduler
	expect("stale", time.Hour)
	arrive(1.5, math.MaxInt64) // an age that overflows is not in the future
	expect("stale", 366*24*time.Hour)
	arrive(1, 0)
	expect("fresh", 0)
}

func TestAgentIsNotifiedOfBinds(t *testing.T) {
	c := newCluster(t, setup{nodes: 2})
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 3})
	other := c.open(client, nodeName(1))
	other.settle(agent.Report{Avail: 0})
	expectBind := func(want reserve.PodKey, inits uint32) {
		t.Helper()
		notice, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got := reserve.PodKey(notice.GetPodBound().GetPod()); got != want {
			t.Errorf("notice of %x, want %x", got, want)
		}
		if got := notice.GetPodBound().InitContainers; got == nil || *got != inits {
			t.Errorf("notice of %v init containers, want %d", got, inits)
		}
	}
	node, st := c.schedule(newPod(1), c.infos)
	if !st.IsSuccess() {
		t.Fatal(st)
	}
	c.PostBind(t.Context(), &cycleState{}, newPod(1), node)
	expectBind(keyOf(1), 0)
	// The API's event of the same bind sends no second notice; another scheduler's bind does.
	c.create(newPod(1, onNode(node)), newPod(2, onNode(node), withInits(2)))
	expectBind(keyOf(2), 2)
}

func TestSlowReaderIsDropped(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 3})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200000 {
			c.PostBind(t.Context(), &cycleState{}, newPod(i), nodeName(0))
		}
	}()
	<-done
	for {
		if _, err := s.Recv(); err != nil {
			if got := status.Code(err); got != codes.ResourceExhausted {
				t.Errorf("stream ended with %v: %v", got, err)
			}
			return
		}
	}
}

func TestIdleStreamsAreClosed(t *testing.T) {
	short := metav1.Duration{Duration: 50 * time.Millisecond}
	c := newCluster(t, setup{nodes: 1, args: plugin.SpazioArgs{MaxAge: short, IdleTimeout: short}})
	client := c.dial()
	silent, once := c.open(client, nodeName(0)), c.open(client, nodeName(0))
	_ = once.Send(api.FromReport(once.complete(agent.Report{Avail: 3}))) // it may be idle even before on a loaded machine
	for name, s := range map[string]*stream{"silent": silent, "once": once} {
		if _, err := s.Recv(); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("stream %s ended with %v", name, err)
		}
	}
}

func TestNewestStreamWins(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	client := c.dial()
	first, late, second := c.open(client, nodeName(0)), c.open(client, nodeName(0)), c.open(client, nodeName(0))
	first.settle(agent.Report{Incarnation: 2, Sequence: 5, Avail: 3})
	// Its report is old, so it changes nothing.
	late.report(agent.Report{Incarnation: 2, Sequence: 4, Avail: 9})
	if err := late.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the late stream ended with %v", err)
	}
	c.PostBind(t.Context(), &cycleState{}, newPod(1), nodeName(0))
	if notice, err := first.Recv(); err != nil || reserve.PodKey(notice.GetPodBound().GetPod()) != keyOf(1) {
		t.Errorf("first stream: got notice %v, %v", notice, err)
	}
	second.settle(agent.Report{Incarnation: 3, Sequence: 1, Avail: 1})
	if _, err := first.Recv(); status.Code(err) != codes.Aborted {
		t.Errorf("the first stream ended with %v", err)
	}
	c.PostBind(t.Context(), &cycleState{}, newPod(2), nodeName(0))
	if notice, err := second.Recv(); err != nil || reserve.PodKey(notice.GetPodBound().GetPod()) != keyOf(2) {
		t.Errorf("second stream: got notice %v, %v", notice, err)
	}
}

// TestReportsAreLimited: excess reports of a burst have no effect, except the newest, which is applied
// later.
func TestReportsAreLimited(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now}})
	client := c.dial()
	s := c.open(client, nodeName(0))
	for i := range 100 {
		s.report(agent.Report{Avail: float64(i + 1)})
	}
	s.report(agent.Report{Incarnation: 1, Sequence: 50, Avail: 1000})
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if got := c.state(nodeName(0)).Avail; got != 40 {
		t.Errorf("after the burst: got avail %v, want that of report %d", got, 40)
	}
	// Another node is not affected.
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 7})
	clock.advance(time.Second)
	c.eventually("the newest report takes effect", func() bool { return c.state(nodeName(0)).Avail == 100 })
	// The next report is applied without delay.
	c.open(client, nodeName(0)).settle(agent.Report{Incarnation: 1, Sequence: 101, Avail: 5})
}

func TestShutdownEndsStreams(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 3})
	c.stop()
	if _, err := s.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("stream ended with %v", err)
	}
	c.hub.Wait()
}

func TestMirrorAndTerminalPodsAreNotInFlight(t *testing.T) {
	mirror := newPod(1, onNode(nodeName(0)), func(p *v1.Pod) { p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"} })
	done := newPod(2, onNode(nodeName(0)), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })
	crashing := newPod(3, onNode(nodeName(0)), func(p *v1.Pod) {
		p.Status.Phase = v1.PodRunning
		p.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: 7}}
	})
	fresh := newPod(4, onNode(nodeName(0)))
	c := newCluster(t, setup{nodes: 1})
	c.create(mirror, done, crashing, fresh)
	c.eventually("the bound pod is in flight", func() bool { return c.state(nodeName(0)).InFlight == 1 })
	want := reserve.Census{Bound: 1, Confirmed: 1}
	c.eventually("only live pods are tracked", func() bool { return c.hub.Ledger() == want })
}
