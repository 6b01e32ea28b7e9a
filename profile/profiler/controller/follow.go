package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
)

// clients for lists and watches, which are of few types and many objects.
func podClient(config *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	version := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, "/api"
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

func profileClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, ""
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &v1alpha1.GroupVersion, "/apis", v1alpha1.Codecs
	return rest.RESTClientFor(config)
}

// follow keeps a store up to date until ctx ends. What fails is counted and, once a
// minute, logged.
func (c *Controller) follow(ctx context.Context, client rest.Interface, resource string, of runtime.Object, store cache.ReflectorStore) {
	lw := cache.NewListWatchFromClient(client, resource, metav1.NamespaceAll, fields.Everything())
	failed := func(verb string, err error) {
		if err != nil && ctx.Err() == nil {
			c.metrics.failures.WithLabelValues(resource).Inc()
			c.complain(verb+" "+resource, "pods or profiles are not followed", "verb", verb, "resource", resource, "error", err)
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
