package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Cluster is an API server that is installed into. It is safe for concurrent use
// once Pause is set.
type Cluster struct {
	// Pause is the time between two looks at what somebody else changes; Connect
	// sets a second.
	Pause time.Duration

	client   kubernetes.Interface
	dynamic  dynamic.Interface
	resource meta.ResettableRESTMapper
}

// Connect prepares clients; the API server is not asked anything yet. Of a config
// that does not say how often it may be, it is asked 50 times a second.
func Connect(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS, config.Burst = 50, 100
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	config.ContentType = "" // what is not known by type has no protobuf
	dynamic, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	return &Cluster{
		client: client, dynamic: dynamic, Pause: time.Second,
		resource: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
	}, nil
}

// Client returns the typed client.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// ID names an object in its cluster.
type ID struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is as kubectl names it: deployments.apps spazio-system/spazio-scheduler.
func (i ID) String() string {
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + name
	}
	return schema.GroupResource{Group: i.Group, Resource: i.Resource}.String() + " " + name
}

func (i ID) compare(j ID) int { return strings.Compare(i.String(), j.String()) }

// mapped is an object with the resource that it is of.
type mapped struct {
	*unstructured.Unstructured
	id      ID
	version string
}

// locate asks what resource an object is of. The error is a *meta.NoKindMatchError if the cluster
// has none.
func (c *Cluster) locate(o *unstructured.Unstructured) (mapped, error) {
	kind := o.GroupVersionKind()
	m, err := c.resource.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.resource.Reset() // it may have been defined since
		m, err = c.resource.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return mapped{}, fmt.Errorf("deploy: %s %s: %w", kind.Kind, o.GetName(), err)
	}
	return mapped{o, ID{m.Resource.Group, m.Resource.Resource, o.GetNamespace(), o.GetName()}, m.Resource.Version}, nil
}

// of returns the client of an object's resource.
func (c *Cluster) of(m mapped) dynamic.ResourceInterface {
	return c.dynamic.Resource(schema.GroupVersionResource{Group: m.id.Group, Version: m.version, Resource: m.id.Resource}).Namespace(m.id.Namespace)
}

// passing reports whether an error may be over in a moment.
func passing(err error) bool {
	if isOwned(err) {
		return false
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsConflict(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err)
}

// until does something again and again until it is done or fails for good, or ctx
// ends: then the error has the last reason.
func (c *Cluster) until(ctx context.Context, something func() (done bool, err error)) error {
	for {
		done, err := something()
		if done || err != nil && !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(c.Pause):
		}
	}
}

// page is how many objects are asked for at once.
const page = 500

// list returns the objects of a resource in a namespace, or in all if it is empty; none of a
// resource that the cluster does not have.
func (c *Cluster) list(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) (found []unstructured.Unstructured, err error) {
	options.Limit = page
	for {
		list, err := c.dynamic.Resource(resource).Namespace(namespace).List(ctx, options)
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("deploy: list %s: %w", resource.GroupResource(), err)
		}
		found = append(found, list.Items...)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return found, nil
		}
	}
}
