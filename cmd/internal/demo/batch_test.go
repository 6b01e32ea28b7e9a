package demo_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
)

func TestBatch(t *testing.T) {
	tests := []struct {
		name        string
		config      demo.Config
		meanWork    float64 // seconds, ± a tenth
		meanArrival float64 // seconds between two pods, ± a tenth
	}{
		{"at once, equal", demo.Config{Pods: 5000, CPUSeconds: 2}, 2, 0},
		{"at once, exponential", demo.Config{Pods: 5000, CPUSeconds: 2, Distribution: demo.Exponential}, 2, 0},
		{"arrivals", demo.Config{Pods: 5000, Rate: 8}, 5, 1. / 8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tasks := demo.Batch(test.config)
			if len(tasks) != test.config.Pods {
				t.Fatalf("%d tasks, want %d", len(tasks), test.config.Pods)
			}
			work := 0.
			for i, task := range tasks {
				work += task.Work.Seconds()
				if task.Work <= 0 || task.Startup <= 0 || task.Memory <= 0 {
					t.Fatalf("task %d: %+v", i, task)
				}
				if i > 0 && task.Arrival < tasks[i-1].Arrival {
					t.Fatalf("task %d arrives before the one before it", i)
				}
			}
			if mean := work / float64(len(tasks)); math.Abs(mean-test.meanWork) > .1*test.meanWork {
				t.Errorf("mean work %.3f s, want %g", mean, test.meanWork)
			}
			gap := tasks[len(tasks)-1].Arrival.Seconds() / float64(len(tasks))
			if math.Abs(gap-test.meanArrival) > .1*test.meanArrival {
				t.Errorf("mean gap %.3f s, want %g", gap, test.meanArrival)
			}
		})
	}
}

func TestBatchDependsOnTheSeedAlone(t *testing.T) {
	config := demo.Config{Rate: 4, Distribution: demo.Exponential, Seed: 3}
	a, b := demo.Batch(config), demo.Batch(config)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two batches of one seed differ:\n%s", diff)
	}
	config.Seed++
	if cmp.Equal(a, demo.Batch(config)) {
		t.Error("two seeds give one batch")
	}
	config.Seed--
	config.Rate = 0
	for i, task := range demo.Batch(config) {
		if task.Work != a[i].Work || task.Startup != a[i].Startup {
			t.Fatalf("task %d: the arrivals change what the pod does", i)
		}
	}
}

func TestConfigString(t *testing.T) {
	tests := []struct {
		config demo.Config
		want   string
	}{
		{demo.Config{}, "300 pods of 5 CPU-seconds (equal), at once, on 19 simulated nodes × 4 cores and this machine; seed 0"},
		{demo.Config{Rate: 8, TimeScale: 2, Seed: 3}, "300 pods of 5 CPU-seconds (equal), 8 a second, on 19 simulated nodes × 4 cores; seed 3"},
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
		{"", demo.Config{Profiles: []string{demo.Default}, Distribution: demo.Exponential, Rate: 8}},
		{"pods", demo.Config{Pods: -1}},
		{"cpu-seconds", demo.Config{CPUSeconds: -1}},
		{"work-distribution", demo.Config{Distribution: "normal"}},
		{"memory", demo.Config{Memory: math.NaN()}},
		{"nodes", demo.Config{Nodes: -1}},
		{"cores", demo.Config{Cores: -1}},
		{"rate", demo.Config{Rate: math.Inf(1)}},
		{"time-scale", demo.Config{TimeScale: -1}},
		{"profiles", demo.Config{Profiles: []string{"other"}}},
		{"profiles", demo.Config{Profiles: []string{demo.Spazio, demo.Spazio}}},
	}
	for _, test := range tests {
		err := test.config.Validate()
		var field *demo.FieldError
		if test.field == "" {
			if err != nil {
				t.Errorf("%+v: %v", test.config, err)
			}
		} else if !errors.As(err, &field) || field.Field != test.field {
			t.Errorf("%+v: error %v, want one of %s", test.config, err, test.field)
		}
	}
}
