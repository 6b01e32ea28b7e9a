package controller_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
)

// partly is a history whose CPU query fails.
type partly struct{}

func (partly) Demand(context.Context, profile.Workload, time.Time) (profile.Demand, error) {
	return profile.Demand{Memory: profile.Share{Amount: 3e8, SD: 1e6, Confidence: .5}}, errors.New("the query for CPU failed")
}

// The values of a history count in spite of an error, the rest is unknown, and the error is
// counted, too.
func TestHistoryThatFailsInPart(t *testing.T) {
	r := start(t, newAPIServer(t), profiler.Config{}, controller.Config{History: partly{}})
	r.server.pod(podOf("web", 1))
	r.published(t, "web", func(p *v1alpha1.WorkloadProfile) bool {
		d, err := p.Status.Demand.Value()
		return err == nil && about(3e8)(p) && d.Memory.Confidence == .5 && d.CPU.Confidence == 0
	})
	eventually(t, "the failure is counted", func() bool {
		return counted(t, r.registry, "spazio_profiler_history_queries_total", "failed") == 1
	})
}

// counted returns the counter of a name with a label's value.
func counted(t *testing.T, registry *prometheus.Registry, name, label string) (n float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && m.GetLabel()[0].GetValue() == label {
				n = m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// oneBatch is a stream of one batch.
type oneBatch struct {
	grpc.ServerStream
	ctx   context.Context
	batch *spaziov1.UsageBatch
}

func (s *oneBatch) Context() context.Context { return s.ctx }

func (s *oneBatch) Recv() (*spaziov1.UsageBatch, error) {
	b := s.batch
	if s.batch = nil; b == nil {
		return nil, io.EOF
	}
	return b, nil
}

func (s *oneBatch) Send(*spaziov1.UsageAck) error { return nil }

// Windows out of range count as impossible.
func TestCollectorCountsRefusedWindows(t *testing.T) {
	store, err := profiler.New(profiler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server, registry := profiler.NewServer(store, profiler.ServerConfig{}), prometheus.NewRegistry()
	registry.MustRegister(profiler.Collector(server))
	bad := agent.Window{Pod: 1, Usage: profile.Usage{Span: time.Minute, CPU: 1e9}}
	if err := server.Report(&oneBatch{ctx: t.Context(), batch: api.FromUsage(agent.UsageBatch{Node: "a", Windows: []agent.Window{bad, bad}})}); err != nil {
		t.Fatal(err)
	}
	if refused := counted(t, registry, "spazio_profiler_windows_total", "refused"); refused != 2 {
		t.Errorf("%v windows refused, want 2", refused)
	}
}
