package autoscale_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/plugin"
)

// TestPlanned: labels and annotations that another client has changed are left to it.
func TestPlanned(t *testing.T) {
	const drain, disrupt = "cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt"
	type values map[string]string
	for name, c := range map[string]struct {
		labels, annotations values
		ready               corev1.ConditionStatus
		want                autoscale.Node
	}{
		"nothing is set":         {nil, nil, corev1.ConditionTrue, autoscale.Node{Refuses: true, IsReady: true, Unset: []string{drain, disrupt}}},
		"is not ready":           {nil, nil, corev1.ConditionFalse, autoscale.Node{Refuses: true, Unset: []string{drain, disrupt}}},
		"is silent":              {nil, nil, corev1.ConditionUnknown, autoscale.Node{Refuses: true, Unset: []string{drain, disrupt}}},
		"is marked":              {values{plugin.FullLabel: "true", plugin.ProtectedLabel: "true"}, values{drain: "true"}, corev1.ConditionTrue, autoscale.Node{Refuses: true, IsReady: true, IsFull: true, IsProtected: true, Set: []string{drain}, Unset: []string{disrupt}}},
		"annotation of somebody": {nil, values{disrupt: "false"}, corev1.ConditionTrue, autoscale.Node{Refuses: true, IsReady: true, Unset: []string{drain}}},
		"full is somebody's":     {values{plugin.FullLabel: "false"}, nil, corev1.ConditionTrue, autoscale.Node{IsReady: true, Unset: []string{drain, disrupt}}},
		"label of protection":    {values{plugin.ProtectedLabel: "no"}, values{drain: "true"}, corev1.ConditionTrue, autoscale.Node{Refuses: true, IsReady: true}},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: c.labels, Annotations: c.annotations}}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: c.ready}}
			got := autoscale.Planned(plugin.MeasuredNode{Name: "n", HasReported: true, Refuses: true, IsMeasured: true, CPU: 0.5, Memory: 0.25}, node)
			c.want.Name, c.want.HasReported, c.want.IsMeasured, c.want.Use = "n", true, true, autoscale.Amount{CPU: 0.5, Memory: 0.25}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
