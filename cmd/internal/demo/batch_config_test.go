package demo

import (
	"errors"
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/field"
)

func TestBatchConfigString(t *testing.T) {
	tests := []struct {
		config batchConfig
		want   string
	}{
		{batchConfig{}, "300 pods of 5 CPU-seconds (equal), at once"},
		{batchConfig{Pods: 2, Distribution: exponential, Rate: 8}, "2 pods of 5 CPU-seconds (exponential), 8 a second"},
	}
	for _, test := range tests {
		if got := test.config.String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestBatchConfigValidate(t *testing.T) {
	tests := []struct {
		name   string
		config batchConfig
	}{
		{"", batchConfig{}},
		{"", batchConfig{Pods: 1, CPUSeconds: .1, Distribution: exponential, Memory: 1, Rate: 8, Seed: 3}},
		{"Pods", batchConfig{Pods: -1}},
		{"Pods", batchConfig{Pods: 100_001}},
		{"CPUSeconds", batchConfig{CPUSeconds: -1}},
		{"CPUSeconds", batchConfig{CPUSeconds: math.NaN()}},
		{"Distribution", batchConfig{Distribution: "normal"}},
		{"Memory", batchConfig{Memory: math.NaN()}},
		{"Rate", batchConfig{Rate: math.Inf(1)}},
		{"RequestCPU", batchConfig{RequestCPU: -1}},
	}
	for _, test := range tests {
		err := test.config.validate()
		if test.name == "" {
			if err != nil {
				t.Errorf("%+v: %v", test.config, err)
			}
			continue
		}
		var name *field.Error
		if !errors.As(err, &name) || name.Field != test.name || !errors.Is(err, errInvalid) {
			t.Errorf("%+v: got error %v, want one of %s", test.config, err, test.name)
		}
		if _, planned := planBatch(test.config); !errors.Is(planned, errInvalid) {
			t.Errorf("Plan of %+v: got error %v", test.config, planned)
		}
	}
}
