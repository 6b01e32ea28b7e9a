package api_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// refused checks that err is a *field.Error of the field with the cause.
func refused(t *testing.T, err error, name string, cause error) {
	t.Helper()
	var bad *field.Error
	if !errors.As(err, &bad) {
		t.Errorf("got error %v, want a *field.Error of %s", err, name)
		return
	}
	if bad.Field != name || !errors.Is(err, cause) {
		t.Errorf("got error %q (field %s), want field %s with cause %q", err, bad.Field, name, cause)
	}
	if most := len("api:  = : ") + len(name) + 64 + len(bad.Err.Error()); len(err.Error()) > most || strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %q, want one short line", err)
	}
}

func TestToReportRefuses(t *testing.T) {
	nan, inf, long := math.NaN(), math.Inf(1), strings.Repeat("x", api.MaxName+1)
	for _, tt := range []struct {
		field string
		cause error
		spoil func(*spaziov1.Report)
	}{
		{"node", api.ErrMissing, func(m *spaziov1.Report) { m.Node = "" }},
		{"node", api.ErrLength, func(m *spaziov1.Report) { m.Node = long }},
		{"node", api.ErrText, func(m *spaziov1.Report) { m.Node = "a\nb" }},
		{"node", api.ErrText, func(m *spaziov1.Report) { m.Node = "\xff" }},
		{"schema", api.ErrLength, func(m *spaziov1.Report) { m.Schema = long }},
		{"limiting", api.ErrText, func(m *spaziov1.Report) { m.Limiting = "\x00" }},
		{"sampled_at_unix_nanos", api.ErrRange, func(m *spaziov1.Report) { m.SampledAtUnixNanos = -1 }},
		{"sample_age_nanos", api.ErrRange, func(m *spaziov1.Report) { m.SampleAgeNanos = -1 }},
		{"avail", api.ErrRange, func(m *spaziov1.Report) { m.Avail = nan }},
		{"avail", api.ErrRange, func(m *spaziov1.Report) { m.Avail = -inf }},
		{"avail", api.ErrRange, func(m *spaziov1.Report) { m.Avail = 2e6 }},
		{"allowance", api.ErrRange, func(m *spaziov1.Report) { m.Allowance = -1e-9 }},
		{"k", api.ErrRange, func(m *spaziov1.Report) { m.K = inf }},
		{"k", api.ErrRange, func(m *spaziov1.Report) { m.K = -1 }},
		{"absorbed", api.ErrLength, func(m *spaziov1.Report) { m.Absorbed = make([]uint64, api.MaxAbsorbed+1) }},
		{"channels", api.ErrLength, func(m *spaziov1.Report) { m.Channels = make([]*spaziov1.ChannelEstimate, api.MaxChannels+1) }},
		{"channels[0].name", api.ErrMissing, func(m *spaziov1.Report) { m.Channels[0] = nil }},
		{"channels[1].usage", api.ErrRange, func(m *spaziov1.Report) { m.Channels[1].Usage = 1.1 }},
		{"channels[1].usage", api.ErrRange, func(m *spaziov1.Report) { m.Channels[1].Usage = nan }},
		{"channels[0].capacity", api.ErrRange, func(m *spaziov1.Report) { m.Channels[0].Capacity = inf }},
		{"channels[0].cost", api.ErrRange, func(m *spaziov1.Report) { m.Channels[0].Cost = nan }},
		{"channels[0].cost_sd", api.ErrRange, func(m *spaziov1.Report) { m.Channels[0].CostSd = -1 }},
		{"channels[1].room", api.ErrRange, func(m *spaziov1.Report) { m.Channels[1].Room = -1001 }},
		{"channels[1].room", api.ErrRange, func(m *spaziov1.Report) { m.Channels[1].Room = nan }},
		{"channels[0].unit", api.ErrRange, func(m *spaziov1.Report) { m.Channels[0].Unit = -1e-9 }},
		{"channels[0].pod_sd", api.ErrRange, func(m *spaziov1.Report) { m.Channels[0].PodSd = inf }},
		{"channels[0].ahead", api.ErrRange, func(m *spaziov1.Report) { m.Channels[0].Ahead = -1 }},
		{"channels[0].most", api.ErrRange, func(m *spaziov1.Report) { m.Channels[0].Most = nan }},
		{"surprises", api.ErrLength, func(m *spaziov1.Report) { m.Surprises = make([]*spaziov1.Surprise, agent.MaxMispredictions+1) }},
		{"surprises[1].cpu_ratio", api.ErrRange, func(m *spaziov1.Report) { m.Surprises[1].CpuRatio = nan }},
		{"power.watts", api.ErrRange, func(m *spaziov1.Report) { m.Power.Watts = nan }},
		{"power.watts", api.ErrRange, func(m *spaziov1.Report) { m.Power.Watts = 1e6 + 1 }},
		{"power.watts_sd", api.ErrRange, func(m *spaziov1.Report) { m.Power.WattsSd = inf }},
		{"power.max_watts", api.ErrRange, func(m *spaziov1.Report) { m.Power.MaxWatts = -1 }},
		{"power.idle_watts", api.ErrRange, func(m *spaziov1.Report) { m.Power.IdleWatts = -1e-9 }},
		{"power.marginal_watts", api.ErrRange, func(m *spaziov1.Report) { m.Power.MarginalWatts = nan }},
		{"power.busy_cores", api.ErrRange, func(m *spaziov1.Report) { m.Power.BusyCores = 4097 }},
		{"power.cores", api.ErrRange, func(m *spaziov1.Report) { m.Power.Cores = 4097 }},
		{"power.joules_total", api.ErrRange, func(m *spaziov1.Report) { m.Power.JoulesTotal = 1.1e15 }},
		{"absorbed_cores", api.ErrLength, func(m *spaziov1.Report) { m.AbsorbedCores = m.AbsorbedCores[:2] }},
		{"absorbed_cores", api.ErrLength, func(m *spaziov1.Report) { m.Absorbed = nil }},
		{"absorbed_watts", api.ErrLength, func(m *spaziov1.Report) { m.AbsorbedWatts = nil }},
		{"absorbed_watts", api.ErrLength, func(m *spaziov1.Report) { m.AbsorbedCores = nil }},
		{"absorbed_cores[1]", api.ErrRange, func(m *spaziov1.Report) { m.AbsorbedCores[1] = float32(nan) }},
		{"absorbed_cores[2]", api.ErrRange, func(m *spaziov1.Report) { m.AbsorbedCores[2] = 4097 }},
		{"absorbed_watts[0]", api.ErrRange, func(m *spaziov1.Report) { m.AbsorbedWatts[0] = -1 }},
		{"absorbed_watts[2]", api.ErrRange, func(m *spaziov1.Report) { m.AbsorbedWatts[2] = float32(inf) }},
		{"surprises[0].memory_ratio", api.ErrRange, func(m *spaziov1.Report) { m.Surprises[0].MemoryRatio = 1e7 }},
	} {
		t.Run(tt.field, func(t *testing.T) {
			m := api.FromReport(report())
			tt.spoil(m)
			_, err := api.ToReport(m)
			refused(t, err, tt.field, tt.cause)
		})
	}
	_, err := api.ToReport(nil)
	refused(t, err, "report", api.ErrMissing)
}

func TestToHeartbeatRefuses(t *testing.T) {
	for _, tt := range []struct {
		field string
		cause error
		spoil func(*spaziov1.Report)
	}{
		{"unchanged", api.ErrMissing, func(m *spaziov1.Report) { m.Unchanged = 0 }},
		{"node", api.ErrLength, func(m *spaziov1.Report) { m.Node = "n" }},
		{"sequence", api.ErrRange, func(m *spaziov1.Report) { m.Sequence = 4 }},
		{"sample_age_nanos", api.ErrRange, func(m *spaziov1.Report) { m.SampleAgeNanos = -1 }},
	} {
		m := api.FromHeartbeat(api.Heartbeat{Sequence: 7, Unchanged: 5})
		tt.spoil(m)
		_, err := api.ToHeartbeat(m)
		refused(t, err, tt.field, tt.cause)
	}
	_, err := api.ToHeartbeat(nil)
	refused(t, err, "unchanged", api.ErrMissing)
	// A reader of reports refuses a heartbeat, as schedulers without heartbeats did.
	_, err = api.ToReport(api.FromHeartbeat(api.Heartbeat{Sequence: 7, Unchanged: 5}))
	refused(t, err, "node", api.ErrMissing)
}

func TestToLocalRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		field string
		cause error
		spoil func(*spaziov1.LocalModel)
	}{
		{"node", api.ErrMissing, func(m *spaziov1.LocalModel) { m.Node = "" }},
		{"schema", api.ErrMissing, func(m *spaziov1.LocalModel) { m.Schema = "" }},
		{"model", api.ErrMissing, func(m *spaziov1.LocalModel) { m.Model = nil }},
		{"model.dim", svd.ErrRange, func(m *spaziov1.LocalModel) { m.Model.Dim = 0 }},
		{"model.dim", api.ErrRange, func(m *spaziov1.LocalModel) { m.Model.Dim = math.MaxUint32 }},
		{"model.block", svd.ErrRange, func(m *spaziov1.LocalModel) { m.Model.Block = 0 }},
		{"model.block", api.ErrRange, func(m *spaziov1.LocalModel) { m.Model.Block = math.MaxUint32 }},
		{"model.mass", svd.ErrNotFinite, func(m *spaziov1.LocalModel) { m.Model.Mass = nan }},
		{"model.mass", svd.ErrRange, func(m *spaziov1.LocalModel) { m.Model.Mass = -1 }},
		{"model.sigma", svd.ErrLength, func(m *spaziov1.LocalModel) { m.Model.Sigma = nil }},
		{"model.sigma[1]", svd.ErrOrder, func(m *spaziov1.LocalModel) { m.Model.Sigma[1] = 3 }},
		{"model.sigma[0]", svd.ErrNotFinite, func(m *spaziov1.LocalModel) { m.Model.Sigma[0] = inf }},
		{"model.sigma", api.ErrRange, func(m *spaziov1.LocalModel) { m.Model.Sigma[0] = 1e6 }},
		{"model.mean", svd.ErrLength, func(m *spaziov1.LocalModel) { m.Model.Mean = []float64{.5} }},
		{"model.mean[1]", svd.ErrNotFinite, func(m *spaziov1.LocalModel) { m.Model.Mean = []float64{.5, nan} }},
		{"model.mean[0]", api.ErrRange, func(m *spaziov1.LocalModel) { m.Model.Mean = []float64{1.1, .5} }},
		{"model.mean[1]", api.ErrRange, func(m *spaziov1.LocalModel) { m.Model.Mean = []float64{0, -.1} }},
		{"model.u", svd.ErrLength, func(m *spaziov1.LocalModel) { m.Model.U = m.Model.U[:3] }},
		{"model.u[2]", svd.ErrNotFinite, func(m *spaziov1.LocalModel) { m.Model.U[2] = nan }},
		{"model.u[0]", svd.ErrOrthonormal, func(m *spaziov1.LocalModel) { m.Model.U[0] = 2 }},
		{"costs", api.ErrLength, func(m *spaziov1.LocalModel) { m.Costs = m.Costs[:1] }},
		{"costs[0].value", api.ErrRange, func(m *spaziov1.LocalModel) { m.Costs[0].Value = nan }},
		{"costs[0].value", api.ErrRange, func(m *spaziov1.LocalModel) { m.Costs[0].Value = 0 }},
		{"costs[1].sd", api.ErrRange, func(m *spaziov1.LocalModel) { m.Costs[1].Sd = -1 }},
	} {
		t.Run(tt.field, func(t *testing.T) {
			m := api.FromLocal(local())
			tt.spoil(m)
			_, err := api.ToLocal(m)
			refused(t, err, tt.field, tt.cause)
			if tt.field == "node" {
				return
			}
			global := &spaziov1.GlobalModel{Schema: m.Schema, Model: m.Model, Costs: m.Costs}
			_, err = api.ToFleet(global)
			refused(t, err, tt.field, tt.cause)
		})
	}
	_, err := api.ToLocal(nil)
	refused(t, err, "local", api.ErrMissing)
	_, err = api.ToModel(nil)
	refused(t, err, "model", api.ErrMissing)
	_, err = api.ToFleet(nil)
	refused(t, err, "global", api.ErrMissing)
	crowd := api.FromFleet(fleet(t), 1)
	crowd.Nodes = math.MaxUint32
	_, err = api.ToFleet(crowd)
	refused(t, err, "nodes", api.ErrRange)
}

// fuzz decodes raw bytes and converts them both ways: an accepted message must survive a round trip
// unchanged, a refusal must name a field.
func fuzz[M proto.Message, T any](f *testing.F, seed M, empty func() M, to func(M) (T, error), from func(T) M) {
	raw, err := proto.Marshal(seed)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(raw[:len(raw)/2])
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := empty()
		if proto.Unmarshal(raw, m) != nil {
			return
		}
		value, err := to(m)
		if err != nil {
			var bad *field.Error
			if !errors.As(err, &bad) || bad.Field == "" || len(err.Error()) > 400 {
				t.Fatalf("got refusal %v", err)
			}
			return
		}
		again, err := to(from(value))
		if err != nil {
			t.Fatalf("back conversion of an accepted message: got error %v", err)
		}
		if !proto.Equal(from(value), from(again)) {
			t.Fatalf("round trip changed\n%v\nto\n%v", from(value), from(again))
		}
	})
}

func FuzzToReport(f *testing.F) {
	fuzz(f, api.FromReport(report()), func() *spaziov1.Report { return &spaziov1.Report{} }, api.ToReport, api.FromReport)
}

func FuzzToHeartbeat(f *testing.F) {
	beat := api.Heartbeat{Sequence: 1 << 40, Unchanged: 1<<40 - 300, SampleAge: time.Second}
	fuzz(f, api.FromHeartbeat(beat), func() *spaziov1.Report { return &spaziov1.Report{} }, api.ToHeartbeat, api.FromHeartbeat)
}

func FuzzToModel(f *testing.F) {
	fuzz(f, api.FromModel(state()), func() *spaziov1.Model { return &spaziov1.Model{} }, api.ToModel, api.FromModel)
}

func FuzzToLocal(f *testing.F) {
	fuzz(f, api.FromLocal(local()), func() *spaziov1.LocalModel { return &spaziov1.LocalModel{} }, api.ToLocal, api.FromLocal)
}

func FuzzToFleet(f *testing.F) {
	model, err := svd.FromState(state())
	if err != nil {
		f.Fatal(err)
	}
	seed := api.FromFleet(agent.Fleet{Schema: "s", Model: model, Costs: local().Costs, Nodes: 2}, 1)
	fuzz(f, seed, func() *spaziov1.GlobalModel { return &spaziov1.GlobalModel{} }, api.ToFleet,
		func(fleet agent.Fleet) *spaziov1.GlobalModel { return api.FromFleet(fleet, 0) })
}
