package batch

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// binding is that of a pod to a node.
type binding struct {
	Pod, Node string
	// At is when the watch brought it.
	At time.Time
}

// Bindings are those of pods by their UIDs. It is a plain value: reading it
// concurrently is safe.
type Bindings map[types.UID]binding

// PerNode counts the bindings of the pods whose names begin with the prefix.
func (b Bindings) PerNode(prefix string) map[string]int {
	counts := map[string]int{}
	for _, one := range b {
		if strings.HasPrefix(one.Pod, prefix) {
			counts[one.Node]++
		}
	}
	return counts
}

// LongestPause returns the longest time without a binding that ended between two
// moments.
func (b Bindings) LongestPause(from, to time.Time) (longest time.Duration) {
	var times []time.Time
	for _, one := range b {
		times = append(times, one.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := 1; i < len(times); i++ {
		if times[i].After(from) && times[i].Before(to) {
			longest = max(longest, times[i].Sub(times[i-1]))
		}
	}
	return longest
}
