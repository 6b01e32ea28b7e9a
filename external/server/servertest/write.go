package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

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
func (s *Store) Plan(_ context.Context, _ server.Caller, namespace, _ string, spec wire.SchedulingSpec) (wire.Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var plan wire.Plan
	bed, err := wire.ParseName(spec.Testbed, namespace)
	if err != nil {
		return plan, err
	}
	slots, err := getLocked[wire.TestbedSlots](s, bed, "")
	if err != nil {
		plan.Problems = append(plan.Problems, wire.Cause{Field: "testbed", Reason: "UnknownTestbed", Message: fmt.Sprintf("Testbed %s is not there", bed)})
		return plan, nil
	}
	request, problems, err := s.request(namespace, spec, slots.Slots)
	if err != nil {
		return plan, err
	}
	plan.Problems = problems
	if len(problems) > 0 {
		return plan, nil
	}
	var all, free []slot.ID
	for _, one := range slots.Slots {
		id, err := slot.ParseID(one.ID)
		if err != nil {
			return plan, err
		}
		all = append(all, id)
		if one.State == slot.Free {
			free = append(free, id)
		}
	}
	blocked, err := claim.Feasible(request, nil, all)
	if err != nil {
		return plan, err
	}
	if blocked != nil {
		plan.Problems = []wire.Cause{{Reason: "TooManySlots", Message: fmt.Sprintf("job %s takes %d slots", blocked.Job, blocked.Needs)}}
		return plan, nil
	}
	plan.Feasible = true
	now, _, err := claim.Plan(request, nil, free)
	if err != nil {
		return plan, err
	}
	submitted := make(map[testbed.Name][]slot.ID)
	for _, p := range now {
		submitted[p.Job] = p.Slots
	}
	for _, job := range request.Jobs() {
		row := wire.Planned{Job: job.String()}
		for _, id := range submitted[job] {
			row.Now = true
			row.Slots = append(row.Slots, id.String())
		}
		plan.Plan = append(plan.Plan, row)
	}
	return plan, nil
}

// request is the spec as package claim has it, and what in it is not there.
func (s *Store) request(namespace string, spec wire.SchedulingSpec, slots []wire.Slot) (r claim.Request, problems []wire.Cause, err error) {
	job := func(field, text string) testbed.Name {
		name, failed := wire.ParseName(text, namespace)
		if failed != nil {
			err = failed
		} else if _, there := s.objects[wire.Jobs][name]; !there {
			problems = append(problems, wire.Cause{Field: field, Reason: "UnknownJob", Message: fmt.Sprintf("job %s is not there", name)})
		}
		return name
	}
	for i, text := range spec.Queue {
		r.Queue = append(r.Queue, job(fmt.Sprintf("queue[%d]", i), text))
	}
	if spec.Slots == nil {
		return r, problems, err
	}
	r.Relaxed = spec.Slots.Mode == wire.Relaxed
	for i, one := range spec.Slots.Jobs {
		field := fmt.Sprintf("slots.jobs[%d]", i)
		p := claim.Placement{Job: job(field+".job", one.Job)}
		for j, ref := range one.Slots {
			id, there := findSlot(slots, ref)
			if !there {
				problems = append(problems, wire.Cause{Field: fmt.Sprintf("%s.slots[%d]", field, j), Reason: "UnknownSlot", Message: "slot " + ref.String() + " is not there"})
				continue
			}
			p.Slots = append(p.Slots, id)
		}
		r.Placements = append(r.Placements, p)
	}
	return r, problems, err
}

func findSlot(slots []wire.Slot, ref slot.Ref) (slot.ID, bool) {
	for _, one := range slots {
		if ref.ID == (slot.ID{}) && one.Index == ref.Index || one.ID == ref.ID.String() {
			id, err := slot.ParseID(one.ID)
			return id, err == nil
		}
	}
	return slot.ID{}, false
}
