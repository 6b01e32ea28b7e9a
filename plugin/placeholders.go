package plugin

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/reserve"
)

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
	beds := make([]types.UID, 0, len(p.of))
	for bed := range p.of {
		beds = append(beds, bed)
	}
	return beds
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
	for pod := range on {
		pods = append(pods, pod)
	}
	slices.Sort(pods)
	return pods, known
}

// forget forgets a node that is gone, unless placeholders are left there.
func (p *placeholders) forget(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.on[node]) == 0 {
		delete(p.on, node)
	}
}
