//go:build kubernetes1.35 || kubernetes1.36

package demo

import (
	"io"
	"testing"
)

// The scheduler with the libraries of an older Kubernetes places pods on a cluster whose API server
// also has that version.
func TestSchedulesOnKubernetes(t *testing.T) {
	const pods = 16
	var result demoResult
	err := runDemo(t.Context(), demoConfig{
		Pods: pods, CPUSeconds: 1, Nodes: 2, Cores: 4,
	}, demoOptions{Progress: io.Discard, OnResult: func(r demoResult) error {
		result = r
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Simulated) != 2 {
		t.Fatalf("got %d profiles, want both", len(result.Simulated))
	}
	for _, c := range result.Simulated {
		if c.Pods != pods || c.Failed != 0 {
			t.Errorf("%s: got %d completed and %d failed pods, want %d and none", c.Profile, c.Pods, c.Failed, pods)
		}
	}
	// Spazio's pods wait for room, so each runs for a shorter time.
	if spazio, other := result.Simulated[0], result.Simulated[1]; spazio.RunTime.Mean >= other.RunTime.Mean {
		t.Errorf("got a mean run time under %s of %v s, under %s of %v", spazio.Profile, spazio.RunTime.Mean, other.Profile, other.RunTime.Mean)
	}
}
