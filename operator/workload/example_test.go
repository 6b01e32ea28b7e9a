package workload_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
)

// A Job that was given two slots of a core each: it is made with two pods, which request a slot.
func Example() {
	job := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "sort", Namespace: "lab", UID: "1"}}
	job.Spec.JobSpec = &runtime.RawExtension{Raw: []byte(`{"template": {"spec": {"containers": [{"name": "sort", "image": "sort"}]}}}`)}
	request := &v1alpha1.CreationRequest{
		Testbed: v1alpha1.ObjectReference{Namespace: "lab", Name: "small", UID: "2"},
		Slots:   []string{"worker-1/0", "worker-2/0"}, Replication: 2, Attempt: 1,
		Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}
	adapter, err := workload.Of(&job.Spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	child, err := adapter.Child(job, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	parallelism, _, _ := unstructured.NestedInt64(child.Object, "spec", "parallelism")
	scheduler, _, _ := unstructured.NestedString(child.Object, "spec", "template", "spec", "schedulerName")
	fmt.Println(child.GetKind(), child.GetName(), parallelism, scheduler, adapter.Pods(child), adapter.Status(child).Phase == workload.Pending)
	// Output:
	// Job sort-r1 2 spazio-slots 2 true
}
