package vpa_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/vpa"
)

// An autoscaler's object asks us about a Deployment, whose pods are known well enough.
func ExampleObject_Next() {
	object, err := vpa.Decode(map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "web", "generation": int64(2)},
		"spec": map[string]any{
			"targetRef":    map[string]any{"kind": "Deployment", "name": "web"},
			"recommenders": []any{map[string]any{"name": "spazio"}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	workload, _ := object.Workload()
	fmt.Println(object.Asks("spazio"), workload)
	sure := profile.Share{Confidence: .9}
	half := profile.Amounts{CPU: .5, Memory: 256 << 20}
	status := object.Next(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), profiler.Advice{
		Demand:          profile.Demand{CPU: sure, Memory: sure},
		Recommendations: []profile.Recommendation{{Container: "main", Target: half, Uncapped: half, LowerBound: half, UpperBound: half}},
	}, true)
	target := status.Recommendation.ContainerRecommendations[0].Target
	fmt.Println(target.Cpu(), target.Memory(), vpa.Equal(status, object.Status))
	// Output:
	// true shop/Deployment/web
	// 500m 256Mi false
}
