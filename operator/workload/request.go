package workload

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Bounds of a slot's resources, cpu and all others: far more than any machine has, and what
// fits in the numbers that operators calculate with.
var (
	maxCPU    = resource.MustParse("1M")
	maxAmount = resource.MustParse("1Pi")
)

// check refuses what no child can be made of.
func check(job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) error {
	switch {
	case job.Name == "":
		return refuse("metadata.name", job.Name, "set")
	case job.UID == "":
		return refuse("metadata.uid", job.UID, "set")
	case request.Testbed.UID == "":
		return refuse("creationRequest.testbed.uid", request.Testbed.UID, "set")
	case request.Replication < 1:
		return refuse("creationRequest.replication", request.Replication, "at least 1")
	case request.Attempt < 1:
		return refuse("creationRequest.attempt", request.Attempt, "at least 1")
	}
	for _, name := range resourceNames(request) {
		amount := request.Resources[name]
		field := "creationRequest.resources." + string(name)
		switch {
		case amount.Sign() <= 0:
			return refuse(field, amount.String(), "more than 0")
		case name == corev1.ResourceCPU && amount.Cmp(maxCPU) > 0:
			return refuse(field, amount.String(), "at most "+maxCPU.String())
		case amount.Cmp(maxAmount) > 0:
			return refuse(field, amount.String(), "at most "+maxAmount.String())
		}
	}
	return nil
}

// resourceNames are those of a slot, in order.
func resourceNames(request *v1alpha1.CreationRequest) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(request.Resources))
	for name := range request.Resources {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// floor is an amount in whole units of the scale.
func floor(amount resource.Quantity, scale resource.Scale) int64 {
	value := amount.ScaledValue(scale) // rounds up
	if whole := resource.NewScaledQuantity(value, scale); amount.Cmp(*whole) < 0 {
		value--
	}
	return value
}

// mebibytes of a slot, whole ones.
func mebibytes(memory resource.Quantity) int64 { return floor(memory, 0) >> 20 }

// slotLabels are those of a pod in a slot.
func slotLabels(job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) map[string]string {
	return map[string]string{
		v1alpha1.LabelRole:        v1alpha1.RoleSlot,
		v1alpha1.LabelTestbedUID:  string(request.Testbed.UID),
		v1alpha1.LabelBatchJobUID: string(job.UID),
		v1alpha1.LabelAttempt:     strconv.Itoa(int(request.Attempt)),
	}
}

// childOf wraps a spec. The child has no labels: the Spark operator would put them on
// the driver too.
func childOf(kind schema.GroupVersionKind, job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest, spec object) *unstructured.Unstructured {
	child := &unstructured.Unstructured{Object: map[string]any{"spec": spec.fields}}
	child.SetGroupVersionKind(kind)
	child.SetNamespace(job.Namespace)
	child.SetName(Name(job.Name, request.Attempt))
	controller := true
	child.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchJob",
		Name: job.Name, UID: job.UID, Controller: &controller,
	}})
	return child
}

// SlotPod is what a slot.Table needs to know of a placeholder or a job's pod, by its labels and
// annotations. A pod that names no slot has none.
func SlotPod(p *corev1.Pod) slot.Pod {
	o := slot.Pod{
		UID: string(p.UID), Namespace: p.Namespace, Name: p.Name, Role: slot.Occupant,
		Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time, Deleting: p.DeletionTimestamp != nil,
		Terminal: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
	}
	if p.Labels[v1alpha1.LabelRole] == v1alpha1.RolePlaceholder {
		o.Role, o.Size = slot.Placeholder, p.Annotations[v1alpha1.AnnotationSize]
	} else {
		o.Owner = p.Labels[v1alpha1.LabelBatchJobUID]
	}
	// A text that is no slot's ID stands for none.
	o.Slot, _ = slot.ParseID(p.Annotations[v1alpha1.AnnotationSlot])
	return o
}

// Bounds of a child's name. The Flink operator takes 45 characters; 40 of the job's
// leave room for a thousand runs.
const (
	maxName    = 45
	maxJobName = 40
	hashLen    = 8
)

// Name returns the name of a job's child: the job's name and -r with the number of the
// run. The operators make services of it, so it begins with a letter and has no dots; a
// name that is too long or not like that is cut and changed, and a hash of the whole
// follows.
func Name(job string, attempt int32) string {
	suffix := fmt.Sprintf("-r%d", attempt)
	most := min(maxJobName, maxName-len(suffix))
	if len(job) <= most && len(validation.IsDNS1035Label(job)) == 0 {
		return job + suffix
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(job)) // never fails
	return fmt.Sprintf("%s-%0*x%s", label(job, most-hashLen-1), hashLen, h.Sum32(), suffix)
}

// label makes of a text the beginning of a label, of at most so many characters.
func label(text string, most int) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
	if kept == "" || kept[0] < 'a' || kept[0] > 'z' {
		kept = "j" + kept
	}
	return strings.TrimRight(kept[:min(len(kept), most)], "-")
}
