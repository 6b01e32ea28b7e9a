package agent_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/svd"
)

// unexported compares the records of pods in a State, too, which embed one of another type.
var unexported = cmp.Exporter(func(reflect.Type) bool { return true })

// TestStateContinues stops a node at many moments, stores its state as JSON, and continues from it
// beside the node that never stopped.
func TestStateContinues(t *testing.T) {
	f := fleet(t, [][]float64{{.5, .1}}, agent.Cost{Value: .7, SD: .1, Known: true}, agent.Cost{})
	for seed := range uint64(30) {
		n := newNode(t, config())
		rng := rand.New(rand.NewPCG(seed, 0))
		n.samples(int(seed)%13, .3, .2)
		if seed%3 == 1 {
			if err := n.p.SetFleet(n.at, f); err != nil {
				t.Fatal(err)
			}
		}
		if seed > 3 {
			n.run(rng, int(seed)*4, .1, .15)
		}
		m, _ := n.restarted()
		if d := cmp.Diff(n.p.State(), m.p.State(), cmpopts.EquateEmpty(), unexported); d != "" {
			t.Fatalf("seed %d: state (-stored +restored):\n%s", seed, d)
		}
		n.reports = nil
		src := rand.NewPCG(seed, 9)
		n.run(rand.New(src), 20, .1, .15)
		m.run(rand.New(rand.NewPCG(seed, 9)), 20, .1, .15)
		if d := cmp.Diff(n.reports, m.reports); d != "" {
			t.Fatalf("seed %d: the restored node differs:\n%s", seed, d)
		}
	}
}

// TestStateIsACopy continues the node after its state was taken.
func TestStateIsACopy(t *testing.T) {
	n := newNode(t, config())
	rng := rand.New(rand.NewPCG(5, 5))
	n.run(rng, 30, .1, .15)
	s := n.p.State()
	before, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	n.run(rng, 30, .1, .15)
	if _, err := agent.FromState(n.p.Config(), s); err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("the state changed with the pipeline:\n%s\n%s", before, after)
	}
}

func TestFromStateRejects(t *testing.T) {
	for name, edit := range map[string]func(*agent.State){
		"Version":     func(s *agent.State) { s.Version++ },
		"Raw":         func(s *agent.State) { s.Raw = nil },
		"Raw range":   func(s *agent.State) { s.Raw[0] = 2 },
		"Filter":      func(s *agent.State) { s.Filter = s.Filter[1:] },
		"Filter run":  func(s *agent.State) { s.Filter[0].Run = 99 },
		"Filter NaN":  func(s *agent.State) { s.Filter[0].Level = math.NaN() },
		"Filter 2":    func(s *agent.State) { s.Filter[0].Level = 2 },
		"Block":       func(s *agent.State) { s.Block = make([]float64, 20) },
		"Block part":  func(s *agent.State) { s.Block = s.Block[:1] },
		"Model":       func(s *agent.State) { s.Model.Sigma[0] = -1 },
		"Model other": func(s *agent.State) { s.Model = svd.State{Dim: 1, Block: 1, U: []float64{1}, Sigma: []float64{1}} },
		"Demand":      func(s *agent.State) { s.Demand[1] = math.Inf(1) },
		"Blended":     func(s *agent.State) { s.Blended = -1 },
		"Fleet":       func(s *agent.State) { s.Fleet.Costs = make([]kalman.Fleet, 1) },
		"Fleet cost":  func(s *agent.State) { s.Fleet.Costs = []kalman.Fleet{{Cost: -1}, {}} },
		"Estimator":   func(s *agent.State) { s.Estimator = nil },
		"Estimator P": func(s *agent.State) { s.Estimator[1].CostVar = math.NaN() },
		"Verdicts":    func(s *agent.State) { s.Verdicts = nil },
		"Innovations": func(s *agent.State) { s.Innovations = nil },
		"Pods":        func(s *agent.State) { s.Pods = append(s.Pods, s.Pods...) },
		"Placeholders": func(s *agent.State) {
			s.Placeholders = slices.Grow(s.Placeholders[:0], 2)[:2]
			s.Placeholders[0].Key, s.Placeholders[1].Key = 9, 9
		},
		"Placeholder": func(s *agent.State) {
			s.Placeholders = slices.Grow(s.Placeholders[:0], 1)[:1]
			s.Placeholders[0].Starts = -1
		},
		"History":   func(s *agent.State) { s.History[0].Count = -1 },
		"Pace":      func(s *agent.State) { s.Pace.Lived = math.Inf(1) },
		"Pace ends": func(s *agent.State) { s.Pace.Ends = -1 },
		"Reported":  func(s *agent.State) { s.Reported = math.NaN() },
	} {
		n := newNode(t, config())
		n.pods(2)
		n.samples(15, .3, .1)
		s := n.p.State()
		edit(&s)
		if _, err := agent.FromState(config(), s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	var fe *field.Error
	if _, err := agent.FromState(agent.Config{}, agent.State{}); !errors.As(err, &fe) {
		t.Errorf("bad config: %v", err)
	}
}

// other is an estimator with a non-default name; modelled is a rule that uses the model's equation.
const (
	other    pipeline.Method = "other"
	modelled pipeline.Rule   = "modelled"
)

func init() {
	pipeline.RegisterRule(modelled, func(bool) capacity.Mode { return capacity.ModelMode })
	pipeline.RegisterMethod(other, func(configs ...kalman.Config) (pipeline.Estimator, error) { return kalman.NewPerChannel(configs...) })
}

// TestConfigSurvivesJSON stores a Config in which no field is zero.
func TestConfigSurvivesJSON(t *testing.T) {
	c := agent.Config{
		Node: "n1", Incarnation: math.MaxUint64 - 6, Schema: "s/v1",
		Channels: []agent.Channel{{Name: "cpu", Size: 3.3, Prior: 1. / 3, Reserve: .5}, {Name: "io", Size: 1e-300, Prior: 1e-9, Reserve: .1}},
		Cores:    3.3, PodsPerCore: 1.7, NoPressure: true,
		OwnModel: true, MaxAge: 8, Settle: 6, MinInterval: math.MaxInt64,
		Constants: pipeline.Constants{
			Filter: filter.Config{N: 3, Norm: .1, Hold: .2, Fast: .3, Delta: .1 + .2, Kappa: 1e6},
			Model:  svd.Options{Rank: 1, Block: 3, Alpha: .3, Beta: .7, EnergyLow: .1, EnergyHigh: .9, Unit: true},
			Estimator: pipeline.EstimatorConfig{
				Method: other,
				Config: kalman.Config{Prior: .1, PriorSD: .2, Spread: .8, Noise: 1e-12, LevelDrift: .4, CostDrift: .5, Gate: math.MaxFloat64, Patience: 7, Saturation: 2, Known: .6, Floor: .7},
			},
			Signal:    capacity.Options{Epsilon: 1e-9, Max: 7},
			Avail:     pipeline.AvailConfig{Rule: modelled, AvailOptions: capacity.AvailOptions{Caution: capacity.NoCaution, Saturation: capacity.NeverSaturated, FloorBelow: .1, Allowance: 1. / 3}},
			Allowance: capacity.AllowanceOptions{MostPerSlot: 3},

			MemorySpread: 2, Homogeneous: true, InitLead: 9, FleetShare: .3, FleetSpread: .2, FleetHalfLife: 3,
			ChurnHold: 4, ChurnCap: 5, PauseOnChurn: true, PaceHalfLife: 7,
		},
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var got agent.Config
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c, got); d != "" {
		t.Errorf("config after JSON (-want +got):\n%s\n%s", d, text)
	}
}
