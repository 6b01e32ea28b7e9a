package resize_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/resize"
)

// A pod that has run for an hour requests a core, of which its workload is known to need a
// half: a patch of its subresource resize says so.
func ExampleDecide() {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	began := metav1.NewTime(at.Add(-time.Hour))
	pod := resize.PodOf(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "1", ResourceVersion: "7"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name:      "main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, StartTime: &began},
	})
	sure := profile.Share{Confidence: .9}
	patch, verdict := resize.Decide(at, &pod, resize.Known{
		Known: true,
		Advice: profiler.Advice{
			Demand:          profile.Demand{CPU: sure, Memory: sure},
			Recommendations: []profile.Recommendation{{Container: "main", Target: profile.Amounts{CPU: .5, Memory: 1 << 30}}},
		},
		Peak: func(string) float64 { return 0 },
	})
	fmt.Println(verdict)
	fmt.Println(string(patch))
	// Output:
	// change
	// {"metadata":{"resourceVersion":"7","uid":"1"},"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"500m"}}}]}}
}
