package batch_test

import (
	"errors"
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

func TestConfigString(t *testing.T) {
	tests := []struct {
		config batch.Config
		want   string
	}{
		{batch.Config{}, "300 pods of 5 CPU-seconds (equal), at once"},
		{batch.Config{Pods: 2, Distribution: batch.Exponential, Rate: 8}, "2 pods of 5 CPU-seconds (exponential), 8 a second"},
	}
	for _, test := range tests {
		if got := test.config.String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	tests := []struct {
		name   string
		config batch.Config
	}{
		{"", batch.Config{}},
		{"", batch.Config{Pods: 1, CPUSeconds: .1, Distribution: batch.Exponential, Memory: 1, Rate: 8, Seed: 3}},
		{"Pods", batch.Config{Pods: -1}},
		{"Pods", batch.Config{Pods: 100_001}},
		{"CPUSeconds", batch.Config{CPUSeconds: -1}},
		{"CPUSeconds", batch.Config{CPUSeconds: math.NaN()}},
		{"Distribution", batch.Config{Distribution: "normal"}},
		{"Memory", batch.Config{Memory: math.NaN()}},
		{"Rate", batch.Config{Rate: math.Inf(1)}},
		{"RequestCPU", batch.Config{RequestCPU: -1}},
	}
	for _, test := range tests {
		err := test.config.Validate()
		if test.name == "" {
			if err != nil {
				t.Errorf("%+v: %v", test.config, err)
			}
			continue
		}
		var name *field.Error
		if !errors.As(err, &name) || name.Field != test.name || !errors.Is(err, batch.ErrInvalid) {
			t.Errorf("%+v: got error %v, want one of %s", test.config, err, test.name)
		}
		if _, planned := batch.Plan(test.config); !errors.Is(planned, batch.ErrInvalid) {
			t.Errorf("Plan of %+v: got error %v", test.config, planned)
		}
	}
}
