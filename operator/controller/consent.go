package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// allowed says whether Schedulings of the namespace may use an object of namespace own.
// By labels they may if the namespace is there and has them.
func allowed(ctx context.Context, r client.Reader, consent *v1alpha1.AllowedNamespaces, own, namespace string) (bool, error) {
	switch {
	case namespace == own || consent.From == v1alpha1.FromAll:
		// An object's own namespace may always use it: its owners could change the consent.
		return true, nil
	case consent.From != v1alpha1.FromSelector || consent.Selector == nil:
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(consent.Selector)
	if err != nil {
		return false, nil //nolint:nilerr // who can't be selected is not
	}
	var ns corev1.Namespace
	if err := r.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return selector.Matches(labels.Set(ns.Labels)), nil
}
