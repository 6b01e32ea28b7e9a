package controller

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// objects is what the API has of profiles: what it takes to write them. Its Store
// is notified. Safe for concurrent use.
type objects struct {
	store   *profiler.Store
	strange func(name types.NamespacedName, why error)

	mu sync.Mutex
	of map[types.NamespacedName]kept
	// writing is the profile that is being written, lost reports that it was deleted
	// meanwhile: the answer to the write is older.
	writing types.NamespacedName
	lost    bool
}

// kept is of one profile.
type kept struct {
	version string
	uid     types.UID
	of      v1alpha1.WorkloadReference
	// owned: its owner asks for something, so that it is not ours to delete.
	owned      bool
	conditions []metav1.Condition
}

var _ cache.TransformingStore = (*objects)(nil)

// Transformer drops what is not kept of the profiles of a list in progress.
func (s *objects) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if p, ok := object.(*v1alpha1.WorkloadProfile); ok {
			p.Status.Slots, p.Status.Recommendation, p.ManagedFields = nil, nil, nil
		}
		return object, nil
	}
}

// Add notes a profile.
func (s *objects) Add(object any) error {
	if p, ok := object.(*v1alpha1.WorkloadProfile); ok {
		s.observe(p)
	}
	return nil
}

// Update does the same.
func (s *objects) Update(object any) error { return s.Add(object) }

// Delete notes that a profile has gone.
func (s *objects) Delete(object any) error {
	if p, ok := object.(*v1alpha1.WorkloadProfile); ok {
		s.lose(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
	return nil
}

// Replace notes all profiles that there are.
func (s *objects) Replace(list []any, _ string) error {
	there := make(map[types.NamespacedName]bool, len(list))
	for _, o := range list {
		if p, ok := o.(*v1alpha1.WorkloadProfile); ok {
			there[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = true
			s.observe(p)
		}
	}
	var gone []types.NamespacedName
	s.mu.Lock()
	for name := range s.of {
		if !there[name] {
			gone = append(gone, name)
		}
	}
	s.mu.Unlock()
	for _, name := range gone {
		s.lose(name)
	}
	return nil
}

// Resync has nothing to do.
func (s *objects) Resync() error { return nil }

func (s *objects) observe(p *v1alpha1.WorkloadProfile) {
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	of := p.Spec.Workload.In(p.Namespace)
	if v1alpha1.NameOf(of) != p.Name {
		s.strange(name, errName)
		return
	}
	o := profiler.Object{Workload: of, Spec: specOf(&p.Spec)}
	if d := p.Status.Demand; d != nil {
		demand, err := d.Value()
		if err != nil {
			s.strange(name, err)
		}
		o.Demand = demand
	}
	if p.Status.ObservedAt != nil {
		o.At = p.Status.ObservedAt.Time
	}
	o.Factors, o.Application = factorsIn(&p.Status), p.Status.Application
	o.Stale = meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.Stale)
	if s.keep(p) {
		s.store.Observed(time.Now(), o)
	}
}

// keep notes what the API server answered or sent, unless that is older than what is
// known: a watch may be behind our own writes.
func (s *objects) keep(p *v1alpha1.WorkloadProfile) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if older(p.ResourceVersion, s.of[name].version) {
		return false
	}
	bare := v1alpha1.WorkloadProfileSpec{Workload: p.Spec.Workload}
	s.of[name] = kept{
		version: p.ResourceVersion, uid: p.UID, of: p.Spec.Workload, owned: p.Spec != bare, conditions: p.Status.Conditions,
	}
	return true
}

// older compares versions, which are numbers; what is none is no older.
func older(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	y, err2 := strconv.ParseUint(b, 10, 64)
	return err == nil && err2 == nil && x < y
}

func (s *objects) get(name types.NamespacedName) (kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.of[name]
	return k, ok
}

// begin and end are around the writing of a profile. What was deleted meanwhile is
// lost at the end.
func (s *objects) begin(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing, s.lost = name, false
}

func (s *objects) end() {
	s.mu.Lock()
	name, lost := s.writing, s.lost
	s.writing, s.lost = types.NamespacedName{}, false
	s.mu.Unlock()
	if lost {
		s.lose(name)
	}
}

func (s *objects) lose(name types.NamespacedName) {
	s.mu.Lock()
	if name == s.writing {
		s.lost = true
	}
	k, ok := s.of[name]
	delete(s.of, name)
	s.mu.Unlock()
	if ok {
		s.store.Lost(time.Now(), k.of.In(name.Namespace))
	}
}

func specOf(s *v1alpha1.WorkloadProfileSpec) profiler.Spec {
	amounts := func(b *v1alpha1.Bounds) (a profile.Amounts) {
		if b == nil {
			return a
		}
		if b.CPU != nil {
			a.CPU = b.CPU.AsApproximateFloat64()
		}
		if b.Memory != nil {
			a.Memory = b.Memory.AsApproximateFloat64()
		}
		return a
	}
	return profiler.Spec{
		Preset: s.Preset, Application: s.Application, Bounds: profile.Bounds{Min: amounts(s.MinAllowed), Max: amounts(s.MaxAllowed)},
	}
}
