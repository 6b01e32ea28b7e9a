package autoscale

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/plugin"
)

const (
	// A node whose write did not do what it should is next written after minPause, then after twice
	// that, and so on up to maxPause.
	minPause, maxPause = time.Second, 5 * time.Minute
	// maxErrors is after how many errors in a row the nodes that are left wait for the next pass.
	maxErrors = 5
)

// deferral is until when a node is not written, and why.
type deferral struct {
	until time.Time
	pause time.Duration
	// err is nil if the API took the write, but somebody else has set the same label, so that it
	// stays.
	err error
}

// deferrals are those of nodes, by name.
type deferrals map[string]deferral

func (d deferrals) isDeferred(node string, now time.Time) bool { return now.Before(d[node].until) }

// add puts off the next write of a node.
func (d deferrals) add(node string, now time.Time, err error) {
	pause := min(max(2*d[node].pause, minPause), maxPause)
	d[node] = deferral{until: now.Add(pause), pause: pause, err: err}
}

// expire forgets the nodes whose time has come and that need no write.
func (d deferrals) expire(now time.Time, changes []nodeChange) {
	maps.DeleteFunc(d, func(node string, of deferral) bool {
		return !now.Before(of.until) && !slices.ContainsFunc(changes, func(c nodeChange) bool { return c.Node == node })
	})
}

// err returns the errors of the first nodes by name, as many as make a readable text.
func (d deferrals) err() error {
	var errs []error
	for _, node := range slices.Sorted(maps.Keys(d)) {
		if err := d[node].err; err != nil && len(errs) < maxErrors {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// mark writes nodes' labels and annotations. A node's error puts off the next write of that node
// alone. After several in a row, or when the pass ends, the other nodes wait for the next pass.
func (c *Controller) mark(ctx context.Context, changes []nodeChange) error {
	c.deferred.expire(c.now(), changes)
	for inARow := 0; len(changes) > 0 && inARow < maxErrors && ctx.Err() == nil; changes = changes[1:] {
		node := changes[0].Node
		done, err := c.markNode(ctx, changes[0])
		if inARow++; err == nil {
			inARow = 0
		}
		if done {
			delete(c.deferred, node)
		} else {
			c.deferred.add(node, c.now(), err)
		}
	}
	return c.deferred.err()
}

// markNode writes a node, and reports whether it then has the labels that it should, or is gone.
func (c *Controller) markNode(ctx context.Context, change nodeChange) (done bool, err error) {
	node, err := c.lister.Get(change.Node)
	if err != nil { // the API has it no more
		return true, nil
	}
	patch, err := json.Marshal(nodeApply(node, change))
	if err != nil {
		return false, err
	}
	// Without force: what another manager has set differently in the meantime is theirs.
	got, err := c.client.CoreV1().Nodes().Patch(ctx, change.Node, types.ApplyPatchType, patch, applyOptions(false))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return true, nil
	case err != nil:
		return false, c.failed("patch", "nodes", change.Node, err)
	}
	has := func(label string) bool { return got.Labels[label] == labelValue }
	return has(plugin.FullLabel) == change.Full && has(plugin.ProtectedLabel) == change.Protected, nil
}

// nodeApply returns what is applied to a node. It has the node's UID, without which the API server
// would create a node that has been deleted.
func nodeApply(node *corev1.Node, change nodeChange) map[string]any {
	labels, annotations := map[string]string{}, map[string]string{}
	if change.Full {
		labels[plugin.FullLabel] = labelValue
	}
	if change.Protected {
		labels[plugin.ProtectedLabel] = labelValue
	}
	for _, key := range change.Annotations {
		annotations[key] = labelValue
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": node.Name, "uid": node.UID, "labels": labels, "annotations": annotations},
	}
}
