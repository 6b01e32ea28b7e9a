package containerd

import (
	"context"

	"github.com/containerd/containerd/api/events"
	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/task"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/podset"
)

const (
	// namespace is the one in which the CRI plugin keeps Kubernetes' containers,
	// namespaceHeader how a request names it.
	namespace       = "k8s.io"
	namespaceHeader = "containerd-namespace"

	uidLabel       = "io.kubernetes.pod.uid"
	podLabel       = "io.kubernetes.pod.name"
	namespaceLabel = "io.kubernetes.pod.namespace"
	nameLabel      = "io.kubernetes.container.name"
	kindLabel      = "io.cri-containerd.kind"
	sandboxKind    = "sandbox"

	containerCreate = "/containers/create"
	containerDelete = "/containers/delete"
	taskStart       = "/tasks/start"
	taskExit        = "/tasks/exit"
	taskDelete      = "/tasks/delete"
)

type client struct {
	events     eventsapi.EventsClient
	tasks      tasksapi.TasksClient
	containers containersapi.ContainersClient
	// known are the containers that were seen and exist, by ID.
	known map[string]podset.Container
}

func inNamespace(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, namespaceHeader, namespace)
}

func (c *client) Subscribe(ctx context.Context) (func() (*types.Envelope, error), error) {
	var filters []string
	for _, topic := range []string{containerCreate, containerDelete, taskStart, taskExit, taskDelete} {
		filters = append(filters, `namespace==`+namespace+`,topic=="`+topic+`"`)
	}
	stream, err := c.events.Subscribe(inNamespace(ctx), &eventsapi.SubscribeRequest{Filters: filters})
	if err != nil {
		return nil, err
	}
	return stream.Recv, nil
}

// List returns what runs: the tasks of containers that ended are gone.
func (c *client) List(ctx context.Context) ([]podset.Container, error) {
	response, err := c.tasks.List(inNamespace(ctx), &tasksapi.ListTasksRequest{})
	if err != nil {
		return nil, err
	}
	var running []podset.Container
	there := map[string]bool{}
	for _, t := range response.Tasks {
		id := t.ContainerID
		if id == "" {
			id = t.ID // the task service names the container there
		}
		there[id] = true
		if !isLive(t.Status) {
			continue
		}
		container, err := c.container(ctx, id)
		if err != nil {
			return nil, err
		}
		running = append(running, container)
	}
	for id := range c.known {
		if !there[id] {
			delete(c.known, id)
		}
	}
	return running, nil
}

// Complete is false: a list does not tell what ended meanwhile.
func (c *client) Complete() bool { return false }

func isLive(s task.Status) bool {
	return s == task.Status_RUNNING || s == task.Status_PAUSED || s == task.Status_PAUSING
}

// container reads what is to be known of one; it has no UID if it is gone, or none
// of a pod's of Kubernetes.
func (c *client) container(ctx context.Context, id string) (podset.Container, error) {
	if known, ok := c.known[id]; ok {
		return known, nil
	}
	response, err := c.containers.Get(inNamespace(ctx), &containersapi.GetContainerRequest{ID: id})
	switch {
	case status.Code(err) == codes.NotFound:
		return podset.Container{ID: id}, nil
	case err != nil:
		return podset.Container{}, err
	}
	labels := response.GetContainer().GetLabels()
	container := podset.Container{ID: id, UID: labels[uidLabel], Name: labels[nameLabel], Namespace: labels[namespaceLabel], PodName: labels[podLabel]}
	if labels[kindLabel] == sandboxKind {
		container.Sandbox = id
	}
	c.known[id] = container
	return container, nil
}

// Apply follows an event. An exit may overtake the start: it is final.
func (c *client) Apply(ctx context.Context, pods *podset.Set, e *types.Envelope) (fits bool, err error) {
	switch e.Topic {
	case containerCreate:
		pods.Churn()
	case containerDelete:
		var x events.ContainerDelete
		if !decode(e, &x) {
			return false, nil
		}
		pods.End(x.ID)
		delete(c.known, x.ID)
	case taskStart:
		var x events.TaskStart
		if !decode(e, &x) {
			return false, nil
		}
		pods.Churn()
		container, err := c.container(ctx, x.ContainerID)
		if err != nil {
			return false, err
		}
		pods.Start(container)
	case taskExit:
		var x events.TaskExit
		if !decode(e, &x) {
			return false, nil
		}
		return c.exited(pods, x.ContainerID, x.ID), nil
	case taskDelete:
		var x events.TaskDelete
		if !decode(e, &x) {
			return false, nil
		}
		return c.exited(pods, x.ContainerID, x.ID), nil
	}
	return true, nil
}

// exited follows the end of a process; one with an id of its own was started
// beside the container's (exec).
func (c *client) exited(pods *podset.Set, container, process string) (fits bool) {
	if process != "" && process != container {
		return true
	}
	return pods.End(container) || c.isForeign(container) // or the start was missed
}

// isForeign reports whether a container is none of a pod's.
func (c *client) isForeign(id string) bool {
	container, known := c.known[id]
	return known && container.UID == ""
}

func decode(e *types.Envelope, to proto.Message) bool {
	return e.Event != nil && e.Event.UnmarshalTo(to) == nil
}
