// Package cri lists the pods of a node from its container runtime, through the
// Container Runtime Interface that the kubelet uses: a [Source] is a
// [telemetry.PodSource] over the runtime's unix socket. It suits nodes whose
// cgroups the agent cannot see, and works with every runtime; where it can see
// them [telemetry.CgroupPods] warns earlier and needs no socket, access to which
// is root on the node.
//
// Events (GetContainerEvents) say what happens between listings (ListContainers,
// ListPodSandbox). The containers are listed at the start, after every reconnection, once a
// Rescan and when an event does not fit what is known, so that the set of pods
// is right again after any loss. A runtime without events is listed once a Poll.
//
// Types that do not speak of concurrent use are plain values.
package cri

import (
	"context"
	"log/slog"
	"os"
	"slices"
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
	// Logger logs, once each, a runtime that is lost, back, or without
	// events; nil means slog.Default.
	Logger *slog.Logger
}

// DefaultEndpoints are the sockets of containerd and CRI-O.
func DefaultEndpoints() []string {
	return []string{"/run/containerd/containerd.sock", "/run/crio/crio.sock"}
}

// Validate returns a *telemetry.FieldError for the first field out of range.
func (c Config) Validate() error { return follow.Config(c).Validate() }

// Source lists the pods of a CRI runtime. A pod is there while its sandbox is ready
// and runs while a container beyond it does, init containers among them: the CRI
// does not tell them from others, but names each, so that one which is started
// again counts once in [telemetry.Pod].Starts. Churn is a container or sandbox
// that is created, starts or stops. Run may be called once; Health is safe for
// concurrent use.
type Source struct {
	config follow.Config
	health follow.Health
}

// New returns a source over the runtime of c, which need not be there yet. The
// error is a *telemetry.FieldError.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Source{config: follow.Config(c).WithDefaults()}, nil
}

// Health returns nil while the runtime answers, and before Run.
func (s *Source) Health() error { return s.health.Get() }

// Run follows the runtime until ctx ends; then it returns nil. Nothing is reported
// until the runtime answered once. While it is away the last set stands.
func (s *Source) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	f := follow.Follower[*runtimeapi.ContainerEventResponse]{
		Config:   s.config,
		Health:   &s.health,
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

// The labels in which the kubelet names a container's pod.
const (
	uidLabel       = "io.kubernetes.pod.uid"
	podLabel       = "io.kubernetes.pod.name"
	namespaceLabel = "io.kubernetes.pod.namespace"
)

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

// List returns all containers that run or ran, and the sandboxes that do. The
// kubelet keeps the last of each container, so that none is missing that ran.
func (c client) List(ctx context.Context) ([]podset.Container, error) {
	containers, err := c.api.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, err
	}
	sandboxes, err := c.api.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, err
	}
	var list []podset.Container
	uids := make(map[string]string, len(sandboxes.Items))
	for _, s := range sandboxes.Items {
		uids[s.Id] = s.GetMetadata().GetUid()
		if s.State == runtimeapi.PodSandboxState_SANDBOX_READY {
			list = append(list, sandbox(s.Id, s.GetMetadata()))
		}
	}
	for _, x := range containers.Containers {
		c := podset.Container{
			ID: x.Id, UID: x.Labels[uidLabel], Name: x.GetMetadata().GetName(), Sandbox: x.PodSandboxId,
			Namespace: x.Labels[namespaceLabel], PodName: x.Labels[podLabel],
		}
		if c.UID == "" {
			c.UID = uids[x.PodSandboxId]
		}
		c.Ended = x.State == runtimeapi.ContainerState_CONTAINER_EXITED
		if c.Ended || x.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			list = append(list, c)
		}
	}
	return list, nil
}

// Complete is true: a list shows what was missed.
func (c client) Complete() bool { return true }

func sandbox(id string, m *runtimeapi.PodSandboxMetadata) podset.Container {
	return podset.Container{ID: id, UID: m.GetUid(), Sandbox: id, Namespace: m.GetNamespace(), PodName: m.GetName()}
}

// Apply follows an event about a container, or the sandbox, of a pod and about the
// pod's other containers. Events may overtake each other: an end is final.
func (c client) Apply(_ context.Context, pods *podset.Set, e *runtimeapi.ContainerEventResponse) (fits bool, err error) {
	status := e.GetPodSandboxStatus()
	uid := status.GetMetadata().GetUid()
	own := e.ContainerId == status.GetId() // the event is the sandbox's own
	fits = true
	if e.ContainerEventType != runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT {
		pods.Churn()
	}
	switch e.ContainerEventType {
	case runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT:
		if own {
			pods.Start(sandbox(e.ContainerId, status.GetMetadata()))
		}
		fits = own || slices.ContainsFunc(e.ContainersStatuses, func(x *runtimeapi.ContainerStatus) bool { return x.Id == e.ContainerId })
	case runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT:
		fits = pods.End(e.ContainerId)
	case runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT:
		pods.End(e.ContainerId)
	}
	for _, x := range e.ContainersStatuses {
		container := podset.Container{
			ID: x.Id, UID: uid, Name: x.GetMetadata().GetName(), Sandbox: status.GetId(),
			Namespace: status.GetMetadata().GetNamespace(), PodName: status.GetMetadata().GetName(),
		}
		switch x.GetState() {
		case runtimeapi.ContainerState_CONTAINER_RUNNING:
			pods.Start(container)
		case runtimeapi.ContainerState_CONTAINER_EXITED:
			// It may have come and gone unseen.
			pods.Start(container)
			pods.End(x.Id)
		}
	}
	return fits, nil
}
