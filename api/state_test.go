package api_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/field"
)

func chunk() *spaziov1.StateChunk {
	state := func(node string) *spaziov1.NodeState {
		return &spaziov1.NodeState{
			Node: node, Incarnation: 1, Sequence: 2, Schema: "v1:cpu,memory", Dim: 2, AgeNanos: 3, Weight: 20,
			Moments: []float64{.5, .1, .2}, Costs: []*spaziov1.Cost{{Value: .5, Sd: .1, Known: true}, {}},
		}
	}
	return &spaziov1.StateChunk{Replica: 1, Cursor: 2, States: []*spaziov1.NodeState{state("a"), state("b")}}
}

func TestChunksAreBounded(t *testing.T) {
	good := chunk()
	good.States[1].Mean = []float64{0, 1}
	if err := api.CheckChunk(good); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		field string
		spoil func(*spaziov1.StateChunk)
		cause error
	}{
		{"replica", func(m *spaziov1.StateChunk) { m.Replica = 0 }, api.ErrMissing},
		{"states", func(m *spaziov1.StateChunk) { m.States = make([]*spaziov1.NodeState, api.MaxStates+1) }, api.ErrLength},
		{"states[1].node", func(m *spaziov1.StateChunk) { m.States[1] = nil }, api.ErrMissing},
		{"states[1].node", func(m *spaziov1.StateChunk) { m.States[1].Node = "a\n" }, api.ErrText},
		{"states[0].schema", func(m *spaziov1.StateChunk) { m.States[0].Schema = strings.Repeat("s", 254) }, api.ErrLength},
		{"states[0].dim", func(m *spaziov1.StateChunk) { m.States[0].Dim = 0 }, api.ErrRange},
		{"states[0].dim", func(m *spaziov1.StateChunk) { m.States[0].Dim = math.MaxUint32 }, api.ErrRange},
		{"states[0].age_nanos", func(m *spaziov1.StateChunk) { m.States[0].AgeNanos = -1 }, api.ErrRange},
		{"states[0].weight", func(m *spaziov1.StateChunk) { m.States[0].Weight = math.Inf(1) }, api.ErrRange},
		{"states[0].moments", func(m *spaziov1.StateChunk) { m.States[0].Moments = make([]float64, 4) }, api.ErrLength},
		{"states[0].moments[1]", func(m *spaziov1.StateChunk) { m.States[0].Moments[1] = math.NaN() }, api.ErrRange},
		{"states[0].moments[2]", func(m *spaziov1.StateChunk) { m.States[0].Moments[2] = 2.1 }, api.ErrRange},
		{"states[1].mean", func(m *spaziov1.StateChunk) { m.States[1].Mean = make([]float64, 3) }, api.ErrLength},
		{"states[1].mean[1]", func(m *spaziov1.StateChunk) { m.States[1].Mean = []float64{0, 1.01} }, api.ErrRange},
		{"states[1].mean[0]", func(m *spaziov1.StateChunk) { m.States[1].Mean = []float64{math.NaN(), 0} }, api.ErrRange},
		{"states[0].costs", func(m *spaziov1.StateChunk) { m.States[0].Costs = m.States[0].Costs[:1] }, api.ErrLength},
		{"states[0].costs[0].value", func(m *spaziov1.StateChunk) { m.States[0].Costs[0].Value = 0 }, api.ErrRange},
	} {
		m := chunk()
		tt.spoil(m)
		refused(t, api.CheckChunk(m), tt.field, tt.cause)
	}
	refused(t, api.CheckChunk(nil), "chunk", api.ErrMissing)
	refused(t, api.CheckHeader(&spaziov1.SnapshotHeader{WrittenUnixNanos: -1}), "written_unix_nanos", api.ErrRange)
}

// FuzzCheckChunk: a refusal names a field.
func FuzzCheckChunk(f *testing.F) {
	raw, err := proto.Marshal(chunk())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(raw[:len(raw)/2])
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m spaziov1.StateChunk
		if proto.Unmarshal(raw, &m) != nil {
			return
		}
		var bad *field.Error
		if err := api.CheckChunk(&m); err != nil && (!errors.As(err, &bad) || bad.Field == "" || len(err.Error()) > 400) {
			t.Fatalf("got refusal %v", err)
		}
	})
}
