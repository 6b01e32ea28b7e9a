package backend

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

func (s *Store) plan(ctx context.Context, caller server.Caller, namespace, name string, spec *wire.SchedulingSpec) (wire.Plan, error) {
	question := controller.Question{
		Scheduling: &v1alpha1.Scheduling{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: storedSpec(namespace, spec),
		},
		Cached: s.Cache, Live: s.Live, Namespaces: s.Namespaces, Now: s.now(), Client: s.Client, Mapper: s.Client.RESTMapper(),
		Slots: func(tb *v1alpha1.Testbed) (*slot.Order, []slot.ID, error) { return s.beds.free(tb.UID) },
		Sees:  func(o client.Object) (bool, error) { return s.sees(ctx, caller, o) },
	}
	found, err := controller.Foresee(ctx, question)
	if err != nil {
		return wire.Plan{}, err
	}
	plan := wire.Plan{Feasible: found.Feasible.OK(), Plan: make([]wire.Planned, len(found.Jobs))}
	if !plan.Feasible {
		plan.Problems = []wire.Cause{{Field: fieldOf(spec, namespace, &found), Reason: found.Feasible.Reason, Message: found.Feasible.Message}}
	}
	for i, job := range found.Jobs {
		if !job.Refused.OK() {
			plan.Feasible = false
			plan.Problems = append(plan.Problems, wire.Cause{
				Field: fieldOf(spec, namespace, &controller.Foreseen{About: job.Name}), Reason: job.Refused.Reason,
				Message: "the job " + job.Name.String() + ": " + job.Refused.Message,
			})
		}
		plan.Plan[i] = wire.Planned{Job: job.Name.String(), Slots: job.Slots, Now: job.Now}
	}
	return plan, nil
}

// sees reports whether the caller may see an object.
func (s *Store) sees(ctx context.Context, caller server.Caller, o client.Object) (bool, error) {
	kind := wire.Jobs
	if _, ok := o.(*v1alpha1.Testbed); ok {
		kind = wire.Testbeds
	}
	err := s.Authorizer.Authorize(ctx, caller, server.Access{Verb: server.Get, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()})
	var refused *wire.Problem
	if errors.As(err, &refused) && refused.Status == http.StatusForbidden {
		return false, nil
	}
	return err == nil, err
}

// fieldOf is the field that a verdict is about.
func fieldOf(spec *wire.SchedulingSpec, namespace string, found *controller.Foreseen) string {
	is := func(text string) bool {
		name, err := wire.ParseName(text, namespace)
		return err == nil && name == found.About
	}
	switch {
	case found.About == (testbed.Name{}) && found.OfTestbed:
		return "testbed"
	case spec.Slots != nil:
		for i := range spec.Slots.Jobs {
			if is(spec.Slots.Jobs[i].Job) {
				return at("slots.jobs", i) + ".job"
			}
		}
		return "slots.jobs"
	}
	for i, job := range spec.Queue {
		if is(job) {
			return at("queue", i)
		}
	}
	return "queue"
}
