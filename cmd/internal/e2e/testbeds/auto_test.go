package testbeds

import (
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// rooms are those of the rig's nodes, all alike: what ghosts hold of them is counted.
type rooms struct {
	*rig
	changed chan struct{}

	mu    sync.Mutex
	avail float64
	fresh bool
}

func (s *rooms) set(avail float64, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.avail, s.fresh = avail, fresh
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Room implements room.Source.
func (s *rooms) Room(node string) (room.Reading, bool) {
	held := 0.
	list, err := s.plain.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelRole + "=" + v1alpha1.RoleGhost})
	if err != nil {
		return room.Reading{}, false
	}
	for i := range list.Items {
		if list.Items[i].Spec.NodeName == node {
			held++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return room.Reading{Avail: s.avail, Held: held, Fresh: s.fresh, CostKnown: true}, true
}

// Changed implements room.Source.
func (s *rooms) Changed() <-chan struct{} { return s.changed }

// Slots follow what nodes have room for. Where an agent falls silent they stay as they
// are, and jobs run in them, whatever it said last; when it speaks again they follow.
func TestAgentSilent(t *testing.T) {
	r := newRig(t, 1)
	source := &rooms{rig: r, changed: make(chan struct{}, 1), avail: 1, fresh: true}
	r.schedule(nil)
	r.control(controller.Options{Rooms: source}, nil)
	short := &metav1.Duration{Duration: 300 * time.Millisecond}
	r.testbed("bed", 0, func(s *v1alpha1.TestbedSpec) {
		s.SlotsPerNode = intstr.FromString(v1alpha1.SlotsAuto)
		s.Auto = &v1alpha1.Auto{Max: new(int32(2)), GrowAfter: short, ShrinkAfter: short}
	})
	r.waitCounts("bed", 1, 0, 0)
	r.waitCondition("bed", v1alpha1.TestbedSignalsFresh, "True", "", r.testbedConditions("bed"))

	source.set(-5, false)
	r.waitCondition("bed", v1alpha1.TestbedSignalsFresh, "False", "", r.testbedConditions("bed"))
	r.job("job", "1")
	r.queue("first", "bed", []string{"job"})
	r.waitJob("job", v1alpha1.BatchJobCompleted)
	r.wantSlots("job", r.slot(1, 0))
	r.waitCounts("bed", 1, 0, 0)

	source.set(2, true)
	r.waitCounts("bed", 2, 0, 0)
	r.waitCondition("bed", v1alpha1.TestbedSignalsFresh, "True", "", r.testbedConditions("bed"))
	r.delete(&v1alpha1.Scheduling{}, "first")
	r.waitJob("job", v1alpha1.BatchJobReady)
	r.finish()
}
