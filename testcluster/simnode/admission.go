package simnode

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// amounts are what pods request, or a node has.
type amounts struct{ milliCores, memory, pods int64 }

func (a amounts) plus(b amounts) amounts {
	return amounts{a.milliCores + b.milliCores, a.memory + b.memory, a.pods + b.pods}
}

func (a amounts) minus(b amounts) amounts {
	return amounts{a.milliCores - b.milliCores, a.memory - b.memory, a.pods - b.pods}
}

// requestsOf is what the pod as a whole requests.
func requestsOf(pod *corev1.Pod) amounts {
	list := resource.PodRequests(pod, resource.PodResourcesOptions{})
	return amounts{list.Cpu().MilliValue(), list.Memory().Value(), 1}
}

// rejection is why a kubelet does not run a pod that was bound to its node.
type rejection struct{ reason, message string }

// admit lets a pod in if its node has what it requests beside those that have not
// ended. k.mu is held.
func (k *kubelet) admit(t *tracked, requests amounts) *rejection {
	spec, held := k.machines[t.node].Spec(), k.held[t.node]
	has := amounts{int64(spec.Cores) * 1000, int64(spec.Memory), MaxPods}
	for _, r := range []struct {
		name                 corev1.ResourceName
		requested, used, has int64
	}{
		{corev1.ResourcePods, requests.pods, held.pods, has.pods},
		{corev1.ResourceCPU, requests.milliCores, held.milliCores, has.milliCores},
		{corev1.ResourceMemory, requests.memory, held.memory, has.memory},
	} {
		if r.requested > 0 && r.used+r.requested > r.has {
			t.finished = true
			return &rejection{"OutOf" + string(r.name), fmt.Sprintf(
				"Pod was rejected: Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", r.name, r.requested, r.used, r.has)}
		}
	}
	t.requests = requests
	k.held[t.node] = held.plus(requests)
	return nil
}

// release frees what a pod held, once. k.mu is held.
func (k *kubelet) release(t *tracked) {
	k.held[t.node] = k.held[t.node].minus(t.requests)
	t.requests = amounts{}
}
