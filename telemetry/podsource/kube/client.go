package kube

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const (
	// pageSize bounds how many whole pods are in memory at once.
	pageSize = 100
	// listTimeout bounds a listing; the server's own limit is a minute.
	listTimeout = time.Minute
	// watchFor and its jitter are the server's own habit: a watch that hangs
	// unnoticed ends after a while, and not for all nodes at once.
	watchFor = 5 * time.Minute
)

// newClient makes a client that knows pods alone: the full set of types costs
// an agent megabytes.
func newClient(c *rest.Config) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	version := corev1.SchemeGroupVersion
	scheme.AddKnownTypes(version, &corev1.Pod{}, &corev1.PodList{})
	metav1.AddToGroupVersion(scheme, version)
	c = rest.CopyConfig(c)
	c.APIPath = "/api"
	c.GroupVersion = &version
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if c.ContentType == "" {
		c.ContentType = runtime.ContentTypeProtobuf
		c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	return rest.RESTClientFor(c)
}

func (f *follower) request(version string, o metav1.ListOptions) *rest.Request {
	o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", f.node).String()
	o.ResourceVersion = version
	return f.client.Get().Resource("pods").VersionedParams(&o, metav1.ParameterCodec)
}

// list reads the pods page by page, at least as new as version from, passes each
// to visit and returns the version of the list.
func (f *follower) list(ctx context.Context, from string, visit func(*corev1.Pod)) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	o := metav1.ListOptions{Limit: pageSize}
	for {
		var page corev1.PodList
		if err := f.request(from, o).Do(ctx).Into(&page); err != nil {
			return "", err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return page.ResourceVersion, nil
		}
		from = "" // a page that continues names its version itself
	}
}

func (f *follower) watch(ctx context.Context, version string) (watch.Interface, error) {
	seconds := int64((watchFor + rand.N(watchFor)).Seconds())
	o := metav1.ListOptions{Watch: true, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
	return f.request(version, o).Watch(ctx)
}
