package resize

import (
	"encoding/json"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// Every is the least time between two changes of a pod, and from its start to the first.
const Every = 10 * time.Minute

const (
	// leastChange is the share of a request below which it stays.
	leastChange = .1
	// enough is the confidence in a workload from which on its pods are changed.
	enough = .5
)

// Verdict is what becomes of a pod.
type Verdict string

// Verdicts.
const (
	// Change: its requests are to be changed.
	Change Verdict = "change"
	// Fits: they are about what is recommended.
	Fits Verdict = "fits"
	// Unfit: it does not run, or its class or kind can't be resized.
	Unfit Verdict = "unfit"
	// Early: it began, or was changed, less than Every ago.
	Early Verdict = "early"
	// Infeasible: its node can't take the last change, ever.
	Infeasible Verdict = "infeasible"
	// Waiting: its node has not made the last change yet.
	Waiting Verdict = "waiting"
	// Unknown: too little is known of its workload, or nothing of late.
	Unknown Verdict = "unknown"
	// Scaled: the number of pods follows what they take of what they request.
	Scaled Verdict = "scaled"
	// Guaranteed: with these requests it would be of another class.
	Guaranteed Verdict = "guaranteed"
)

// Verdicts are all.
func Verdicts() []Verdict {
	return []Verdict{Change, Fits, Unfit, Early, Infeasible, Waiting, Unknown, Scaled, Guaranteed}
}

// Known is what there is to decide by. It is a plain value, safe for concurrent reading.
type Known struct {
	// Advice is about the pod's workload; Known reports that there is any.
	Advice profiler.Advice
	Known  bool
	Scaled Scaling
	// Peak is the most memory that a container of the pod was seen with, in bytes, 0 if it
	// was not measured. It is needed where there is Advice.
	Peak func(container string) float64
}

// Decide says what requests the containers of a pod should have: a strategic merge patch
// of pods/resize, for the pod's version and UID. It is nil unless the verdict is Change.
func Decide(at time.Time, p *Pod, k Known) (patch []byte, v Verdict) {
	switch {
	case !p.Resizable:
		return nil, Unfit
	case p.Waits == "Infeasible":
		return nil, Infeasible
	case p.Waits != "":
		return nil, Waiting
	case at.Sub(p.Since) < Every:
		return nil, Early
	case !k.Known || k.Advice.Stale || k.Advice.Demand.CPU.Confidence < enough || k.Advice.Demand.Memory.Confidence < enough:
		return nil, Unknown
	case k.Scaled.CPU && k.Scaled.Memory:
		return nil, Scaled
	}
	var changed []any
	strict := p.strict
	for i := range p.Containers {
		c := &p.Containers[i]
		requests, changes := c.follow(k)
		strict = strict && c.strict(requests)
		if len(changes) > 0 {
			changed = append(changed, map[string]any{"name": c.Name, "resources": map[string]any{"requests": changes}})
		}
	}
	switch {
	case changed == nil && (k.Scaled.CPU || k.Scaled.Memory):
		return nil, Scaled
	case changed == nil:
		return nil, Fits
	case strict:
		return nil, Guaranteed
	}
	// The version makes the patch one of the pod that was seen.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID, "resourceVersion": p.Version}, "spec": map[string]any{"containers": changed},
	})
	if err != nil { // texts and maps of them
		return nil, Unfit
	}
	return patch, Change
}

// follow is what a container requests when it follows what is recommended, and what of
// that is a change.
func (c *Container) follow(k Known) (requests [resources]float64, changes map[string]string) {
	requests = c.requests
	scaled := [resources]bool{k.Scaled.CPU, k.Scaled.Memory}
	for r := range names {
		target := recommended(k.Advice.Recommendations, c.Name, r)
		old := c.requests[r]
		if target == 0 || old == 0 || c.fixed[r] || scaled[r] {
			continue
		}
		if r == memory && target < old {
			peak := k.Peak(c.Name)
			if peak == 0 {
				continue
			}
			target = max(target, peak)
		}
		if c.limits[r] > 0 {
			target = min(target, c.limits[r])
		}
		if math.Abs(target-old) < leastChange*old {
			continue
		}
		if changes == nil {
			changes = map[string]string{}
		}
		requests[r] = target
		changes[string(names[r])] = quantityOf(r, target)
	}
	return requests, changes
}

// recommended is the target of a container, 0 without.
func recommended(all []profile.Recommendation, container string, r int) float64 {
	for i := range all {
		if all[i].Container == container {
			return [resources]float64{all[i].Target.CPU, all[i].Target.Memory}[r]
		}
	}
	return 0
}
