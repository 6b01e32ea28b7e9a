package autoscale

import (
	"context"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/spazio-scheduler/spazio/plugin"
)

// These are exported for the tests.
var (
	Template = template
	NameOf   = nameOf
	Omitted  = omitted
	Planned  = planned
)

type (
	Amount     = amount
	Buffer     = buffer
	Node       = plannedNode
	NodeChange = nodeChange
)

// LeaderTransport returns the transport of a scheduler that may not lead.
func LeaderTransport(next http.RoundTripper, isLeading func() bool) http.RoundTripper {
	return leaderTransport{next, isLeading}
}

// Connect sets what start sets.
func (c *Controller) Connect(client kubernetes.Interface, dynamic dynamic.Interface, lister listers.NodeLister, recorder events.EventRecorder, now func() time.Time) {
	c.client, c.dynamic, c.lister, c.recorder, c.now = client, dynamic, lister, recorder, now
}

// Mark writes nodes. The list has the nodes that are not written for a while.
func (c *Controller) Mark(ctx context.Context, changes []nodeChange) (deferred []string, err error) {
	err = c.mark(ctx, changes)
	for _, change := range changes {
		if c.deferred.isDeferred(change.Node, c.now()) {
			deferred = append(deferred, change.Node)
		}
	}
	return deferred, err
}

// Ask writes buffers of which none exists.
func (c *Controller) Ask(ctx context.Context, buffers []buffer, newest map[string]*corev1.Pod) (asking map[string]int, err error) {
	return c.write(ctx, plannerOutput{Buffers: buffers}, newest, existing{})
}

// Announce returns the buffer of each pod.
func (c *Controller) Announce(waiters []plugin.RoomWaiter, asking map[string]int) map[types.UID]string {
	c.announce(waiters, asking)
	return *c.buffers.Load()
}

// Pass makes the API once as it should be by what a Hub knows.
func (c *Controller) Pass(ctx context.Context, hub *plugin.Hub) error {
	c.hub = hub
	return c.pass(ctx)
}
