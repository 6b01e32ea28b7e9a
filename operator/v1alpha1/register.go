package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of the package's objects.
var GroupVersion = schema.GroupVersion{Group: "testbed.spazio-scheduler.github.io", Version: "v1alpha1"}

// The resources' names.
const (
	Testbeds    = "testbeds"
	BatchJobs   = "batchjobs"
	Schedulings = "schedulings"
)

// AddToScheme registers the objects.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Testbed{}, &TestbedList{},
		&BatchJob{}, &BatchJobList{},
		&Scheduling{}, &SchedulingList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
