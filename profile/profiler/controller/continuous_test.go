package controller_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
)

// fakeServices reports that web calls cart, unless it fails.
type fakeServices struct {
	fails atomic.Bool
	// more multiplies the traffic between them.
	more atomic.Int64
}

func (f *fakeServices) Flows(context.Context, time.Time, time.Duration) ([]connection.Flow, error) {
	if f.fails.Load() {
		return nil, errors.New("starting")
	}
	named := func(name string) profile.Workload { return profile.Workload{Namespace: "default", Name: name} }
	times := float64(1 + f.more.Load())
	return []connection.Flow{{From: named("web"), To: named("cart"), Request: 10 * times, Response: 90 * times}}, nil
}

// Factors are published, and the next leader continues from them.
func TestContinuousIsPublished(t *testing.T) {
	s, f, journal := newAPIServer(t), &fakeServices{}, &transporttest.Journal{}
	config := profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.On, Rules: continuous.Config{Every: time.Second}}}
	r := start(t, s, config, controller.Config{Services: f, Logger: slog.New(journal)})
	r.measure(t, "web", 1, .5, 1e9)
	r.measure(t, "cart", 1, .1, 1e9)
	p := r.published(t, "web", func(p *v1alpha1.WorkloadProfile) bool {
		r.throttled(string(podOf("web", 1).UID), .5, 1e9, .3)
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
	const failed = "calls of services cannot be read; one line a minute is logged"
	if n := journal.Count(failed); n != 0 {
		t.Errorf("%q was logged %d times while they could", failed, n)
	}
	f.fails.Store(true)
	eventually(t, "a question has failed", func() bool { return journal.Count(failed) > 0 })
	r.stop()
	next := start(t, s, profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.On}}, controller.Config{})
	next.measure(t, "web", 1, .5, 1e9)
	eventually(t, "the next goes on", func() bool {
		advice, ok := next.store.Advise(time.Now(), workload("web"))
		return ok && advice.Recommendations[0].Target.CPU >= 3.9
	})
}

// Known callers are published by a next process that has received no report.
func TestConnectionsAreRestored(t *testing.T) {
	s := newAPIServer(t)
	config := profiler.Config{
		Refresh:    200 * time.Millisecond,
		Continuous: profiler.ContinuousConfig{Mode: profiler.Observe, Rules: continuous.Config{Every: time.Second}},
	}
	r := start(t, s, config, controller.Config{Services: &fakeServices{}})
	r.measure(t, "web", 1, .5, 1e9)
	r.measure(t, "cart", 1, .1, 1e9)
	kept := func() (calls int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, path := range s.of(group+"/namespaces/system/", "workloadprofilecheckpoints") {
			all, _ := s.objects[path]["workloads"].([]any)
			for _, w := range all {
				if one, _ := w.(map[string]any); one["calls"] != nil {
					calls++
				}
			}
		}
		return calls
	}
	eventually(t, "who web calls is in a checkpoint", func() bool { return kept() == 1 })
	before := r.published(t, "web", func(p *v1alpha1.WorkloadProfile) bool {
		return len(p.Status.Connections) == 1 && p.Status.Application != ""
	})
	r.stop()
	config.Continuous.Rules.Every = time.Hour // nothing is found by itself
	next := start(t, s, config, controller.Config{})
	next.measure(t, "web", 2, .5, 4e9)
	after := next.published(t, "web", func(p *v1alpha1.WorkloadProfile) bool {
		return p.Status.Pods == before.Status.Pods+1
	})
	if after.Status.Application != before.Status.Application || len(after.Status.Connections) != 1 || after.Status.Connections[0].Name != "cart" {
		t.Errorf("published %+v of %q, was of %q", after.Status.Connections, after.Status.Application, before.Status.Application)
	}
	// Malformed calls do not cost the profile.
	next.stop()
	s.mu.Lock()
	paths := s.of(group, "workloadprofilecheckpoints")
	s.mu.Unlock()
	for _, path := range paths {
		s.edit(t, path, func(o object) {
			all, _ := o["workloads"].([]any)
			for _, w := range all {
				if one, _ := w.(map[string]any); one["calls"] != nil {
					one["calls"] = "bm90aGluZw=="
				}
			}
		})
	}
	last := start(t, s, config, controller.Config{})
	for _, w := range last.store.State(time.Now()).Workloads {
		if w.Pods == 0 {
			t.Errorf("%s is not restored", w.Workload)
		}
	}
}
