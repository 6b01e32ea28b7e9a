package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
)

// typedClient is for lists and watches of one group, which are of few types and many
// objects.
func typedClient(config *rest.Config, path string, version schema.GroupVersion, add func(*runtime.Scheme) error) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := add(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, version)
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, path
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

func podClient(config *rest.Config) (rest.Interface, error) {
	return typedClient(config, "/api", schema.GroupVersion{Version: "v1"}, corev1.AddToScheme)
}

func profileClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, ""
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &v1alpha1.GroupVersion, "/apis", v1alpha1.Codecs
	return rest.RESTClientFor(config)
}

// listWatch is of a resource's objects in all namespaces, those that labels select.
func listWatch(client rest.Interface, resource, labels string) cache.ListerWatcherWithContext {
	return cache.ToListerWatcherWithContext(cache.NewFilteredListWatchFromClient(client, resource, metav1.NamespaceAll, func(o *metav1.ListOptions) { o.LabelSelector = labels }))
}

// follow keeps a store up to date until ctx ends. What fails is counted and, once a
// minute, logged.
func (c *Controller) follow(ctx context.Context, lw cache.ListerWatcherWithContext, resource string, of runtime.Object, store cache.ReflectorStore) {
	failed := func(verb string, err error) {
		if err != nil && ctx.Err() == nil {
			c.metrics.failures.WithLabelValues(resource).Inc()
			c.complain(verb+" "+resource, "objects are not followed", "verb", verb, "resource", resource, "error", err)
		}
	}
	watched := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := lw.ListWithContext(ctx, o)
			failed("list", err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := lw.WatchWithContext(ctx, o)
			failed("watch", err)
			return w, err
		},
	}
	cache.NewReflectorWithOptions(watched, of, store, cache.ReflectorOptions{Name: resource}).RunWithContext(ctx)
}
