package pipeline_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
)

// counting is kalman's estimator under another name.
const counting pipeline.Method = "counting"

var made int

func init() {
	pipeline.RegisterMethod(counting, func(configs ...kalman.Config) (pipeline.Estimator, error) {
		made++
		return kalman.NewPerChannel(configs...)
	})
}

func TestMethodMakesItsEstimator(t *testing.T) {
	for m, want := range map[pipeline.Method]int{"": 0, counting: 1} {
		made = 0
		e, err := m.New(kalman.Config{}, kalman.Config{Prior: .1})
		if err != nil || made != want {
			t.Fatalf("%v: %v, %d made, want %d", m, err, made, want)
		}
		if got := e.EstimatesTo(nil); len(got) != 2 || got[1].Cost != .1 {
			t.Errorf("%v: %+v", m, got)
		}
	}
	var fe *field.Error
	if _, err := pipeline.Method("best").New(kalman.Config{}); !errors.As(err, &fe) || fe.Field != "Method" || !errors.Is(err, pipeline.ErrUnknown) {
		t.Errorf("a method that is not registered: %v", err)
	}
}

// TestConfigText: the fields of kalman.Config stand beside the method, as recordings
// have them.
func TestConfigText(t *testing.T) {
	for text, want := range map[string]pipeline.EstimatorConfig{
		`{"Method":"centred","Prior":0.5,"Patience":3}`: {Config: kalman.Config{Prior: .5, Patience: 3}},
		`{"Method":"counting"}`:                         {Method: counting},
	} {
		var got pipeline.EstimatorConfig
		if err := json.Unmarshal([]byte(text), &got); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		stored, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got = (pipeline.EstimatorConfig{}); json.Unmarshal(stored, &got) != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %+v, want %+v", stored, got, want)
		}
	}
	for _, text := range []string{`{"Method":""}`, `{"Method":"best"}`} {
		if err := json.Unmarshal([]byte(text), new(pipeline.EstimatorConfig)); !errors.Is(err, pipeline.ErrUnknown) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, c := range []pipeline.EstimatorConfig{{Method: "best"}, {Config: kalman.Config{Floor: 2}}} {
		if c.Validate() == nil {
			t.Errorf("%+v is valid", c)
		}
	}
}
