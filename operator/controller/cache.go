package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Cache is what the manager's cache must be like: it follows the pods that stand in
// slots alone, keeps of them and of nodes what is needed, and follows the namespaces,
// none being all.
func Cache(namespaces []string) cache.Options {
	// Neither the key nor the values can be refused.
	role, _ := labels.NewRequirement(v1alpha1.LabelRole, selection.In, []string{v1alpha1.RoleGhost, v1alpha1.RoleSlot})
	o := cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:  {Label: labels.NewSelector().Add(*role), Transform: stripPod},
			&corev1.Node{}: {Transform: stripNode},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	for _, namespace := range namespaces {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[namespace] = cache.Config{}
	}
	return o
}

// stripPod leaves of a ghost where it is and what it holds: there may be thousands.
func stripPod(object any) (any, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	p.ManagedFields = nil
	if p.Labels[v1alpha1.LabelRole] == v1alpha1.RoleGhost {
		p.OwnerReferences = nil
		p.Spec = corev1.PodSpec{NodeName: p.Spec.NodeName}
		p.Status = corev1.PodStatus{Phase: p.Status.Phase}
	}
	return p, nil
}

// stripNode leaves a node's name and labels.
func stripNode(object any) (any, error) {
	n, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{TypeMeta: n.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion, Labels: n.Labels,
	}}, nil
}
