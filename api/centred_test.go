package api_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// TestCentredModelsRoundTrip: the mean is sent with the model, in both directions, without sharing
// memory.
func TestCentredModelsRoundTrip(t *testing.T) {
	mean := []float64{.25, .75}
	l := local()
	l.Model.Mean = slices.Clone(mean)
	m := api.FromLocal(l)
	l.Model.Mean[0] = 0
	got, err := api.ToLocal(wire(t, m, &spaziov1.LocalModel{}))
	if err != nil || !cmp.Equal(got.Model.Mean, mean) {
		t.Fatalf("%v, %v", got.Model.Mean, err)
	}
	if got, err = api.ToLocal(m); err != nil {
		t.Fatal(err)
	}
	m.Model.Mean[1] = 0
	if !cmp.Equal(got.Model.Mean, mean) {
		t.Errorf("a change of the message reached the result: %v", got.Model.Mean)
	}
	model, err := svd.FromState(got.Model)
	if err != nil {
		t.Fatal(err)
	}
	f, err := api.ToFleet(wire(t, api.FromFleet(agent.Fleet{Schema: "s", Model: model, Nodes: 2}, 1), &spaziov1.GlobalModel{}))
	if err != nil || !f.Model.Centred() || !f.Model.Equal(model) {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestUnboundedRoundTrip: the avail of a node that follows Pronto's signal is the maximum of a report.
func TestUnboundedRoundTrip(t *testing.T) {
	r := report()
	r.Avail = agent.Unbounded
	if got, err := api.ToReport(api.FromReport(r)); err != nil || got.Avail != api.MaxPods {
		t.Errorf("%v, %v", got.Avail, err)
	}
}
