package slots

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// job is the part of a BatchJob that is needed to place its pods. It is never changed.
type job struct {
	name types.NamespacedName
	uid  types.UID
	// testbed, places, attempt and holds are the creationRequest's, or zero without one. holds is
	// what each slot holds.
	testbed types.UID
	places  []place
	attempt string
	holds   v1.ResourceList
}

// The fields of a BatchJob that are read.
var (
	testbedField   = []string{"status", "creationRequest", "testbed", "uid"}
	slotsField     = []string{"status", "creationRequest", "slots"}
	attemptField   = []string{"status", "creationRequest", "attempt"}
	resourcesField = []string{"status", "creationRequest", "resources"}
)

// strip keeps the fields that are read, the object's kind and its identity.
func strip(obj any) (any, error) {
	return objects.Strip(obj, testbedField, slotsField, attemptField, resourcesField)
}

// readJob reads what strip keeps. An API server that has the definition accepts no request that
// can't be read.
func readJob(u *unstructured.Unstructured) (*job, error) {
	j := &job{name: types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}, uid: u.GetUID()}
	testbed, found, err := unstructured.NestedString(u.Object, testbedField...)
	if err != nil || !found {
		return j, err
	}
	attempt, _, err := unstructured.NestedInt64(u.Object, attemptField...)
	if err != nil {
		return nil, err
	}
	names, _, err := unstructured.NestedStringSlice(u.Object, slotsField...)
	if err != nil {
		return nil, err
	}
	resources, _, err := unstructured.NestedMap(u.Object, resourcesField...)
	if err != nil {
		return nil, err
	}
	if j.holds, err = quantities(resources); err != nil {
		return nil, err
	}
	j.testbed, j.attempt, j.places = types.UID(testbed), strconv.FormatInt(attempt, 10), make([]place, len(names))
	for i, name := range names {
		id, err := slot.ParseID(name)
		if err != nil {
			return nil, err
		}
		j.places[i] = place{j.testbed, id}
	}
	return j, nil
}

func quantities(written map[string]any) (v1.ResourceList, error) {
	list := make(v1.ResourceList, len(written))
	for name, text := range written {
		q, err := resource.ParseQuantity(fmt.Sprint(text))
		if err != nil {
			return nil, fmt.Errorf("resources[%s] = %v: %w", name, text, err)
		}
		list[v1.ResourceName(name)] = q
	}
	return list, nil
}

// sameRequest reports whether the pods of both jobs may go to the same places.
func (j *job) sameRequest(other *job) bool {
	return j.testbed == other.testbed && j.attempt == other.attempt && slices.Equal(j.places, other.places) &&
		maps.EqualFunc(j.holds, other.holds, func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
}

// exceeds lists the resources of which the pod asks for more than a slot holds, among those that
// the slots name; it returns "" if there are none.
func (j *job) exceeds(requests []request) string {
	var excess []string
	for _, r := range requests {
		holds, named := j.holds[r.resource]
		if !named {
			continue
		}
		if r.amount > unitsOf(r.resource, holds) {
			excess = append(excess, fmt.Sprintf("%s %s (a slot holds %s)", written(r), r.resource, holds.String()))
		}
	}
	return strings.Join(excess, ", ")
}

// written returns the amount as it is written in a manifest.
func written(r request) string {
	switch r.resource {
	case v1.ResourceCPU:
		return resource.NewMilliQuantity(r.amount, resource.DecimalSI).String()
	case v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return resource.NewQuantity(r.amount, resource.BinarySI).String()
	}
	return resource.NewQuantity(r.amount, resource.DecimalSI).String()
}

// jobs holds the BatchJobs of the API, and the pods that wait for one of their slots. Safe for
// concurrent use.
type jobs struct {
	mu      sync.RWMutex
	byUID   map[types.UID]*job
	waiting map[types.UID]objects.Activation // as their profiles activate them
	// wide holds, by job, the runs whose pods are tried on the nodes of all their slots.
	wide map[types.UID]run
}

func newJobs() *jobs {
	return &jobs{byUID: make(map[types.UID]*job), waiting: make(map[types.UID]objects.Activation), wide: make(map[types.UID]run)}
}

// of returns the pod's job, nil if there is none in its namespace.
func (j *jobs) of(pod *v1.Pod) *job {
	j.mu.RLock()
	defer j.mu.RUnlock()
	found := j.byUID[types.UID(pod.Labels[LabelBatchJobUID])]
	if found == nil || found.name.Namespace != pod.Namespace {
		return nil
	}
	return found
}

// set replaces what is known about a job, and reports whether it asks for other slots now.
func (j *jobs) set(now *job) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.byUID[now.uid]
	j.byUID[now.uid] = now
	return before == nil || !before.sameRequest(now)
}

func (j *jobs) remove(uid types.UID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.byUID, uid)
	delete(j.wide, uid)
}

// widen makes the pods of the run be tried on the nodes of all their slots from now on.
func (j *jobs) widen(of run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if uid := types.UID(of.job); j.byUID[uid] != nil {
		j.wide[uid] = of
	}
}

// widened reports whether the pods of the run are tried on the nodes of all their slots.
func (j *jobs) widened(of run) bool {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.wide[types.UID(of.job)] == of
}

// clear forgets the jobs, but not the pods that wait.
func (j *jobs) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.byUID)
	clear(j.wide)
}

// wait records that a pod is being tried.
func (j *jobs) wait(w objects.Activation) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting[w.Pod.UID] = w
}

// done records that a pod no longer waits.
func (j *jobs) done(pod types.UID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.waiting, pod)
}

// waitersOf returns the waiting pods of the job.
func (j *jobs) waitersOf(job types.UID) []objects.Activation {
	return slices.DeleteFunc(j.all(), func(w objects.Activation) bool {
		return isPlaceholder(w.Pod) || types.UID(w.Pod.Labels[LabelBatchJobUID]) != job
	})
}

// waitersFor returns the waiting pods whose jobs have the place, and the place's waiting placeholders.
func (j *jobs) waitersFor(at place) []objects.Activation {
	has := make(map[*job]bool) // many pods are of few jobs
	return slices.DeleteFunc(j.all(), func(w objects.Activation) bool {
		if isPlaceholder(w.Pod) {
			of, ok := placeOf(w.Pod)
			return !ok || of != at
		}
		of := j.of(w.Pod)
		if _, known := has[of]; !known {
			has[of] = of != nil && slices.Contains(of.places, at)
		}
		return !has[of]
	})
}

// all returns every pod that waits.
func (j *jobs) all() []objects.Activation {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return slices.Collect(maps.Values(j.waiting))
}
