package controller

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// placeholderSize is what a placeholder holds and how it is made.
type placeholderSize struct {
	resources corev1.ResourceList
	// units of its node's measured room.
	units float64
	like  v1alpha1.Placeholders
}

// String spells the size, the same one alike.
func (g *placeholderSize) String() string {
	parts := make([]string, 0, len(g.resources)+2)
	for name, amount := range g.resources {
		// As the API server would write it, however it was written.
		parts = append(parts, string(name)+"="+canonical(amount.DeepCopy()))
	}
	slices.Sort(parts)
	return strings.Join(append(parts, "units="+unitsText(g.units), "like="+likeText(&g.like)), ",")
}

// likeText is the same for placeholders that are made alike. Defaults are filled in, so that an
// object which an API server has defaulted is like one that it has not.
func likeText(like *v1alpha1.Placeholders) string {
	of := *like
	of.PriorityClassName = cmp.Or(of.PriorityClassName, v1alpha1.PriorityClassPlaceholder)
	hash := fnv.New32a()
	text, err := json.Marshal(of)
	if err != nil { // of strings and integers it can't be
		text = fmt.Append(nil, of)
	}
	_, _ = hash.Write(text)
	return fmt.Sprintf("%08x", hash.Sum32())
}

func unitsText(units float64) string { return strconv.FormatFloat(units, 'f', -1, 64) }

// sizeOf is what the Testbed's free slots hold.
func sizeOf(spec *v1alpha1.TestbedSpec) placeholderSize {
	g := placeholderSize{resources: spec.ResourcesPerSlot, units: 1, like: spec.Placeholders}
	if spec.Automatic() {
		g.units = autoOf(spec).UnitsPerSlot
	}
	return g
}

// placeholderPod returns the pod that reserves a slot.
func placeholderPod(tb *v1alpha1.Testbed, id slot.ID, name, image string, size *placeholderSize) *corev1.Pod {
	yes, no, grace, user := true, false, int64(0), int64(65535)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: tb.Namespace, Name: name,
			Labels: map[string]string{
				v1alpha1.LabelRole: v1alpha1.RolePlaceholder, v1alpha1.LabelTestbedUID: string(tb.UID),
			},
			Annotations: map[string]string{
				v1alpha1.AnnotationSlot:   id.String(),
				v1alpha1.AnnotationSize:   size.String(),
				v1alpha1.AnnotationOptOut: "true",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "Testbed", Name: tb.Name, UID: tb.UID, Controller: &yes,
			}},
		},
		Spec: corev1.PodSpec{
			SchedulerName:                 v1alpha1.SchedulerName,
			PriorityClassName:             cmp.Or(size.like.PriorityClassName, v1alpha1.PriorityClassPlaceholder),
			Tolerations:                   slices.Clone(size.like.Tolerations),
			Affinity:                      onNode(id.Node),
			TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "placeholder", Image: image, Resources: reservation(size.resources),
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	if size.like.RuntimeClassName != "" {
		p.Spec.RuntimeClassName = &size.like.RuntimeClassName
	}
	return p
}

// onNode has a pod run on the node or not at all.
func onNode(name string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{
					Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name},
				}},
			}},
		},
	}}
}

// reservation requests the resources. There are no limits, so that no core becomes a
// placeholder's own, but where Kubernetes takes no request without.
func reservation(resources corev1.ResourceList) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: resources.DeepCopy()}
	for name, amount := range resources {
		if workload.Overcommitted(name) {
			continue
		}
		if r.Limits == nil {
			r.Limits = corev1.ResourceList{}
		}
		r.Limits[name] = amount.DeepCopy()
	}
	return r
}

// canonical spells an amount: 1000m and 1 are the same.
func canonical(amount resource.Quantity) string {
	return resource.NewDecimalQuantity(*amount.AsDec(), resource.DecimalSI).String()
}
