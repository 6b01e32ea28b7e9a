package podsource_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/containerd/containerd/api/events"
	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/task"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/sourcetest"
)

// daemon serves the containers of a node as containerd does.
type daemon struct {
	eventsapi.UnimplementedEventsServer
	node    *Node
	garbled bool // events cannot be decoded
}

func inNamespace(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	if got := md.Get("containerd-namespace"); !slices.Equal(got, []string{"k8s.io"}) {
		return status.Errorf(codes.FailedPrecondition, "namespace %v", got)
	}
	return nil
}

func (d *daemon) Subscribe(_ *eventsapi.SubscribeRequest, s eventsapi.Events_SubscribeServer) error {
	if err := inNamespace(s.Context()); err != nil {
		return err
	}
	all, cancel := d.node.Subscribe()
	defer cancel()
	for {
		select {
		case <-s.Context().Done():
			return nil
		case e, ok := <-all:
			if !ok {
				return status.Error(codes.Unavailable, "going away")
			}
			for _, out := range d.envelopes(e) {
				if err := s.Send(out); err != nil {
					return err
				}
			}
		}
	}
}

func (d *daemon) envelopes(e Event) []*types.Envelope {
	switch e.Kind {
	case Created:
		return []*types.Envelope{d.envelope("/containers/create", &events.ContainerCreate{ID: e.ID})}
	case Started:
		return []*types.Envelope{
			d.envelope("/tasks/start", &events.TaskStart{ContainerID: e.ID, Pid: 1}),
			// A probe that ran in the container ends.
			d.envelope("/tasks/exit", &events.TaskExit{ContainerID: e.ID, ID: "exec", Pid: 2}),
		}
	case Stopped:
		return []*types.Envelope{
			d.envelope("/tasks/exit", &events.TaskExit{ContainerID: e.ID, ID: e.ID, Pid: 1}),
			d.envelope("/tasks/delete", &events.TaskDelete{ContainerID: e.ID, Pid: 1}),
		}
	}
	return []*types.Envelope{d.envelope("/containers/delete", &events.ContainerDelete{ID: e.ID})}
}

func (d *daemon) envelope(topic string, m proto.Message) *types.Envelope {
	value, err := proto.Marshal(m)
	if err != nil || d.garbled {
		value = []byte("not a message")
	}
	// containerd's form of a type's URL has no host.
	return &types.Envelope{Namespace: "k8s.io", Topic: topic, Event: &anypb.Any{TypeUrl: string(m.ProtoReflect().Descriptor().FullName()), Value: value}}
}

func (d *daemon) list(ctx context.Context) (*tasksapi.ListTasksResponse, error) {
	if err := inNamespace(ctx); err != nil {
		return nil, err
	}
	out := &tasksapi.ListTasksResponse{}
	for _, c := range d.node.Containers() {
		s := task.Status_STOPPED
		switch {
		case c.Running && len(out.Tasks)%2 == 0:
			s = task.Status_PAUSED
		case c.Running:
			s = task.Status_RUNNING
		}
		out.Tasks = append(out.Tasks, &task.Process{ID: c.ID, Status: s})
	}
	return out, nil
}

func (d *daemon) get(ctx context.Context, r *containersapi.GetContainerRequest) (*containersapi.GetContainerResponse, error) {
	if err := inNamespace(ctx); err != nil {
		return nil, err
	}
	for _, c := range d.node.Containers() {
		if c.ID == r.ID {
			kind := "container"
			if c.IsSandbox() {
				kind = "sandbox"
			}
			labels := map[string]string{
				"io.kubernetes.pod.uid": c.UID, "io.cri-containerd.kind": kind, "io.kubernetes.container.name": c.Name,
				"io.kubernetes.pod.name": "named-" + c.UID, "io.kubernetes.pod.namespace": "team",
			}
			return &containersapi.GetContainerResponse{Container: &containersapi.Container{ID: c.ID, Labels: labels}}, nil
		}
	}
	return nil, status.Error(codes.NotFound, "no such container")
}

// tasks serves List separately, because containers have a method of that name, too.
type tasks struct {
	tasksapi.UnimplementedTasksServer
	d *daemon
}

func (t tasks) List(ctx context.Context, _ *tasksapi.ListTasksRequest) (*tasksapi.ListTasksResponse, error) {
	return t.d.list(ctx)
}

type containers struct {
	containersapi.UnimplementedContainersServer
	d *daemon
}

func (c containers) Get(ctx context.Context, r *containersapi.GetContainerRequest) (*containersapi.GetContainerResponse, error) {
	return c.d.get(ctx, r)
}

func serveContainerd(t *testing.T, d *daemon) *Server {
	d.node = NewNode()
	s := NewServer(t, func(g *grpc.Server) {
		eventsapi.RegisterEventsServer(g, d)
		tasksapi.RegisterTasksServer(g, tasks{d: d})
		containersapi.RegisterContainersServer(g, containers{d: d})
	})
	s.Up()
	return s
}

func runContainerd(t *testing.T, c podsource.Config) *sourcetest.Recorder {
	t.Helper()
	podsource.SetBackoff(&c, time.Millisecond, 20*time.Millisecond)
	podsource.SetPoll(&c, 5*time.Millisecond)
	c.Logger = slog.New(slog.DiscardHandler)
	source, err := podsource.NewContainerd(c)
	if err != nil {
		t.Fatal(err)
	}
	return sourcetest.Run(t, source)
}

func TestPodsFollowTasks(t *testing.T) {
	for _, tc := range []struct {
		name   string
		daemon daemon
		config podsource.Config
	}{
		{"events", daemon{}, podsource.Config{}.WithIntervals(time.Hour, 0)},
		{"events that cannot be decoded", daemon{garbled: true}, podsource.Config{}.WithIntervals(20*time.Millisecond, 0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serveContainerd(t, &tc.daemon)
			node := tc.daemon.node
			r, sandbox := PodsComeAndGo(t, node, true, func() *sourcetest.Recorder {
				tc.config.Endpoint = s.Path
				return runContainerd(t, tc.config)
			})
			r.UntilPresent(UID(3))
			node.StopContainer(sandbox)
			r.UntilStates()
		})
	}
}

// A pod with init containers exists from its sandbox to the sandbox's end; a restarted container
// counts once. After a lost connection it is unknown which ones have run.
func TestContainerdPodStates(t *testing.T) {
	var simulated daemon
	s := serveContainerd(t, &simulated)
	node := simulated.node
	r := runContainerd(t, podsource.Config{Endpoint: s.Path}.WithIntervals(time.Hour, 0))
	r.UntilStates()
	node.UntilSubscribed(t)
	sandbox, until := StartsAgain(t, node, r, telemetry.Pod{Namespace: "team", Name: "named-" + UID(1)})
	main := node.StartNamed(sandbox, "main")
	until(telemetry.PodRunning, 2)
	s.Down()
	node.StopContainer(main)
	s.Up()
	until(telemetry.PodStopped, telemetry.StartsUnknown)
	node.UntilSubscribed(t)
	node.StopContainer(sandbox)
	r.UntilStates()
	next := node.StartSandbox(sandbox)
	until(telemetry.PodPending, 0)
	node.StartNamed(next, "init")
	until(telemetry.PodRunning, 1)
}

// Changes while containerd is away are found afterwards.
func TestContainerdAway(t *testing.T) {
	var simulated daemon
	s := serveContainerd(t, &simulated)
	sandbox := simulated.node.StartPod()
	simulated.node.StartContainer(sandbox)
	r := runContainerd(t, podsource.Config{Endpoint: s.Path}.WithIntervals(time.Hour, 0))
	r.Until(UID(1))
	s.Down()
	simulated.node.DeleteContainer(sandbox)
	simulated.node.StartContainer(simulated.node.StartPod())
	s.Up()
	r.Until(UID(3))
}

// Whichever events are lost, the final set is containerd's.
func TestContainerdStorm(t *testing.T) {
	for _, seed := range []uint64{1, 2} {
		var simulated daemon
		s := serveContainerd(t, &simulated)
		r := runContainerd(t, podsource.Config{Endpoint: s.Path}.WithIntervals(50*time.Millisecond, 0))
		Storm(t, seed, simulated.node, s, r)
	}
}

func TestContainerdConfigErrors(t *testing.T) {
	ConfigErrors(t, "containerd.sock", func(c podsource.Config) error {
		_, err := podsource.NewContainerd(c)
		return err
	})
}
