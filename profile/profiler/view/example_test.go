package view_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile/profiler/view"
)

// This is a profile as the API server has it, and the row of its one container.
func ExampleAdviceTable() {
	amounts := func(cores, bytes float64) v1alpha1.Amounts {
		return v1alpha1.Amounts{CPU: v1alpha1.Millicores(cores), Memory: v1alpha1.Bytes(bytes)}
	}
	profile := v1alpha1.WorkloadProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
	profile.Spec.Workload = v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}
	profile.Status.Recommendation = &v1alpha1.Recommendation{ContainerRecommendations: []v1alpha1.ContainerRecommendation{{
		ContainerName: "main", Target: amounts(.25, 64<<20), LowerBound: amounts(.2, 32<<20), UpperBound: amounts(1, 1<<30),
	}}}
	table := view.AdviceTable(view.AdviceOf([]v1alpha1.WorkloadProfile{profile}))
	fmt.Println(table.Header)
	fmt.Println(table.Rows[0])
	// Output:
	// [NAMESPACE WORKLOAD CONTAINER CPU FROM TO MEMORY FROM TO]
	// [shop Deployment/web main 250m 200m 1 64Mi 32Mi 1Gi]
}
