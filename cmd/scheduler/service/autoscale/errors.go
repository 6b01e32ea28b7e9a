package autoscale

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errNoCapacityBuffers is wrapped by the error of a cluster without CapacityBuffers, which are the
// autoscaler's.
var errNoCapacityBuffers = errors.New("the API server has no CapacityBuffers of autoscaling.x-k8s.io/v1beta1: install their definition, " +
	"and set --feature-gates=CapacityBuffer=true of Karpenter, or --capacity-buffer-controller-enabled and --capacity-buffer-pod-injection-enabled of cluster-autoscaler")

// errNotLeading is why a write is not sent.
var errNotLeading = errors.New("another scheduler leads")

// failed names a request to the API server that failed, by what role rules name and the object's
// name, "" for all, and counts it. The Controller goes on with what does not need it, and tries again.
func (c *Controller) failed(verb, resource, name string, err error) error {
	if resource == buffersResource.Resource && apierrors.IsNotFound(err) && name == "" {
		err = fmt.Errorf("%w: %w", errNoCapacityBuffers, err)
	}
	c.metrics.failures.WithLabelValues(verb + " " + resource).Inc()
	return fmt.Errorf("autoscale: %s: %w", strings.TrimSpace(verb+" "+resource+" "+name), err)
}
