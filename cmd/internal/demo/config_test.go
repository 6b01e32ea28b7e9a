package demo

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestConfigString(t *testing.T) {
	tests := []struct {
		config demoConfig
		want   string
	}{
		{demoConfig{}, "300 pods of 5 CPU-seconds (equal), at once, on 6 simulated nodes × 4 cores; seed 0"},
		{demoConfig{Pods: 2, Seed: 3, TimeScale: 2}, "2 pods of 5 CPU-seconds (equal), at once, on 6 simulated nodes × 4 cores; seed 3"},
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
		config demoConfig
	}{
		{"", demoConfig{}},
		{"", demoConfig{Profiles: []string{defaultProfile}, TimeScale: 10}},
		{"", demoConfig{Profiles: []string{defaultProfile, spazioProfile}}},
		{"", demoConfig{Pods: 1, CPUSeconds: .1, Seed: 3}},
		{"Pods", demoConfig{Pods: -1}},
		{"Pods", demoConfig{Pods: 100_001}},
		{"CPUSeconds", demoConfig{CPUSeconds: -1}},
		{"CPUSeconds", demoConfig{CPUSeconds: math.NaN()}},
		{"CPUSeconds", demoConfig{CPUSeconds: math.Inf(1)}},
		{"CPUSeconds", demoConfig{CPUSeconds: 1e6 + 1}},
		{"Nodes", demoConfig{Nodes: -1}},
		{"Cores", demoConfig{Cores: -1}},
		{"TimeScale", demoConfig{TimeScale: -1}},
		{"TimeScale", demoConfig{TimeScale: math.NaN()}},
		{"Profiles", demoConfig{Profiles: []string{"other"}}},
		{"Profiles", demoConfig{Profiles: []string{spazioProfile, spazioProfile}}},
	}
	for _, test := range tests {
		switch err := test.config.validate(); {
		case test.field == "" && err != nil:
			t.Errorf("%+v: %v", test.config, err)
		case test.field != "" && (!errors.Is(err, errInvalid) || !strings.Contains(err.Error(), test.field)):
			t.Errorf("%+v: got error %v, want one of %s", test.config, err, test.field)
		}
	}
}
