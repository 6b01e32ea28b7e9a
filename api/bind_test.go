package api_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/profile"
)

func bind() agent.Bind {
	return agent.Bind{Pod: math.MaxUint64, Inits: 2, InitsKnown: true, Demand: profile.Demand{
		CPU:    profile.Share{Amount: 1.5, SD: .25, Confidence: .9375},
		Memory: profile.Share{Amount: 3e9, SD: 1e8, Confidence: 1},
	}}
}

func TestBindRoundTrip(t *testing.T) {
	for _, b := range []agent.Bind{bind(), {Pod: 1}, {Pod: 1, InitsKnown: true}, {Demand: profile.Demand{CPU: profile.Share{SD: 1}}}} {
		got, err := api.ToBind(api.FromBind(b))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b, got); d != "" {
			t.Errorf("-sent +received:\n%s", d)
		}
	}
	if m := api.FromBind(agent.Bind{Pod: 1, Inits: -1, InitsKnown: true}); m.InitContainers != nil || m.Demand != nil {
		t.Errorf("unknown bind: got message %v", m)
	}
}

func TestToBindRefuses(t *testing.T) {
	for _, tt := range []struct {
		field string
		spoil func(*spaziov1.PodBound)
	}{
		{"init_containers", func(m *spaziov1.PodBound) { *m.InitContainers = math.MaxUint32 }},
		{"demand.cpu_cores", func(m *spaziov1.PodBound) { m.Demand.CpuCores = 4097 }},
		{"demand.cpu_sd", func(m *spaziov1.PodBound) { m.Demand.CpuSd = math.NaN() }},
		{"demand.cpu_confidence", func(m *spaziov1.PodBound) { m.Demand.CpuConfidence = 1.01 }},
		{"demand.memory_bytes", func(m *spaziov1.PodBound) { m.Demand.MemoryBytes = -1 }},
		{"demand.memory_sd", func(m *spaziov1.PodBound) { m.Demand.MemorySd = math.Inf(1) }},
		{"demand.memory_confidence", func(m *spaziov1.PodBound) { m.Demand.MemoryConfidence = math.NaN() }},
	} {
		m := api.FromBind(bind())
		tt.spoil(m)
		b, err := api.ToBind(m)
		refused(t, err, tt.field, api.ErrRange)
		if b.Pod != bind().Pod || b.Demand != (profile.Demand{}) {
			t.Errorf("%s: got rest of the notice %+v", tt.field, b)
		}
	}
	_, err := api.ToBind(nil)
	refused(t, err, "pod_bound", api.ErrMissing)
}

func FuzzToBind(f *testing.F) {
	fuzz(f, api.FromBind(bind()), func() *spaziov1.PodBound { return &spaziov1.PodBound{} }, api.ToBind, api.FromBind)
}
