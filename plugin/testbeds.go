package plugin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/internal/informer"
	"github.com/spazio-scheduler/spazio/plugin/internal/optional"
	"github.com/spazio-scheduler/spazio/reserve"
)

// testbedsRetry is how often an API server without Testbeds, or one that does not let them
// be read, is asked again.
const testbedsRetry = time.Minute

// testbedResource is what package operator/v1alpha1 defines: plugins don't import the
// operator. A test of the programs, which know both, holds the fields equal.
var testbedResource = schema.GroupVersionResource{Group: "testbed.spazio-scheduler.github.io", Version: "v1alpha1", Resource: "testbeds"}

// The fields of a Testbed that are read.
var (
	placeholdersField = []string{"status", "placeholders"}
	slotsPerNodeField = []string{"spec", "slotsPerNode"}
	unitsField        = []string{"spec", "auto", "unitsPerSlot"}
)

// slotsAuto is the slotsPerNode of a Testbed whose slots have a size in pods.
const slotsAuto = "auto"

// testbedSource is where the Testbeds are, nil where none are to be looked for.
func (h *Hub) testbedSource(handle fwk.Handle) (cache.ListerWatcher, error) {
	switch {
	case h.options.Testbeds != nil:
		return h.options.Testbeds, nil
	case handle.KubeConfig() == nil:
		return nil, nil
	}
	client, err := dynamic.NewForConfig(handle.KubeConfig())
	if err != nil {
		return nil, fmt.Errorf("client for Testbeds: %w", err)
	}
	r, version := client.Resource(testbedResource), testbedResource.GroupVersion().String()
	return &cache.ListWatch{ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		// Everybody may ask which kinds there are. Testbeds themselves may be read only
		// where their component is installed, and elsewhere nothing should be refused.
		if _, err := handle.ClientSet().Discovery().ServerResourcesForGroupVersion(version); err != nil {
			return nil, err
		}
		return r.List(ctx, o)
	}, WatchFuncWithContext: r.Watch}, nil
}

// followTestbeds keeps which pods are placeholders up to date until ctx ends. Without
// Testbeds no pod is one.
func (h *Hub) followTestbeds(ctx context.Context, source cache.ListerWatcher) {
	logger := klog.FromContext(ctx)
	beds := optional.Kind{
		Source: source, Object: &unstructured.Unstructured{}, Strip: stripTestbed, Retry: testbedsRetry,
		Handler: informer.Handler(func(u *unstructured.Unstructured) {
			h.renamePlaceholders(logger, u.GetUID(), placeholdersOf(logger, u))
		}, func(u *unstructured.Unstructured) {
			h.renamePlaceholders(logger, u.GetUID(), testbedPlaceholders{})
		}),
		Synced: func() {},
		Ended: func(error) {
			for _, bed := range h.placeholders.testbeds() {
				h.renamePlaceholders(logger, bed, testbedPlaceholders{})
			}
		},
	}
	beds.Follow(ctx)
}

// stripTestbed keeps the fields that are read, and what makes it an object.
func stripTestbed(obj any) (any, error) {
	return optional.Strip(obj, placeholdersField, slotsPerNodeField, unitsField)
}

// placeholdersOf reads what stripTestbed keeps. What can't be read names no pod, and a size
// that can't be is one pod's.
func placeholdersOf(logger klog.Logger, u *unstructured.Unstructured) testbedPlaceholders {
	text, _, _ := unstructured.NestedString(u.Object, placeholdersField...)
	of := testbedPlaceholders{units: 1}
	for _, uid := range strings.Fields(text) {
		of.pods = append(of.pods, reserve.KeyOf(uid))
	}
	if slots, _, _ := unstructured.NestedFieldNoCopy(u.Object, slotsPerNodeField...); slots != slotsAuto {
		return of
	}
	size, there, _ := unstructured.NestedFieldNoCopy(u.Object, unitsField...)
	if !there {
		return of
	}
	units, err := resource.ParseQuantity(fmt.Sprint(size))
	if err != nil {
		logger.Error(err, "The slots of a Testbed hold room for one pod each", "testbed", klog.KObj(u), "unitsPerSlot", size)
		return of
	}
	of.units = units.AsApproximateFloat64()
	return of
}
