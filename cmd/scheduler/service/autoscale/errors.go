package autoscale

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrNoCapacityBuffers is wrapped by the error of a cluster without CapacityBuffers, which are the
// autoscaler's.
var ErrNoCapacityBuffers = errors.New("the API server has no CapacityBuffers of autoscaling.x-k8s.io/v1beta1: install their definition, " +
	"and set --feature-gates=CapacityBuffer=true of Karpenter, or --capacity-buffer-controller-enabled and --capacity-buffer-pod-injection-enabled of cluster-autoscaler")

// errNotLeading is why a write is not sent.
var errNotLeading = errors.New("another scheduler leads")

// Error is a request to the API server that failed. The Controller goes on with what does not need
// it, and tries again. It is a plain value.
type Error struct {
	// Verb and Resource are what role rules name, Name is the object's, empty for all.
	Verb, Resource, Name string
	Err                  error
}

// Error names the request and the reason.
func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("autoscale: %s %s: %v", e.Verb, e.Resource, e.Err)
	}
	return fmt.Sprintf("autoscale: %s %s %s: %v", e.Verb, e.Resource, e.Name, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// failed returns an *Error and counts it.
func (c *Controller) failed(verb, resource, name string, err error) error {
	if resource == buffersResource.Resource && apierrors.IsNotFound(err) && name == "" {
		err = fmt.Errorf("%w: %w", ErrNoCapacityBuffers, err)
	}
	c.metrics.failures.WithLabelValues(verb + " " + resource).Inc()
	return &Error{Verb: verb, Resource: resource, Name: name, Err: err}
}
