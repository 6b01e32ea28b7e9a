package slots

import (
	"cmp"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
)

// request is how much of a resource a pod asks for, in thousandths of cores or in units.
type request struct {
	resource v1.ResourceName
	amount   int64
}

// requestsOf returns the pod's requests that are not zero: cpu, memory and storage first, then
// the others by name.
func requestsOf(pod *v1.Pod) []request {
	var requests []request
	for name, quantity := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		amount := unitsOf(name, quantity)
		if amount > 0 && counted(name) {
			requests = append(requests, request{name, amount})
		}
	}
	slices.SortFunc(requests, func(a, b request) int {
		return cmp.Or(cmp.Compare(rank(a.resource), rank(b.resource)), strings.Compare(string(a.resource), string(b.resource)))
	})
	return requests
}

// unitsOf returns an amount in thousandths of cores or in units. An amount beyond int64, whose
// own conversion gives 0 or less, becomes the largest int64.
func unitsOf(name v1.ResourceName, q apiresource.Quantity) int64 {
	most := int64(math.MaxInt64)
	if name == v1.ResourceCPU {
		most /= 1000
	}
	switch {
	case q.CmpInt64(most) > 0:
		return math.MaxInt64
	case name == v1.ResourceCPU:
		return q.MilliValue()
	}
	return q.Value()
}

var first = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}

func rank(name v1.ResourceName) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

// counted reports whether nodes account for the resource.
func counted(name v1.ResourceName) bool {
	return rank(name) < len(first) || strings.Contains(string(name), "/") ||
		strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) || strings.HasPrefix(string(name), v1.ResourceAttachableVolumesPrefix)
}

func amountOf(r fwk.Resource, name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return r.GetMilliCPU()
	case v1.ResourceMemory:
		return r.GetMemory()
	case v1.ResourceEphemeralStorage:
		return r.GetEphemeralStorage()
	}
	return r.GetScalarResources()[name]
}

// swaps are those slots of a node in which a pod takes the place of a placeholder.
type swaps struct {
	// whole holds placeholders that do not count at all, because the pod that is to be fitted takes
	// their place. pairs holds placeholders with their pods, of which the smaller does not count.
	whole []fwk.Resource
	pairs [][2]fwk.Resource
}

// pods returns how many of the node's pods will go.
func (s *swaps) pods() int { return len(s.whole) + len(s.pairs) }

// amount returns how much of the resource is counted twice on the node.
func (s *swaps) amount(name v1.ResourceName) (sum int64) {
	for _, g := range s.whole {
		sum += amountOf(g, name)
	}
	for _, p := range s.pairs {
		sum += min(amountOf(p[0], name), amountOf(p[1], name))
	}
	return sum
}

// lacks returns the reasons why a pod with these requests does not fit on the node, in
// NodeResourcesFit's words, or none if it fits.
func lacks(requests []request, node fwk.NodeInfo, s *swaps, drawn func(v1.ResourceName) bool) (reasons []string) {
	if len(node.GetPods())+1-s.pods() > node.GetAllocatable().GetAllowedPodNumber() {
		reasons = append(reasons, "Too many pods")
	}
	for _, r := range requests {
		allocatable := amountOf(node.GetAllocatable(), r.resource)
		free := allocatable - amountOf(node.GetRequested(), r.resource) + s.amount(r.resource)
		if r.amount > free && (allocatable > 0 || !drawn(r.resource)) {
			reasons = append(reasons, "Insufficient "+string(r.resource))
		}
	}
	return reasons
}
