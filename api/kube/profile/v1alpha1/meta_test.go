package v1alpha1_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
)

// TestMetaOf: the controlling owner of an object counts.
func TestMetaOf(t *testing.T) {
	noon, yes := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), true
	o := &metav1.ObjectMeta{
		Namespace: "shop", Name: "cart-7d4b9-x2x4z", GenerateName: "cart-7d4b9-", CreationTimestamp: metav1.NewTime(noon),
		Labels: map[string]string{"app": "cart"}, Annotations: map[string]string{"a": "b"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Shop", Name: "all"}, {Kind: "ReplicaSet", Name: "cart-7d4b9", Controller: &yes}},
	}
	want := profile.Meta{
		Namespace: "shop", Name: "cart-7d4b9-x2x4z", GenerateName: "cart-7d4b9-", Created: noon,
		Labels: map[string]string{"app": "cart"}, Annotations: map[string]string{"a": "b"},
		Controller: profile.Owner{Kind: "ReplicaSet", Name: "cart-7d4b9"},
	}
	if diff := cmp.Diff(want, v1alpha1.MetaOf(o)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	o.OwnerReferences = nil
	if owner := v1alpha1.MetaOf(o).Controller; owner != (profile.Owner{}) {
		t.Errorf("without owners: got %+v", owner)
	}
}
