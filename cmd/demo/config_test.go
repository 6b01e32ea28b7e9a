package demo_test

import (
	"math"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/demo"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

func TestConfigString(t *testing.T) {
	tests := []struct {
		config demo.Config
		want   string
	}{
		{demo.Config{}, "300 pods of 5 CPU-seconds (equal), at once, on 6 simulated nodes × 4 cores; seed 0"},
		{demo.Config{Config: batch.Config{Rate: 8, Seed: 3}, TimeScale: 2}, "300 pods of 5 CPU-seconds (equal), 8 a second, on 6 simulated nodes × 4 cores; seed 3"},
	}
	for _, test := range tests {
		if got := test.config.String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	tests := []struct {
		field  string
		config demo.Config
	}{
		{"", demo.Config{}},
		{"", demo.Config{Profiles: []string{demo.Default}, TimeScale: 10}},
		{"", demo.Config{Profiles: []string{demo.Default, demo.Spazio}}},
		{"Pods", demo.Config{Config: batch.Config{Pods: -1}}},
		{"Nodes", demo.Config{Nodes: -1}},
		{"Cores", demo.Config{Cores: -1}},
		{"TimeScale", demo.Config{TimeScale: -1}},
		{"TimeScale", demo.Config{TimeScale: math.NaN()}},
		{"Profiles", demo.Config{Profiles: []string{"other"}}},
		{"Profiles", demo.Config{Profiles: []string{demo.Spazio, demo.Spazio}}},
	}
	for _, test := range tests {
		switch err := test.config.Validate(); {
		case test.field == "" && err != nil:
			t.Errorf("%+v: %v", test.config, err)
		case test.field != "" && (err == nil || !strings.Contains(err.Error(), test.field)):
			t.Errorf("%+v: got error %v, want one of %s", test.config, err, test.field)
		}
	}
}
