package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// CreateScheduling is server.Store's.
func (s *Store) CreateScheduling(_ context.Context, caller server.Caller, namespace, name string, spec wire.SchedulingSpec) (wire.Scheduling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := testbed.Name{Namespace: namespace, Name: name}
	if there, err := getLocked[wire.Scheduling](s, full, ""); err == nil {
		return there, server.Refuse(http.StatusConflict, fmt.Sprintf("Scheduling %s is there already.", full))
	}
	object := wire.Scheduling{
		Meta:           wire.Meta{Namespace: namespace, Name: name},
		SchedulingSpec: spec, Author: caller.Name, State: "Acquiring",
	}
	return put(s, &object, &object.Meta), nil
}

// ReplaceScheduling is server.Store's.
func (s *Store) ReplaceScheduling(_ context.Context, _ server.Caller, namespace, name string, version string, spec wire.SchedulingSpec) (wire.Scheduling, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, err := getLocked[wire.Scheduling](s, testbed.Name{Namespace: namespace, Name: name}, version)
	if err != nil {
		return object, err
	}
	var causes []wire.Cause
	if object.Testbed != spec.Testbed {
		causes = append(causes, wire.Cause{Field: "testbed", Reason: wire.Immutable, Message: "must not change"})
	}
	if (object.Slots == nil) != (spec.Slots == nil) {
		causes = append(causes, wire.Cause{Reason: wire.Immutable, Message: "a queue stays a queue, and slots stay slots"})
	}
	if len(causes) > 0 {
		return object, server.Refuse(http.StatusUnprocessableEntity, "The scheduling cannot become this.", causes...)
	}
	if reflect.DeepEqual(object.SchedulingSpec, spec) {
		return object, nil
	}
	object.SchedulingSpec = spec
	return put(s, &object, &object.Meta), nil
}

// DeleteScheduling is server.Store's. The object goes at once.
func (s *Store) DeleteScheduling(_ context.Context, _ server.Caller, namespace, name string, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := testbed.Name{Namespace: namespace, Name: name}
	if _, err := getLocked[wire.Scheduling](s, full, version); err != nil {
		return err
	}
	s.remove(wire.Schedulings, full)
	return nil
}

// SetExternal is server.Store's.
func (s *Store) SetExternal(ctx context.Context, caller server.Caller, namespace, name string, version string, data json.RawMessage) (wire.Job, error) {
	return s.UpdateExternal(ctx, caller, namespace, name, version, func(json.RawMessage) (json.RawMessage, error) { return data, nil })
}

// UpdateExternal is server.Store's.
func (s *Store) UpdateExternal(_ context.Context, _ server.Caller, namespace, name string, version string, edit func(json.RawMessage) (json.RawMessage, error)) (wire.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, err := getLocked[wire.Job](s, testbed.Name{Namespace: namespace, Name: name}, version)
	if err != nil {
		return object, err
	}
	data, err := edit(object.External)
	if err != nil || string(data) == string(object.External) {
		return object, err
	}
	object.External = data
	return put(s, &object, &object.Meta), nil
}

// Plan is server.Store's: what claim.Plan finds in the slots that are free.
func (s *Store) Plan(_ context.Context, _ server.Caller, namespace, _ string, spec wire.SchedulingSpec) (plan wire.Plan, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bed, err := wire.ParseName(spec.Testbed, namespace)
	if err != nil {
		return plan, err
	}
	unknown := func(field, reason string, what any) {
		plan.Problems = append(plan.Problems, wire.Cause{Field: field, Reason: reason, Message: fmt.Sprintf("%v is not there", what)})
	}
	slots, err := getLocked[wire.TestbedSlots](s, bed, "")
	if err != nil {
		unknown("testbed", "UnknownTestbed", bed)
		return plan, nil
	}
	job := func(field, text string) testbed.Name {
		name, err := wire.ParseName(text, namespace)
		if _, there := s.objects[wire.Jobs][name]; err != nil || !there {
			unknown(field, "UnknownJob", text)
		}
		return name
	}
	var request claim.Request
	for i, text := range spec.Queue {
		request.Queue = append(request.Queue, job(fmt.Sprintf("queue[%d]", i), text))
	}
	if spec.Slots != nil {
		request.Relaxed = spec.Slots.Mode == wire.Relaxed
		for i, one := range spec.Slots.Jobs {
			field := fmt.Sprintf("slots.jobs[%d]", i)
			p := claim.Placement{Job: job(field+".job", one.Job)}
			for j, ref := range one.Slots {
				at := slices.IndexFunc(slots.Slots, func(s wire.Slot) bool { return s.ID == ref.ID.String() || ref.ID == slot.ID{} && s.Index == ref.Index })
				if at < 0 {
					unknown(fmt.Sprintf("%s.slots[%d]", field, j), "UnknownSlot", "slot "+ref.String())
					continue
				}
				p.Slots = append(p.Slots, idOf(&slots.Slots[at]))
			}
			request.Placements = append(request.Placements, p)
		}
	}
	if len(plan.Problems) > 0 {
		return plan, nil
	}
	var all, free []slot.ID
	for i := range slots.Slots {
		all = append(all, idOf(&slots.Slots[i]))
		if slots.Slots[i].State == slot.Free {
			free = append(free, all[i])
		}
	}
	if blocked, err := claim.Feasible(request, nil, all); err != nil || blocked != nil {
		if blocked != nil {
			plan.Problems = []wire.Cause{{Reason: "TooManySlots", Message: fmt.Sprintf("job %s takes %d slots", blocked.Job, blocked.Needs)}}
		}
		return plan, err
	}
	now, _, err := claim.Plan(request, nil, free)
	plan.Feasible = err == nil
	for _, job := range request.Jobs() {
		row := wire.Planned{Job: job.String()}
		if i := slices.IndexFunc(now, func(p claim.Placement) bool { return p.Job == job }); i >= 0 {
			row.Now = true
			for _, id := range now[i].Slots {
				row.Slots = append(row.Slots, id.String())
			}
		}
		plan.Plan = append(plan.Plan, row)
	}
	return plan, err
}

func idOf(s *wire.Slot) slot.ID { return slot.ID{Node: s.Node, Position: s.Position} }
