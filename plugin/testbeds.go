package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Placeholder reports whether the status of a Testbed names the pod.
func (h *Hub) Placeholder(pod types.UID) bool {
	_, is := h.placeholders.units(reserve.KeyOf(string(pod)))
	return is
}

// renamePlaceholders takes in what the status of a Testbed names, nothing of one that is
// gone. Pods that are bound already change what the ledger has them for.
func (h *Hub) renamePlaceholders(logger klog.Logger, bed types.UID, next testbedPlaceholders) {
	h.placeholders.change.Lock()
	defer h.placeholders.change.Unlock()
	changed, ended := h.placeholders.replace(bed, next)
	nodes := make(map[string]struct{})
	for _, key := range changed {
		node, placed := h.placeholders.where(key)
		if pod, claimed := h.ledger.Pod(key); claimed && pod.Claim == reserve.Bound {
			node, placed = pod.Node, true
		}
		if placed && h.placeholderBound(logger, node, key, next.units) {
			nodes[node] = struct{}{}
		}
	}
	again := make(map[reserve.PodKey]struct{})
	for _, key := range ended {
		if node, placed := h.placeholders.remove(key); placed {
			nodes[node], again[key] = struct{}{}, struct{}{}
		}
	}
	for name := range nodes {
		h.sendPlaceholders(name)
	}
	h.ordinaryAgain(logger, again)
}

// ordinaryAgain enters pods into the ledger that are no placeholders any more. They are
// few, and it is rare.
func (h *Hub) ordinaryAgain(logger klog.Logger, keys map[reserve.PodKey]struct{}) {
	if len(keys) == 0 {
		return
	}
	for _, pod := range h.allPods() {
		if _, is := keys[reserve.KeyOf(string(pod.UID))]; is {
			h.podKnown(logger, pod)
		}
	}
}

// placeholderBound holds the room of a placeholder on the node that the API shows it on,
// and reports whether it was not there before.
func (h *Hub) placeholderBound(logger klog.Logger, node string, key reserve.PodKey, units float64) bool {
	h.workloads.leave(key) // should it have been another pod before
	if err := h.hold(node, key, units); err != nil {
		logger.Error(err, "A placeholder holds room for one pod", "node", node)
		_ = h.hold(node, key, 1) // in range
	}
	return h.placeholders.add(node, key)
}

// hold holds room for so many pods on a node.
func (h *Hub) hold(node string, key reserve.PodKey, pods float64) (err error) {
	h.change(node, func() (changed bool) {
		changed, err = h.ledger.Hold(node, key, pods)
		return changed
	})
	return err
}

// placeholderGone forgets a pod that is no placeholder, or none any more. The ledger gives
// its room back.
func (h *Hub) placeholderGone(key reserve.PodKey) {
	if node, known := h.placeholders.remove(key); known {
		h.sendPlaceholders(node)
	}
}

// sendPlaceholders sends a node's agent which placeholders are there, once they are all
// known.
func (h *Hub) sendPlaceholders(name string) {
	n := h.nodes.get(name)
	if n == nil {
		h.placeholders.forget(name) // it went before its placeholders
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	h.sendPlaceholdersLocked(n)
}

// sendPlaceholdersLocked is sendPlaceholders for a caller that holds the node's mutex: the
// set is read under it, so that the newest goes out last.
func (h *Hub) sendPlaceholdersLocked(n *node) {
	if n.stream == nil || !h.synced.Load() {
		return
	}
	if pods, known := h.placeholders.list(n.name); known {
		n.stream.enqueuePlaceholders(pods)
	}
}

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
func (h *Hub) testbedSource(handle Cluster) (cache.ListerWatcher, error) {
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
		// Every account may list the API's kinds. Testbeds themselves may be read only
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
	beds := objects.Kind{
		Source: source, Object: &unstructured.Unstructured{}, Retry: testbedsRetry,
		Strip: func(obj any) (any, error) { // to the fields that are read
			return objects.Strip(obj, placeholdersField, slotsPerNodeField, unitsField)
		},
		Handler: objects.Handler(func(u *unstructured.Unstructured) {
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

// placeholdersOf reads the fields. What can't be read names no pod, and a size
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

// placeholders holds which pods are placeholders: pods that run nothing and hold room on
// their node for others to come, as the slots of a test bed do. A pod is one only while
// the status of a Testbed names its UID, which the controller of Testbeds alone may write.
// Labels, annotations and owner references prove nothing: the creator of a pod writes them.
// Safe for concurrent use.
type placeholders struct {
	// change is held while a pod is taken in or forgotten, and while the pods that a status
	// names change, so that the ledger has each pod as what it is. It comes before the mutex
	// of a node.
	change sync.Mutex

	mu sync.RWMutex
	// named is for how many pods each placeholder holds room; of is what each Testbed names.
	named map[reserve.PodKey]float64
	of    map[types.UID]testbedPlaceholders
	// on keeps a node whose placeholders are all gone: its agent may have yet to be sent
	// the empty set.
	on   map[string]map[reserve.PodKey]struct{}
	node map[reserve.PodKey]string
}

// testbedPlaceholders are the pods that the status of one Testbed names, and the pods that
// each holds room for.
type testbedPlaceholders struct {
	pods  []reserve.PodKey
	units float64
}

// units returns for how many pods a placeholder holds room; ok is false for another pod.
func (p *placeholders) units(pod reserve.PodKey) (units float64, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	units, ok = p.named[pod]
	return units, ok
}

// replace sets what the status of a Testbed names, and returns the pods that are
// placeholders by now of another size than before, and those that are none any more.
func (p *placeholders) replace(bed types.UID, next testbedPlaceholders) (changed, ended []reserve.PodKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.of[bed]
	if p.of[bed] = next; len(next.pods) == 0 {
		delete(p.of, bed)
	}
	still := make(map[reserve.PodKey]struct{}, len(next.pods))
	for _, pod := range next.pods {
		still[pod] = struct{}{}
		if units, known := p.named[pod]; !known || units != next.units {
			p.named[pod] = next.units
			changed = append(changed, pod)
		}
	}
	for _, pod := range before.pods {
		if _, named := still[pod]; !named {
			delete(p.named, pod)
			ended = append(ended, pod)
		}
	}
	return changed, ended
}

// testbeds returns the Testbeds that name placeholders.
func (p *placeholders) testbeds() []types.UID {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Collect(maps.Keys(p.of))
}

// add notes a placeholder on a node and reports whether it was not there before.
func (p *placeholders) add(node string, pod reserve.PodKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.node[pod]; known {
		return false
	}
	if p.on[node] == nil {
		p.on[node] = make(map[reserve.PodKey]struct{})
	}
	p.on[node][pod], p.node[pod] = struct{}{}, node
	return true
}

// remove forgets a pod and returns the node on which it was a placeholder, if it was one.
func (p *placeholders) remove(pod reserve.PodKey) (node string, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if node, known = p.node[pod]; known {
		delete(p.node, pod)
		delete(p.on[node], pod)
	}
	return node, known
}

// where returns the node on which a pod is a placeholder, if it is one.
func (p *placeholders) where(pod reserve.PodKey) (node string, known bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	node, known = p.node[pod]
	return node, known
}

// list returns a node's placeholders by key; known is false where there never were any.
func (p *placeholders) list(node string) (pods []reserve.PodKey, known bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	on, known := p.on[node]
	return slices.Sorted(maps.Keys(on)), known
}

// forget forgets a node that is gone, unless placeholders are left there.
func (p *placeholders) forget(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.on[node]) == 0 {
		delete(p.on, node)
	}
}
