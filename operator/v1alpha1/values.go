package v1alpha1

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Automatic reports whether the number of slots follows the nodes' measured room.
func (s *TestbedSpec) Automatic() bool {
	return s.SlotsPerNode.Type == intstr.String && s.SlotsPerNode.StrVal == SlotsAuto
}

// EffectiveAuto returns Auto with every field set: what is absent has its default. An
// API server can't do that for Auto as a whole, as a fixed number of slots has none.
func (s *TestbedSpec) EffectiveAuto() Auto {
	var a Auto
	if s.Auto != nil {
		a = *s.Auto.DeepCopy()
	}
	a.UnitsPerSlot = cmp.Or(a.UnitsPerSlot, resource.NewQuantity(1, resource.DecimalSI))
	if a.Max == nil {
		most := int32(16)
		a.Max = &most
	}
	a.GrowAfter = cmp.Or(a.GrowAfter, &metav1.Duration{Duration: 30 * time.Second})
	a.ShrinkAfter = cmp.Or(a.ShrinkAfter, &metav1.Duration{Duration: 10 * time.Second})
	return a
}

// TestbedKey returns the name of the Testbed that the Scheduling uses.
func (s *Scheduling) TestbedKey() types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(s.Spec.Testbed.Namespace, s.Namespace), Name: s.Spec.Testbed.Name}
}

// Bounds of a job's history: an object is to stay well below the 1.5 MiB that etcd takes.
const (
	// maxRuns are kept.
	maxRuns = 50
	// MaxRunSlots of all runs together are kept.
	MaxRunSlots = 5000
)

// AddRun puts a run at the end of Runs. Of the runs before it the latest stay, at most
// MaxRuns in all, and as far as MaxRunSlots goes their slots. It keeps no reference to
// what Runs was.
func (s *BatchJobStatus) AddRun(run Run) {
	before := s.Runs[max(0, len(s.Runs)+1-maxRuns):]
	runs := make([]Run, 0, len(before)+1)
	runs = append(append(runs, before...), run)
	slots := 0
	for i := len(runs) - 1; i >= 0; i-- {
		if slots += len(runs[i].Slots); slots > MaxRunSlots && i < len(runs)-1 {
			runs[i].Slots = nil
		}
	}
	s.Runs = runs
}
