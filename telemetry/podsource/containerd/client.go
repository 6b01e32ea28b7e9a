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

	uidLabel    = "io.kubernetes.pod.uid"
	kindLabel   = "io.cri-containerd.kind"
	sandboxKind = "sandbox"

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
	// uids are the pods of the containers that were seen and exist, by container;
	// empty for a sandbox, or a container that is not Kubernetes'.
	uids map[string]string
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

func (c *client) List(ctx context.Context) (map[string]string, error) {
	response, err := c.tasks.List(inNamespace(ctx), &tasksapi.ListTasksRequest{})
	if err != nil {
		return nil, err
	}
	running, there := map[string]string{}, map[string]bool{}
	for _, t := range response.Tasks {
		id := t.ContainerID
		if id == "" {
			id = t.ID // the task service names the container there
		}
		there[id] = true
		if !isLive(t.Status) {
			continue
		}
		uid, err := c.uid(ctx, id)
		if err != nil {
			return nil, err
		}
		if uid != "" {
			running[id] = uid
		}
	}
	for id := range c.uids {
		if !there[id] {
			delete(c.uids, id)
		}
	}
	return running, nil
}

func isLive(s task.Status) bool {
	return s == task.Status_RUNNING || s == task.Status_PAUSED || s == task.Status_PAUSING
}

// uid returns the pod of a container, empty if it is none of Kubernetes' pods'
// containers, or gone.
func (c *client) uid(ctx context.Context, id string) (string, error) {
	if uid, known := c.uids[id]; known {
		return uid, nil
	}
	response, err := c.containers.Get(inNamespace(ctx), &containersapi.GetContainerRequest{ID: id})
	switch {
	case status.Code(err) == codes.NotFound:
		return "", nil
	case err != nil:
		return "", err
	}
	labels := response.GetContainer().GetLabels()
	uid := labels[uidLabel]
	if labels[kindLabel] == sandboxKind {
		uid = ""
	}
	c.uids[id] = uid
	return uid, nil
}

// Apply takes in an event. An exit may overtake the start: it is final.
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
		delete(c.uids, x.ID)
	case taskStart:
		var x events.TaskStart
		if !decode(e, &x) {
			return false, nil
		}
		pods.Churn()
		uid, err := c.uid(ctx, x.ContainerID)
		if err != nil {
			return false, err
		}
		pods.Start(x.ContainerID, uid)
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

// exited takes in the end of a process; one with an id of its own was started
// beside the container's (exec).
func (c *client) exited(pods *podset.Set, container, process string) (fits bool) {
	if process != "" && process != container {
		return true
	}
	uid, known := c.uids[container]
	if !pods.End(container) {
		// It is a sandbox's, or the start was missed.
		return known && uid == ""
	}
	pods.Churn()
	return true
}

func decode(e *types.Envelope, to proto.Message) bool {
	return e.Event != nil && e.Event.UnmarshalTo(to) == nil
}
