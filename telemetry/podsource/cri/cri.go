// Package cri tells the pods of a node from its container runtime, through the
// Container Runtime Interface that the kubelet uses: a [Source] is a
// [telemetry.PodSource] over the runtime's unix socket. It suits nodes whose
// cgroups the agent cannot see, and works with every runtime; where it can see
// them [telemetry.CgroupPods] warns earlier and needs no socket, access to which
// is root on the node.
//
// Events (GetContainerEvents) say what happens between listings (ListContainers).
// The containers are listed at the start, after every reconnection, once a
// Rescan and when an event does not fit what is known, so that the set of pods
// is right again after any loss. A runtime without events is listed once a Poll.
package cri

import (
	"context"
	"log/slog"
	"os"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/follow"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/podset"
)

// Config says where the runtime is. The zero value is the default.
type Config struct {
	// Endpoint is the runtime's unix socket: a path or unix:// and one. Empty
	// means DefaultEndpoints, at each connection the first that exists.
	Endpoint string
	// Rescan is how often all containers are listed, in case an event was lost,
	// and how often a runtime without events is asked for them again; zero means
	// 30 s.
	Rescan time.Duration
	// Poll is how often a runtime without events is listed; zero means 1 s.
	Poll time.Duration
	// MinBackoff and MaxBackoff bound the pause ahead of a reconnection, which
	// doubles from one to the next and is drawn from its upper half; zero means
	// 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// Random draws from [0,1) for it; nil means math/rand/v2's.
	Random func() float64
	// Now is the clock of PodEvent.At; nil means time.Now.
	Now func() time.Time
	// Logger hears, once each, of a runtime that is lost, back, or without
	// events; nil means slog.Default.
	Logger *slog.Logger
}

// DefaultEndpoints are the sockets of containerd and CRI-O.
func DefaultEndpoints() []string {
	return []string{"/run/containerd/containerd.sock", "/run/crio/crio.sock"}
}

// Validate returns a *telemetry.FieldError for the first field out of range.
func (c Config) Validate() error { return follow.Config(c).Validate() }

// Source tells the pods of a CRI runtime. A pod counts while it has a running
// container beyond its sandbox, init containers among them. Churn is a container
// or sandbox that is created, starts or stops. Run may be called once; the type
// has no other methods.
type Source struct {
	config follow.Config
}

// New returns a source over the runtime of c, which need not be there yet. The
// error is a *telemetry.FieldError.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Source{follow.Config(c).WithDefaults()}, nil
}

// Run follows the runtime until ctx ends; then it returns nil. Nothing is told
// until the runtime answered once. While it is away the last set stands.
func (s *Source) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	f := follow.Follower[*runtimeapi.ContainerEventResponse]{
		Config:   s.config,
		What:     "CRI runtime",
		Endpoint: s.endpoint,
		Runtime: func(conn *grpc.ClientConn) follow.Runtime[*runtimeapi.ContainerEventResponse] {
			return client{runtimeapi.NewRuntimeServiceClient(conn)}
		},
	}
	f.Run(ctx, notify)
	return nil
}

func (s *Source) endpoint() string {
	if s.config.Endpoint != "" {
		return s.config.Endpoint
	}
	for _, e := range DefaultEndpoints() {
		if _, err := os.Stat(e); err == nil {
			return e
		}
	}
	return DefaultEndpoints()[0]
}

// uidLabel is the label in which the kubelet names a container's pod.
const uidLabel = "io.kubernetes.pod.uid"

type client struct {
	api runtimeapi.RuntimeServiceClient
}

func (c client) Subscribe(ctx context.Context) (func() (*runtimeapi.ContainerEventResponse, error), error) {
	stream, err := c.api.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return nil, err
	}
	return stream.Recv, nil
}

func (c client) List(ctx context.Context) (map[string]string, error) {
	response, err := c.api.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
	}})
	if err != nil {
		return nil, err
	}
	running := make(map[string]string, len(response.Containers))
	var unlabelled []*runtimeapi.Container
	for _, x := range response.Containers {
		if x.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
			continue
		}
		if uid := x.Labels[uidLabel]; uid != "" {
			running[x.Id] = uid
		} else {
			unlabelled = append(unlabelled, x)
		}
	}
	return running, c.addBySandbox(ctx, unlabelled, running)
}

// addBySandbox adds containers whose pod only their sandbox names.
func (c client) addBySandbox(ctx context.Context, containers []*runtimeapi.Container, running map[string]string) error {
	if len(containers) == 0 {
		return nil
	}
	response, err := c.api.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	uids := make(map[string]string, len(response.Items))
	for _, s := range response.Items {
		uids[s.Id] = s.GetMetadata().GetUid()
	}
	for _, x := range containers {
		if uid := uids[x.PodSandboxId]; uid != "" {
			running[x.Id] = uid
		}
	}
	return nil
}

// Apply takes in what an event says of its container and of the others of the
// pod. Events may overtake each other: a container's end is final.
func (c client) Apply(_ context.Context, pods *podset.Set, e *runtimeapi.ContainerEventResponse) (fits bool, err error) {
	sandbox := e.GetPodSandboxStatus()
	uid := sandbox.GetMetadata().GetUid()
	own := e.ContainerId == sandbox.GetId() // the event is the sandbox's own
	fits = true
	switch e.ContainerEventType {
	case runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT:
		pods.Churn()
	case runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT:
		pods.Churn()
		if !own {
			fits = uid != ""
			pods.Start(e.ContainerId, uid)
		}
	case runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT:
		pods.Churn()
		fits = own || pods.End(e.ContainerId)
	case runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT:
		if !own {
			pods.End(e.ContainerId)
		}
	}
	for _, x := range e.ContainersStatuses {
		switch x.GetState() {
		case runtimeapi.ContainerState_CONTAINER_RUNNING:
			pods.Start(x.Id, uid)
		case runtimeapi.ContainerState_CONTAINER_EXITED:
			pods.End(x.Id)
		}
	}
	return fits, nil
}
