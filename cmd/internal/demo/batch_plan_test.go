package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	tasks := planBatch(demoConfig{Pods: 5000, CPUSeconds: 2})
	if len(tasks) != 5000 {
		t.Fatalf("%d tasks, want 5000", len(tasks))
	}
	for i, task := range tasks {
		if task.Work != 2*time.Second || task.Startup <= 0 || task.Memory <= 0 {
			t.Fatalf("task %d: %+v", i, task)
		}
	}
}

func TestPlanDependsOnTheSeedAlone(t *testing.T) {
	config := demoConfig{Pods: 300, CPUSeconds: 5, Seed: 3}
	a := planBatch(config)
	if diff := cmp.Diff(a, planBatch(config)); diff != "" {
		t.Errorf("two batches of one seed differ:\n%s", diff)
	}
	config.Seed++
	if cmp.Equal(a, planBatch(config)) {
		t.Error("two seeds give one batch")
	}
}
