package page

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
	"github.com/spazio-scheduler/spazio/web"
)

// Course holds when a pod reached each stage; the zero time means not yet. A plain value.
type Course struct {
	Created, Bound, Running, Done time.Time
	// Failed is set if the pod is done without having done its work.
	Failed bool
}

// Sum summarizes the pods of one profile. total is how many there will be in the end, 0 if that
// is open. Pods that failed have no completion.
func Sum(profile string, total int, courses []Course) web.Run {
	r := web.Run{Profile: profile, Total: total}
	for _, c := range courses {
		if c.Created.IsZero() {
			continue
		}
		r.Submitted++
		if r.Started.IsZero() || c.Created.Before(r.Started) {
			r.Started = c.Created
		}
		switch {
		case c.Failed:
			r.Failed++
		case !c.Done.IsZero():
			r.Done++
		case !c.Running.IsZero():
			r.Running++
		case !c.Bound.IsZero():
			r.Starting++
		}
	}
	for _, c := range courses {
		if !c.Created.IsZero() && !c.Done.IsZero() && !c.Failed {
			r.Completions = append(r.Completions, web.Completion{Since: c.Done.Sub(r.Started), Took: c.Done.Sub(c.Created)})
		}
	}
	r.Ended = total > 0 && r.Done+r.Failed >= total
	return r
}

// recently is how long after its end a pod is still drawn, as a page shows what is going on.
const recently = time.Hour

// Runs summarizes a cluster's pods by profile, in the order of the profiles' names: those that
// are not done, and those that were done within the last hour. Their times come from the API and
// from containers' statuses, which have no fractions of seconds. Pods of nodes, such as
// DaemonSets', are left out, because no node is chosen for them, and so are placeholders.
func Runs(pods []*v1.Pod, placeholder func(types.UID) bool, now time.Time) []web.Run {
	byProfile := make(map[string][]Course)
	for _, pod := range pods {
		if podstate.IsNodeOwned(pod) || placeholder(pod.UID) {
			continue
		}
		c := courseOf(pod)
		if c.Done.IsZero() || now.Sub(c.Done) < recently {
			byProfile[pod.Spec.SchedulerName] = append(byProfile[pod.Spec.SchedulerName], c)
		}
	}
	var runs []web.Run
	for _, profile := range slices.Sorted(maps.Keys(byProfile)) {
		r := Sum(profile, 0, byProfile[profile])
		r.Resolution = time.Second
		if len(r.Completions) > web.MaxCompletions { // the earliest completions are dropped
			slices.SortFunc(r.Completions, func(a, b web.Completion) int { return cmp.Compare(b.Since, a.Since) })
			r.Completions = r.Completions[:web.MaxCompletions]
		}
		runs = append(runs, r)
	}
	return runs
}

// courseOf returns the stages that a pod has reached.
func courseOf(pod *v1.Pod) Course {
	c := Course{Created: pod.CreationTimestamp.Time, Failed: pod.Status.Phase == v1.PodFailed}
	if pod.Spec.NodeName != "" {
		c.Bound = c.Created // only whether it is bound counts
	}
	switch pod.Status.Phase {
	case v1.PodRunning:
		c.Running = c.Created
	case v1.PodSucceeded, v1.PodFailed:
		c.Done = cmp.Or(podstate.EndedAt(pod), c.Created)
	}
	return c
}
