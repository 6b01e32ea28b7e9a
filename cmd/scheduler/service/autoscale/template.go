package autoscale

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/spazio-scheduler/spazio/plugin"
)

// Labels and annotations that a Controller writes, beside those of plugin.
const (
	// bufferLabel marks CapacityBuffers and PodTemplates.
	bufferLabel = "spazio-scheduler.github.io/buffer"
	// workloadAnnotation has the workload of either, hashAnnotation a digest of what was applied.
	workloadAnnotation = "spazio-scheduler.github.io/workload"
	hashAnnotation     = "spazio-scheduler.github.io/applied"
	labelValue         = "true"
)

// placeholderImage is never pulled: an autoscaler makes no pod of a template, or one in memory.
const placeholderImage = "registry.k8s.io/pause:3.10"

// template returns the pod that an autoscaler is to find nodes for in the place of a waiting pod:
// what decides which nodes it may go to, except volumes, and what it takes.
func template(pod *corev1.Pod, demand amount) corev1.PodTemplateSpec {
	spec := pod.Spec.DeepCopy()
	t := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations, PriorityClassName: spec.PriorityClassName,
		TopologySpreadConstraints: spec.TopologySpreadConstraints,
		Affinity:                  &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: notFull(spec.Affinity)}},
		Containers: []corev1.Container{{
			Name: "pod", Image: placeholderImage, SecurityContext: restricted(),
			Resources: resources(pod, demand),
		}},
	}}
	if len(spec.TopologySpreadConstraints) > 0 { // they select pods by label
		t.Labels = pod.DeepCopy().Labels
	}
	return t
}

// restricted returns what the Pod Security Standard "restricted" requires, which Spazio's namespace
// enforces: cluster-autoscaler creates the pod by a dry run before it counts the buffer.
func restricted() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		RunAsNonRoot: &yes, AllowPrivilegeEscalation: &no,
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// templateNode is the label that cluster-autoscaler gives to the nodes that it simulates.
const templateNode = "cluster-autoscaler.kubernetes.io/template-node"

// notFull returns the required node affinity with full nodes excluded from each term. What
// cluster-autoscaler simulates as a new node is a copy of a node of its group, which may be full:
// further terms accept those. They come last, because Karpenter tries one term after the other.
func notFull(a *corev1.Affinity) *corev1.NodeSelector {
	isNotFull := corev1.NodeSelectorRequirement{Key: plugin.FullLabel, Operator: corev1.NodeSelectorOpDoesNotExist}
	isTemplate := corev1.NodeSelectorRequirement{Key: templateNode, Operator: corev1.NodeSelectorOpExists}
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{isNotFull}},
			{MatchExpressions: []corev1.NodeSelectorRequirement{isTemplate}},
		}}
	}
	required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.DeepCopy()
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue // an empty term matches no node
		}
		other := term.DeepCopy()
		other.MatchExpressions = append(other.MatchExpressions, isTemplate)
		term.MatchExpressions = append(term.MatchExpressions, isNotFull)
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, *other)
	}
	return required
}

// resources returns the requests, and equal limits for what the API server takes no requests of
// without: huge pages and extended resources.
func resources(pod *corev1.Pod, demand amount) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: requests(pod, demand)}
	for name, amount := range r.Requests {
		isNative := !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
		if isNative && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			continue
		}
		if r.Limits == nil {
			r.Limits = corev1.ResourceList{}
		}
		r.Limits[name] = amount
	}
	return r
}

// requests returns what the pod declares or what it is measured to take, whichever is more.
func requests(pod *corev1.Pod, demand amount) corev1.ResourceList {
	list := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	raise := func(name corev1.ResourceName, to *resource.Quantity) {
		if declared := list[name]; to.Cmp(declared) > 0 {
			list[name] = *to
		}
	}
	const mebi = 1 << 20
	raise(corev1.ResourceCPU, resource.NewMilliQuantity(int64(math.Ceil(demand.CPU*1000)), resource.DecimalSI))
	raise(corev1.ResourceMemory, resource.NewQuantity(int64(math.Ceil(demand.Memory/mebi))*mebi, resource.BinarySI))
	for name, amount := range list {
		if amount.IsZero() {
			delete(list, name)
		}
	}
	return list
}

// omitted returns a text that names the pod's volumes and resource claims that may bind it to some
// nodes, empty if it has none.
func omitted(pod *corev1.Pod) string {
	var names []string
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.CSI != nil {
			names = append(names, "volume "+v.Name)
		}
	}
	for _, c := range pod.Spec.ResourceClaims {
		names = append(names, "resource claim "+c.Name)
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "The template leaves out what may bind the pods to nodes: " + strings.Join(names, ", ")
}

// nameOf returns the name of a workload's buffer and template: readable, and different for each
// workload.
func nameOf(workload string) string {
	sum := sha256.Sum256([]byte(workload))
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(workload[strings.LastIndex(workload, "/")+1:]))
	readable = strings.Trim(readable[:min(len(readable), 40)], "-")
	if readable == "" {
		readable = "pods"
	}
	return "waiting-" + readable + "-" + hex.EncodeToString(sum[:5])
}

// objectMeta is that of both objects of a workload.
func (c *Controller) objectMeta(workload string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: nameOf(workload), Namespace: c.config.Namespace,
		Labels:          map[string]string{bufferLabel: labelValue, "app.kubernetes.io/managed-by": fieldManager},
		Annotations:     map[string]string{workloadAnnotation: workload},
		OwnerReferences: c.owners,
	}
}

// digest returns a short hash of an object's JSON, in which maps are sorted.
func digest(object any) (string, error) {
	text, err := json.Marshal(object)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), err
}
