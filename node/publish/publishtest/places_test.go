package publishtest_test

import (
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/node/publish/publishtest"
	"github.com/spazio-scheduler/spazio/reserve"
)

// scheduler passes on the reports that it receives.
type scheduler struct {
	spaziov1.UnimplementedSignalServiceServer
	reports chan agent.Report
	ended   chan struct{} // one item for each stream that ended
}

func (s *scheduler) Publish(stream grpc.BidiStreamingServer[spaziov1.Report, spaziov1.Notice]) error {
	defer func() { s.ended <- struct{}{} }()
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		r, err := api.ToReport(m)
		if err != nil {
			return err
		}
		select {
		case s.reports <- r:
		case <-stream.Context().Done():
		}
	}
}

func startScheduler(t *testing.T) (s *scheduler, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = &scheduler{reports: make(chan agent.Report), ended: make(chan struct{}, 10)}
	server := grpc.NewServer()
	spaziov1.RegisterSignalServiceServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, listener.Addr().String()
}

// until returns the first report that satisfies the condition.
func (s *scheduler) until(so func(agent.Report) bool) agent.Report {
	for {
		if r := <-s.reports; so(r) {
			return r
		}
	}
}

// Reports follow the node: its places, its running pods, its memory.
func TestPlaces(t *testing.T) {
	s, address := startScheduler(t)
	node := publishtest.NewPlaces("a", 4)
	node.SetRunning([]string{"old"})
	if err := node.StartAgent(publish.SignalsConfig{Targets: []string{address}}); err != nil {
		t.Fatal(err)
	}
	defer node.KillAgent()
	first := s.until(func(agent.Report) bool { return true })
	if first.Node != "a" || node.Name() != "a" || first.Avail != 3 || first.K != 4 || first.Saturated || len(first.Channels) > 0 {
		t.Errorf("first report %+v", first)
	}
	running := []string{"x", "y"}
	node.SetRunning(running)
	running[0] = "z" // the node keeps its own copy
	node.SetMemory(8)
	before := node.Set(7, true)
	r := s.until(func(r agent.Report) bool { return r.Saturated })
	want := []reserve.PodKey{reserve.KeyOf("x"), reserve.KeyOf("y")}
	slices.Sort(want)
	if diff := cmp.Diff(want, r.Pods); diff != "" || r.Avail != 5 || r.K != 7 || r.SampledAt.Before(before) || node.Places() != 7 {
		t.Errorf("%+v (-want +got):\n%s", r, diff)
	}
	if len(r.Channels) != 2 || r.Channels[1].Name != agent.Memory || r.Channels[1].Cost != 1./8 || r.Channels[1].Usage != .5 || r.Limiting != agent.CPU {
		t.Errorf("channels %+v", r.Channels)
	}
	// The stream continues without a change.
	later := s.until(func(other agent.Report) bool { return other.Sequence > r.Sequence })
	if later.Incarnation != first.Incarnation || later.Avail != 5 || node.LastReport().Sequence < later.Sequence {
		t.Errorf("%+v after %+v", later, r)
	}
}

// A killed agent sends nothing, and its successor has another incarnation.
func TestKillAgent(t *testing.T) {
	s, address := startScheduler(t)
	node := publishtest.NewPlaces("a", 4)
	node.KillAgent() // no agent runs
	to := publish.SignalsConfig{Targets: []string{address}}
	if err := node.StartAgent(to); err != nil {
		t.Fatal(err)
	}
	first := s.until(func(agent.Report) bool { return true })
	node.KillAgent()
	<-s.ended
	last := node.LastReport()
	node.Set(9, false)
	if diff := cmp.Diff(last, node.LastReport()); diff != "" {
		t.Errorf("got reports without an agent: %s", diff)
	}
	if err := node.StartAgent(to); err != nil {
		t.Fatal(err)
	}
	second := s.until(func(r agent.Report) bool { return r.Avail == 9 })
	if err := node.StartAgent(to); err != nil { // which replaces the second
		t.Fatal(err)
	}
	<-s.ended
	third := s.until(func(r agent.Report) bool { return r.Incarnation != second.Incarnation })
	if second.Incarnation <= first.Incarnation || third.Incarnation <= second.Incarnation {
		t.Errorf("incarnations %d, %d, %d", first.Incarnation, second.Incarnation, third.Incarnation)
	}
	node.KillAgent()
	<-s.ended
	if err := node.StartAgent(publish.SignalsConfig{Targets: []string{""}}); !errors.Is(err, publish.ErrInvalid) {
		t.Errorf("without a target: got error %v", err)
	}
}
