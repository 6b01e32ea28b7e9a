package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/profile"
)

// MetaOf returns what profile.Identify needs of an object, such as a pod, except its
// node and containers. It shares the object's labels and annotations.
func MetaOf(o metav1.Object) profile.Meta {
	m := profile.Meta{
		Namespace: o.GetNamespace(), Name: o.GetName(), GenerateName: o.GetGenerateName(),
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(), Created: o.GetCreationTimestamp().Time,
	}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		m.Controller = profile.Owner{Kind: owner.Kind, Name: owner.Name}
	}
	return m
}
