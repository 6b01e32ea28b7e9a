package demo

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func plan(t *testing.T, c batchConfig) []batchTask {
	t.Helper()
	tasks, err := planBatch(c)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func TestPlan(t *testing.T) {
	tests := []struct {
		name        string
		config      batchConfig
		meanWork    float64 // seconds, ± a tenth
		meanArrival float64 // seconds between two pods, ± a tenth
	}{
		{"at once, equal", batchConfig{Pods: 5000, CPUSeconds: 2}, 2, 0},
		{"at once, exponential", batchConfig{Pods: 5000, CPUSeconds: 2, Distribution: exponential}, 2, 0},
		{"arrivals", batchConfig{Pods: 5000, Rate: 8}, 5, 1. / 8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tasks := plan(t, test.config)
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
					t.Fatalf("task %d arrives before its predecessor", i)
				}
			}
			if mean := work / float64(len(tasks)); math.Abs(mean-test.meanWork) > .1*test.meanWork {
				t.Errorf("got mean work %.3f s, want %g", mean, test.meanWork)
			}
			gap := tasks[len(tasks)-1].Arrival.Seconds() / float64(len(tasks))
			if math.Abs(gap-test.meanArrival) > .1*test.meanArrival {
				t.Errorf("got mean gap %.3f s, want %g", gap, test.meanArrival)
			}
		})
	}
}

func TestPlanIsPoisson(t *testing.T) {
	tasks := plan(t, batchConfig{Pods: 6000, Rate: 4, Seed: 5})
	// The standard deviation of exponential gaps equals their mean.
	var sum, squares float64
	for i := 1; i < len(tasks); i++ {
		gap := (tasks[i].Arrival - tasks[i-1].Arrival).Seconds()
		sum, squares = sum+gap, squares+gap*gap
	}
	n := float64(len(tasks) - 1)
	if mean := sum / n; math.Abs(math.Sqrt(squares/n-mean*mean)/mean-1) > .1 {
		t.Errorf("gaps of mean %.4f s: got deviation %.4f s", mean, math.Sqrt(squares/n-mean*mean))
	}
}

func TestPlanDependsOnTheSeedAlone(t *testing.T) {
	config := batchConfig{Rate: 4, Distribution: exponential, Seed: 3}
	a, b := plan(t, config), plan(t, config)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two batches of one seed differ:\n%s", diff)
	}
	config.Seed++
	if cmp.Equal(a, plan(t, config)) {
		t.Error("two seeds give one batch")
	}
	config.Seed--
	config.Rate = 0
	for i, task := range plan(t, config) {
		if task.Work != a[i].Work || task.Startup != a[i].Startup {
			t.Fatalf("task %d: the arrivals change what the pod does", i)
		}
	}
}
