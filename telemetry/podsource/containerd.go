package podsource

import (
	"cmp"
	"context"

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
)

const (
	// namespace is the one in which the CRI plugin keeps Kubernetes' containers,
	// namespaceHeader how a request names it.
	namespace       = "k8s.io"
	namespaceHeader = "containerd-namespace"

	nameLabel   = "io.kubernetes.container.name"
	kindLabel   = "io.cri-containerd.kind"
	sandboxKind = "sandbox"

	containerCreate = "/containers/create"
	containerDelete = "/containers/delete"
	taskStart       = "/tasks/start"
	taskExit        = "/tasks/exit"
	taskDelete      = "/tasks/delete"
)

// NewContainerd returns a source that asks containerd's own API, which reports a container's
// task some milliseconds ahead of the CRI's events and works with releases whose CRI has
// none. Tasks are listed, and events (/tasks/start, /tasks/exit, …) say what happens between
// two listings. Starts are unknown of pods that were there before a connection. The error
// is a *telemetry.FieldError.
func NewContainerd(c Config) (*Source, error) {
	c.Endpoint = cmp.Or(c.Endpoint, defaultEndpoints()[0])
	known := map[string]container{}
	return newSource(c, follower[*types.Envelope]{
		what:     "containerd",
		endpoint: func() string { return c.Endpoint },
		runtime: func(conn *grpc.ClientConn) runtime[*types.Envelope] {
			return &containerdClient{
				events:     eventsapi.NewEventsClient(conn),
				tasks:      tasksapi.NewTasksClient(conn),
				containers: containersapi.NewContainersClient(conn),
				known:      known,
			}
		},
	})
}

type containerdClient struct {
	events     eventsapi.EventsClient
	tasks      tasksapi.TasksClient
	containers containersapi.ContainersClient
	// known are the containers that were seen and exist, by ID.
	known map[string]container
}

func inNamespace(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, namespaceHeader, namespace)
}

func (c *containerdClient) subscribe(ctx context.Context) (func() (*types.Envelope, error), error) {
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

// list returns what runs: the tasks of containers that ended are gone.
func (c *containerdClient) list(ctx context.Context) ([]container, error) {
	response, err := c.tasks.List(inNamespace(ctx), &tasksapi.ListTasksRequest{})
	if err != nil {
		return nil, err
	}
	var running []container
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
		found, err := c.container(ctx, id)
		if err != nil {
			return nil, err
		}
		running = append(running, found)
	}
	for id := range c.known {
		if !there[id] {
			delete(c.known, id)
		}
	}
	return running, nil
}

// isComplete is false: a list does not show what ended meanwhile.
func (c *containerdClient) isComplete() bool { return false }

func isLive(s task.Status) bool {
	return s == task.Status_RUNNING || s == task.Status_PAUSED || s == task.Status_PAUSING
}

// container reads what is to be known of one; it has no UID if it is gone, or none
// of a pod's of Kubernetes.
func (c *containerdClient) container(ctx context.Context, id string) (container, error) {
	if known, ok := c.known[id]; ok {
		return known, nil
	}
	response, err := c.containers.Get(inNamespace(ctx), &containersapi.GetContainerRequest{ID: id})
	switch {
	case status.Code(err) == codes.NotFound:
		return container{ID: id}, nil
	case err != nil:
		return container{}, err
	}
	labels := response.GetContainer().GetLabels()
	container := container{ID: id, UID: labels[uidLabel], Name: labels[nameLabel], Namespace: labels[namespaceLabel], PodName: labels[podLabel]}
	if labels[kindLabel] == sandboxKind {
		container.Sandbox = id
	}
	c.known[id] = container
	return container, nil
}

// apply follows an event. An exit may overtake the start: it is final.
func (c *containerdClient) apply(ctx context.Context, pods *podSet, e *types.Envelope) (fits bool, err error) {
	switch e.Topic {
	case containerCreate:
		pods.churn()
	case containerDelete:
		var x events.ContainerDelete
		if !decode(e, &x) {
			return false, nil
		}
		pods.end(x.ID)
		delete(c.known, x.ID)
	case taskStart:
		var x events.TaskStart
		if !decode(e, &x) {
			return false, nil
		}
		pods.churn()
		found, err := c.container(ctx, x.ContainerID)
		if err != nil {
			return false, err
		}
		pods.start(found)
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
func (c *containerdClient) exited(pods *podSet, container, process string) (fits bool) {
	if process != "" && process != container {
		return true
	}
	return pods.end(container) || c.isForeign(container) // or the start was missed
}

// isForeign reports whether a container is none of a pod's.
func (c *containerdClient) isForeign(id string) bool {
	container, known := c.known[id]
	return known && container.UID == ""
}

func decode(e *types.Envelope, to proto.Message) bool {
	return e.Event != nil && e.Event.UnmarshalTo(to) == nil
}
