package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// GroupVersion is the API group and version of the package's objects.
var GroupVersion = schema.GroupVersion{Group: "profile.spazio-scheduler.github.io", Version: "v1alpha1"}

// The resources' names.
const (
	Profiles    = "workloadprofiles"
	Checkpoints = "workloadprofilecheckpoints"
)

// Codecs are what a REST client of these objects encodes by.
var Codecs = serializer.NewCodecFactory(newScheme()).WithoutConversion()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := AddToScheme(s); err != nil {
		panic(err) // the types below can't be registered
	}
	return s
}

// AddToScheme registers the objects.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &WorkloadProfile{}, &WorkloadProfileList{}, &WorkloadProfileCheckpoint{}, &WorkloadProfileCheckpointList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
