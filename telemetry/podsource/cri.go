package podsource

import (
	"context"
	"os"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// NewCRI returns a source that asks a container runtime through the Container Runtime
// Interface that the kubelet uses. The runtime need not be there yet. Containers are listed,
// and events (GetContainerEvents) say what happens between two listings; a runtime without
// events is listed once a second. The error is a *telemetry.FieldError.
func NewCRI(c Config) (*Source, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Source{config: c.follow()}, nil
}

// defaultEndpoints are the sockets of containerd and CRI-O.
var defaultEndpoints = []string{"/run/containerd/containerd.sock", "/run/crio/crio.sock"}

// endpointOf returns the endpoint that is configured, or the first default that exists.
func endpointOf(configured string) string {
	if configured != "" {
		return configured
	}
	for _, e := range defaultEndpoints {
		if _, err := os.Stat(e); err == nil {
			return e
		}
	}
	return defaultEndpoints[0]
}

// The labels by which a container names its pod.
const (
	uidLabel       = "io.kubernetes.pod.uid"
	podLabel       = "io.kubernetes.pod.name"
	namespaceLabel = "io.kubernetes.pod.namespace"
)

type criClient struct {
	api runtimeapi.RuntimeServiceClient
}

// list returns all containers that run or ran, and the sandboxes that do. The
// kubelet keeps the last of each container, so that none is missing that ran.
func (c criClient) list(ctx context.Context) ([]container, error) {
	containers, err := c.api.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, err
	}
	sandboxes, err := c.api.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, err
	}
	var list []container
	uids := make(map[string]string, len(sandboxes.Items))
	for _, s := range sandboxes.Items {
		uids[s.Id] = s.GetMetadata().GetUid()
		if s.State == runtimeapi.PodSandboxState_SANDBOX_READY {
			list = append(list, sandbox(s.Id, s.GetMetadata()))
		}
	}
	for _, x := range containers.Containers {
		c := container{
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

func sandbox(id string, m *runtimeapi.PodSandboxMetadata) container {
	return container{ID: id, UID: m.GetUid(), Sandbox: id, Namespace: m.GetNamespace(), PodName: m.GetName()}
}

// apply follows an event about a container, or the sandbox, of a pod and about the
// pod's other containers, and reports whether it fits what is known; after one that does not, the
// containers are listed again. Events may overtake each other: an end is final.
func (s *podSet) apply(e *event) (fits bool) {
	status := e.GetPodSandboxStatus()
	uid := status.GetMetadata().GetUid()
	own := e.ContainerId == status.GetId() // the event is the sandbox's own
	fits = true
	if e.ContainerEventType != runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT {
		s.report.Churn()
	}
	switch e.ContainerEventType {
	case runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT:
		if own {
			s.start(sandbox(e.ContainerId, status.GetMetadata()))
		}
		fits = own || slices.ContainsFunc(e.ContainersStatuses, func(x *runtimeapi.ContainerStatus) bool { return x.Id == e.ContainerId })
	case runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT:
		fits = s.end(e.ContainerId)
	case runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT:
		s.end(e.ContainerId)
	}
	for _, x := range e.ContainersStatuses {
		container := container{
			ID: x.Id, UID: uid, Name: x.GetMetadata().GetName(), Sandbox: status.GetId(),
			Namespace: status.GetMetadata().GetNamespace(), PodName: status.GetMetadata().GetName(),
		}
		switch x.GetState() {
		case runtimeapi.ContainerState_CONTAINER_RUNNING:
			s.start(container)
		case runtimeapi.ContainerState_CONTAINER_EXITED:
			// It may have come and gone unseen.
			s.start(container)
			s.end(x.Id)
		}
	}
	return fits
}
