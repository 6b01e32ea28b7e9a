package podsource_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/sourcetest"
)

// criRuntime serves the containers of a node as a CRI runtime does.
type criRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	node      *Node
	noEvents  bool
	bare      bool // events come without the pod
	unlabeled bool // containers name their pod through the sandbox alone
}

func (r *criRuntime) GetContainerEvents(_ *runtimeapi.GetEventsRequest, s grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
	if r.noEvents {
		return status.Error(codes.Unimplemented, "no such method")
	}
	events, cancel := r.node.Subscribe()
	defer cancel()
	for {
		select {
		case <-s.Context().Done():
			return nil
		case e, ok := <-events:
			if !ok {
				return status.Error(codes.Unavailable, "going away")
			}
			if err := s.Send(r.event(e)); err != nil {
				return err
			}
		}
	}
}

func (r *criRuntime) event(e Event) *runtimeapi.ContainerEventResponse {
	out := &runtimeapi.ContainerEventResponse{ContainerId: e.ID, ContainerEventType: runtimeapi.ContainerEventType(e.Kind)}
	if r.bare {
		return out
	}
	out.PodSandboxStatus = &runtimeapi.PodSandboxStatus{Id: e.Sandbox, Metadata: &runtimeapi.PodSandboxMetadata{Uid: e.UID, Name: "named-" + e.UID, Namespace: "team"}}
	for _, c := range e.Others {
		out.ContainersStatuses = append(out.ContainersStatuses, &runtimeapi.ContainerStatus{
			Id: c.ID, State: state(c), Metadata: &runtimeapi.ContainerMetadata{Name: c.Name},
		})
	}
	return out
}

func state(c Container) runtimeapi.ContainerState {
	switch {
	case c.Running:
		return runtimeapi.ContainerState_CONTAINER_RUNNING
	case c.Ended:
		return runtimeapi.ContainerState_CONTAINER_EXITED
	}
	return runtimeapi.ContainerState_CONTAINER_CREATED
}

func (r *criRuntime) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	out := &runtimeapi.ListContainersResponse{}
	for _, c := range r.node.Containers() {
		if c.IsSandbox() {
			continue
		}
		x := &runtimeapi.Container{
			Id: c.ID, PodSandboxId: c.Sandbox, State: state(c), Metadata: &runtimeapi.ContainerMetadata{Name: c.Name},
		}
		if !r.unlabeled {
			x.Labels = map[string]string{"io.kubernetes.pod.uid": c.UID, "io.kubernetes.pod.name": "named-" + c.UID, "io.kubernetes.pod.namespace": "team"}
		}
		out.Containers = append(out.Containers, x)
	}
	return out, nil
}

func (r *criRuntime) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	out := &runtimeapi.ListPodSandboxResponse{}
	for _, c := range r.node.Containers() {
		if c.IsSandbox() {
			state := runtimeapi.PodSandboxState_SANDBOX_NOTREADY
			if c.Running {
				state = runtimeapi.PodSandboxState_SANDBOX_READY
			}
			out.Items = append(out.Items, &runtimeapi.PodSandbox{
				Id: c.ID, State: state, Metadata: &runtimeapi.PodSandboxMetadata{Uid: c.UID, Name: "named-" + c.UID, Namespace: "team"},
			})
		}
	}
	return out, nil
}

// serve starts a server for r, which begins with an empty node.
func serveCRI(t *testing.T, r *criRuntime) *Server {
	r.node = NewNode()
	s := NewServer(t, func(g *grpc.Server) { runtimeapi.RegisterRuntimeServiceServer(g, r) })
	s.Up()
	return s
}

func runCRI(t *testing.T, c podsource.Config) *sourcetest.Recorder {
	t.Helper()
	return sourcetest.Run(t, newSource(t, c))
}

func newSource(t *testing.T, c podsource.Config) *podsource.Source {
	t.Helper()
	podsource.SetBackoff(&c, time.Millisecond, 20*time.Millisecond)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	source, err := podsource.NewCRI(c)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func TestPodsFollowContainers(t *testing.T) {
	for _, tc := range []struct {
		name       string
		criRuntime criRuntime
		config     podsource.Config
	}{
		{"events", criRuntime{}, podsource.Config{}.WithIntervals(time.Hour, 0)},
		{"events without the pod", criRuntime{bare: true}, podsource.Config{}},
		{"containers without labels", criRuntime{unlabeled: true, noEvents: true}, podsource.Config{}.WithIntervals(0, 5*time.Millisecond)},
		{"no events", criRuntime{noEvents: true}, podsource.Config{}.WithIntervals(0, 5*time.Millisecond)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serveCRI(t, &tc.criRuntime)
			node := tc.criRuntime.node
			r, sandbox := PodsComeAndGo(t, node, !tc.criRuntime.noEvents, func() *sourcetest.Recorder {
				tc.config.Endpoint = "unix://" + s.Path
				return runCRI(t, tc.config)
			})
			r.UntilStates(telemetry.Pod{UID: UID(3), State: telemetry.PodStopped, Starts: 2, Namespace: "team", Name: "named-" + UID(3)})
			node.StopContainer(sandbox)
			r.UntilStates()
		})
	}
}

// A pod with init containers exists from its sandbox to the sandbox's end; a restarted container
// counts once.
func TestCRIPodStates(t *testing.T) {
	for _, tc := range []struct {
		name       string
		criRuntime criRuntime
		config     podsource.Config
	}{
		{"events", criRuntime{}, podsource.Config{}.WithIntervals(time.Hour, 0)},
		{"no events", criRuntime{noEvents: true}, podsource.Config{}.WithIntervals(0, time.Millisecond)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serveCRI(t, &tc.criRuntime)
			node := tc.criRuntime.node
			tc.config.Endpoint = s.Path
			r := runCRI(t, tc.config)
			r.UntilStates()
			if !tc.criRuntime.noEvents {
				node.UntilSubscribed(t)
			}
			sandbox, until := StartsAgain(t, node, r, telemetry.Pod{})
			node.StopContainer(node.StartNamed(sandbox, "second init")) // over before it is seen to run
			main := node.StartNamed(sandbox, "main")
			until(telemetry.PodRunning, 3)
			node.StopContainer(main)
			node.DeleteContainer(main)
			until(telemetry.PodStopped, 3)
			node.StopContainer(sandbox)
			r.UntilStates()

			// In a new sandbox everything begins anew.
			next := node.StartSandbox(sandbox)
			until(telemetry.PodPending, 0)
			node.StartNamed(next, "init")
			until(telemetry.PodRunning, 1)
			node.DeleteContainer(sandbox)
			node.DeleteContainer(next)
			r.UntilStates()
		})
	}
}

// A runtime may be late, go away and come back: changes meanwhile are found afterwards.
func TestRuntimeAway(t *testing.T) {
	var simulated criRuntime
	s := serveCRI(t, &simulated)
	s.Down()
	var log bytes.Buffer
	r := runCRI(t, podsource.Config{Endpoint: s.Path, Logger: slog.New(slog.NewTextHandler(&log, nil))}.WithIntervals(time.Hour, 0))
	sandbox := simulated.node.StartPod()
	simulated.node.StartContainer(sandbox)
	s.Up()
	r.Until(UID(1))
	s.Down()
	simulated.node.DeleteContainer(sandbox)
	simulated.node.StartContainer(simulated.node.StartPod())
	churns := r.Churns()
	s.Up()
	r.Until(UID(3))
	r.UntilChurn(churns)
	r.Stop()
	if !strings.Contains(log.String(), "CRI runtime") {
		t.Errorf("the log says nothing of a lost runtime:\n%s", log.String())
	}
}

// Health reports whether the runtime answers.
func TestCRIHealth(t *testing.T) {
	var simulated criRuntime
	s := serveCRI(t, &simulated)
	s.Down()
	source := newSource(t, podsource.Config{Endpoint: s.Path})
	if err := telemetry.PodSourceHealth(source); err != nil {
		t.Errorf("before Run: %v", err)
	}
	r := sourcetest.Run(t, source)
	until := func(healthy bool) {
		t.Helper()
		for deadline := time.Now().Add(sourcetest.Patience); (telemetry.PodSourceHealth(source) == nil) != healthy; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("healthy = %v, health = %v", !healthy, telemetry.PodSourceHealth(source))
			}
		}
	}
	for range 2 {
		until(false)
		s.Up()
		r.Until()
		until(true)
		s.Down()
	}
	until(false)
	if err := telemetry.PodSourceHealth(telemetry.StaticPods{}); err != nil {
		t.Errorf("of a source that is always right: %v", err)
	}
}

// An end that arrives before its start is final.
func TestEventsOutOfOrder(t *testing.T) {
	var simulated criRuntime
	s := serveCRI(t, &simulated)
	r := runCRI(t, podsource.Config{Endpoint: s.Path}.WithIntervals(time.Hour, 0))
	r.Until()
	node := simulated.node
	node.UntilSubscribed(t)
	sandbox := node.StartPod()
	r.UntilChurn(0)
	node.Drop(true)
	short := node.StartContainer(sandbox)
	node.Drop(false)
	node.StopContainer(short) // its start was not reported
	node.StartContainer(sandbox)
	r.Until(UID(1))
}

// Whichever events are lost, the final set is the runtime's.
func TestCRIStorm(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		simulated := criRuntime{noEvents: seed == 3}
		s := serveCRI(t, &simulated)
		r := runCRI(t, podsource.Config{Endpoint: s.Path}.WithIntervals(50*time.Millisecond, 5*time.Millisecond))
		Storm(t, seed, simulated.node, s, r)
	}
}

func TestCRIConfigErrors(t *testing.T) {
	ConfigErrors(t, "tcp://localhost:1", func(c podsource.Config) error {
		_, err := podsource.NewCRI(c)
		return err
	})
}
