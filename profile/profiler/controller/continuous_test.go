package controller_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
)

// fares says that web calls cart and is held up, unless it fails.
type fares struct {
	fails atomic.Bool
	asked atomic.Int64
}

func (f *fares) Flows(context.Context, time.Time, time.Duration) ([]connection.Flow, error) {
	f.asked.Add(1)
	if f.fails.Load() {
		return nil, errors.New("starting")
	}
	named := func(name string) profile.Workload { return profile.Workload{Namespace: "default", Name: name} }
	return []connection.Flow{{From: named("web"), To: named("cart"), Request: 10, Response: 90}}, nil
}

func (f *fares) Throttled(context.Context, time.Time, time.Duration) ([]continuous.Throttling, error) {
	if f.fails.Load() {
		return nil, errors.New("starting")
	}
	return []continuous.Throttling{{Namespace: "default", Pod: podOf("web", 1).Name, Share: .3}}, nil
}

// What the continuous profiler finds is published, and the next leader goes on with it.
func TestContinuousIsPublished(t *testing.T) {
	s, f := newAPIServer(t), &fares{}
	config := profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.On, Elsewhere: true, Rules: continuous.Config{Every: time.Second}}}
	r := start(t, s, config, controller.Config{Fares: f, FaresThrottled: true})
	r.measure(t, "web", 1, .5, 1e9)
	r.measure(t, "cart", 1, .1, 1e9)
	p := r.published(t, "web", func(p *v1alpha1.WorkloadProfile) bool {
		f := p.Status.Factors
		return f != nil && f.Applied && f.CPU == "8" && f.Memory == "1" && len(p.Status.Connections) == 1
	})
	if c := p.Status.Connections[0]; c != (v1alpha1.Connection{Kind: "Deployment", Namespace: "default", Name: "cart", RequestBytesPerSecond: 10, ResponseBytesPerSecond: 90}) {
		t.Errorf("connection %+v", c)
	}
	if p.Status.Application != "cart" {
		t.Errorf("application %q", p.Status.Application)
	}
	if got := p.Status.Recommendation.ContainerRecommendations[0].Target.CPU.AsApproximateFloat64(); got < 4 {
		t.Errorf("%v cores are recommended", got)
	}
	f.fails.Store(true)
	asked := f.asked.Load()
	eventually(t, "a question has failed", func() bool {
		failed, err := testutil.GatherAndCount(r.registry, "spazio_profiler_fares_total")
		return err == nil && failed == 4 && f.asked.Load() > asked
	})
	r.stop()
	next := start(t, s, profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.On}}, controller.Config{})
	next.measure(t, "web", 1, .5, 1e9)
	eventually(t, "the next goes on", func() bool {
		advice, ok := next.store.Advise(time.Now(), workload("web"))
		return ok && advice.Recommendations[0].Target.CPU >= 3.9
	})
}
