package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
	"github.com/spazio-scheduler/spazio/reserve"
)

// PendingPod is a pod that has no node. A plain value.
type PendingPod struct {
	Namespace string
	Name      string
	// Profile is the pod's scheduler.
	Profile string
	// Since is when it was created.
	Since time.Time
	// Reason says why it has none: what the last attempt saw if the plugin refused it all
	// nodes, else the message of its condition PodScheduled.
	Reason string
}

// Pending returns the pods without a node that are the oldest, whatever their profile, at
// most so many and the oldest first, and how many there are in all. A pod that is in
// flight is none of them. The time that it takes grows with the number of pods, which it
// looks at one by one.
func (h *Hub) Pending(most int) (oldest []PendingPod, total int) {
	before := func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}
	var pods []*v1.Pod // the oldest so far and, unsorted, less than as many again and a thousand
	for _, pod := range h.Pods() {
		if pod.Spec.NodeName != "" || podstate.IsTerminal(pod) {
			continue
		}
		if _, reserved := h.ledger.Pod(reserve.KeyOf(string(pod.UID))); !reserved {
			total++
			pods = append(pods, pod)
		}
		if len(pods) >= 2*most+1000 {
			slices.SortFunc(pods, before)
			pods = pods[:most]
		}
	}
	slices.SortFunc(pods, before)
	for _, pod := range pods[:min(most, len(pods))] {
		oldest = append(oldest, PendingPod{
			Namespace: pod.Namespace, Name: pod.Name, Profile: pod.Spec.SchedulerName, Since: pod.CreationTimestamp.Time, Reason: h.whyPending(pod),
		})
	}
	return oldest, total
}

// Pods returns all pods that the scheduler knows, in any order; none before New. They are
// the informer's: not to be changed.
func (h *Hub) Pods() []*v1.Pod {
	if h.Addr() == nil {
		return nil
	}
	return h.allPods()
}

// allPods is Pods of a started Hub.
func (h *Hub) allPods() []*v1.Pod {
	pods, _ := h.pods.List(labels.Everything()) // a cache's lister returns no error
	return pods
}

// whyPending is for a pod without a node.
func (h *Hub) whyPending(pod *v1.Pod) string {
	var summary *Attempt
	if a := h.waiting.find(pod.UID); a != nil {
		summary = a.summary.Load()
	}
	said := podstate.Unscheduled(pod)
	switch {
	case summary != nil && summary.WithRoom == 0 && len(summary.Refusals) > 0:
		return fmt.Sprintf("none of %s has room: %s", plural(summary.Nodes, "node"), inWords(summary.Refusals))
	case said != "":
		return said
	case summary != nil:
		return fmt.Sprintf("%d of %s had room when it was tried", summary.WithRoom, plural(summary.Nodes, "node"))
	}
	return "not tried yet"
}

// plural counts things in words, as in "1 node" and "2 nodes".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
