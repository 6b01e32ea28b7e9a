package autoscale

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// buffersResource is what both autoscalers read.
var buffersResource = schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacitybuffers"}

const (
	templatesResource = "podtemplates"
	bufferKind        = "CapacityBuffer"
	// activeCapacity is the strategy that has the autoscaler add nodes.
	activeCapacity = "buffer.x-k8s.io/active-capacity"
	// templateIncomplete is the condition of a buffer whose template lacks volumes or resource claims
	// of the pods.
	templateIncomplete = "TemplateIncomplete"
)

// existing is what the API has of ours.
type existing struct {
	buffers []buffer
	// applied has the digests of buffers and templates, by name.
	applied, templates map[string]string
	// incomplete has the message of the condition templateIncomplete, by name.
	incomplete map[string]string
}

// list reads the buffers and templates that this Controller or a former leader has written.
func (c *Controller) list(ctx context.Context) (existing, error) {
	e := existing{applied: map[string]string{}, templates: map[string]string{}, incomplete: map[string]string{}}
	options := metav1.ListOptions{LabelSelector: bufferLabel}
	buffers, err := c.dynamic.Resource(buffersResource).Namespace(c.config.Namespace).List(ctx, options)
	if err != nil {
		return e, c.failed("list", buffersResource.Resource, "", err)
	}
	for i := range buffers.Items {
		b := &buffers.Items[i]
		workload := b.GetAnnotations()[workloadAnnotation]
		if b.GetName() != nameOf(workload) {
			continue // not one of ours, whoever labelled it
		}
		replicas, _, _ := unstructured.NestedInt64(b.Object, "spec", "replicas")
		e.buffers = append(e.buffers, buffer{Workload: workload, Replicas: int(replicas)})
		e.applied[b.GetName()] = b.GetAnnotations()[hashAnnotation]
		e.incomplete[b.GetName()] = conditionMessage(b)
	}
	templates, err := c.client.CoreV1().PodTemplates(c.config.Namespace).List(ctx, options)
	if err != nil {
		return e, c.failed("list", templatesResource, "", err)
	}
	for i := range templates.Items {
		if t := &templates.Items[i]; t.Name == nameOf(t.Annotations[workloadAnnotation]) {
			e.templates[t.Name] = t.Annotations[hashAnnotation]
		}
	}
	return e, nil
}

// conditionMessage returns the message of a buffer's condition templateIncomplete.
func conditionMessage(b *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(b.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == templateIncomplete {
			message, _ := condition["message"].(string)
			return message
		}
	}
	return ""
}

// write makes the API as it should be, and returns for how many pods the buffers that exist ask for
// nodes, by workload. It goes on after an error.
func (c *Controller) write(ctx context.Context, out plannerOutput, newest map[string]*corev1.Pod, e existing) (asking map[string]int, err error) {
	var errs []error
	asking = make(map[string]int, len(out.Buffers))
	keep := make(map[string]bool, len(e.buffers))
	for _, b := range e.buffers {
		keep[nameOf(b.Workload)] = true
		asking[b.Workload] = b.Replicas
	}
	var ownerErr error // without an owner nothing is written that would outlive Spazio
	if len(out.Buffers) > 0 {
		ownerErr = c.findOwner(ctx)
		errs = append(errs, ownerErr)
	}
	for _, b := range out.Buffers {
		keep[nameOf(b.Workload)] = true
		if ownerErr != nil {
			continue
		}
		if err := c.ask(ctx, b, newest[b.Workload], e); err != nil {
			errs = append(errs, err)
			continue
		}
		asking[b.Workload] = b.Replicas
		errs = append(errs, c.setCondition(ctx, nameOf(b.Workload), newest[b.Workload], e))
	}
	for _, workload := range out.Delete {
		name := nameOf(workload)
		err := c.dynamic.Resource(buffersResource).Namespace(c.config.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, c.failed("delete", buffersResource.Resource, name, err))
			continue // its template is still in use
		}
		keep[name] = false
	}
	for name := range e.templates {
		if keep[name] {
			continue
		}
		err := c.client.CoreV1().PodTemplates(c.config.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, c.failed("delete", templatesResource, name, err))
		}
	}
	return asking, errors.Join(errs...)
}

// ask applies the template and the buffer of a workload as far as they differ.
func (c *Controller) ask(ctx context.Context, b buffer, pod *corev1.Pod, e existing) error {
	name := nameOf(b.Workload)
	t := corev1.PodTemplate{ObjectMeta: c.objectMeta(b.Workload), Template: template(pod, b.Demand)}
	t.APIVersion, t.Kind = "v1", "PodTemplate"
	if err := c.apply(t.Name, &t.ObjectMeta, &t, e.templates, func(patch []byte) error {
		_, err := c.client.CoreV1().PodTemplates(t.Namespace).Patch(ctx, t.Name, types.ApplyPatchType, patch, applyOptions(true))
		return err
	}); err != nil {
		return c.failed("patch", templatesResource, name, err)
	}
	o := capacityBuffer{ObjectMeta: c.objectMeta(b.Workload), Spec: capacityBufferSpec{
		ProvisioningStrategy: activeCapacity, PodTemplateRef: localRef{name}, Replicas: b.Replicas,
	}}
	o.APIVersion, o.Kind = buffersResource.GroupVersion().String(), bufferKind
	if err := c.apply(name, &o.ObjectMeta, &o, e.applied, func(patch []byte) error {
		_, err := c.dynamic.Resource(buffersResource).Namespace(o.Namespace).Patch(ctx, name, types.ApplyPatchType, patch, applyOptions(true))
		return err
	}); err != nil {
		return c.failed("patch", buffersResource.Resource, name, err)
	}
	return nil
}

// setCondition writes the condition templateIncomplete of a buffer if its message is another.
func (c *Controller) setCondition(ctx context.Context, name string, pod *corev1.Pod, e existing) error {
	message := omitted(pod)
	if message == e.incomplete[name] {
		return nil
	}
	patch, err := json.Marshal(c.status(name, message))
	if err == nil {
		_, err = c.dynamic.Resource(buffersResource).Namespace(c.config.Namespace).Patch(ctx, name, types.ApplyPatchType, patch, applyOptions(true), "status")
	}
	if err != nil {
		return c.failed("patch", buffersResource.Resource+"/status", name, err)
	}
	return nil
}

// apply sends an object with its digest unless the API has one of the same digest.
func (c *Controller) apply(name string, meta *metav1.ObjectMeta, object any, applied map[string]string, send func(patch []byte) error) error {
	sum, err := digest(object)
	if err != nil {
		return err
	}
	if applied[name] == sum {
		return nil
	}
	meta.Annotations[hashAnnotation] = sum
	patch, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return send(patch)
}

// applyOptions are those of a server-side apply; force takes fields over from other managers.
func applyOptions(force bool) metav1.PatchOptions {
	return metav1.PatchOptions{FieldManager: fieldManager, Force: &force}
}

// capacityBuffer has the fields of a CapacityBuffer that are written.
type capacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              capacityBufferSpec `json:"spec"`
}

type capacityBufferSpec struct {
	ProvisioningStrategy string   `json:"provisioningStrategy"`
	PodTemplateRef       localRef `json:"podTemplateRef"`
	Replicas             int      `json:"replicas"`
}

type localRef struct {
	Name string `json:"name"`
}

// status returns a buffer's status with the condition templateIncomplete, without it if message is
// empty. The other conditions are the autoscaler's.
func (c *Controller) status(name, message string) map[string]any {
	conditions := []metav1.Condition{}
	if message != "" {
		conditions = append(conditions, metav1.Condition{
			Type: templateIncomplete, Status: metav1.ConditionTrue, Reason: "NotCopied", Message: message, LastTransitionTime: metav1.NewTime(c.now()),
		})
	}
	return map[string]any{
		"apiVersion": buffersResource.GroupVersion().String(), "kind": bufferKind,
		"metadata": map[string]any{"name": name, "namespace": c.config.Namespace},
		"status":   map[string]any{"conditions": conditions},
	}
}

// findOwner reads the Deployment that is to own what is written, once.
func (c *Controller) findOwner(ctx context.Context) error {
	if c.config.Owner == "" || c.owners != nil {
		return nil
	}
	d, err := c.client.AppsV1().Deployments(c.config.Namespace).Get(ctx, c.config.Owner, metav1.GetOptions{})
	if err != nil {
		return c.failed("get", "deployments", c.config.Owner, err)
	}
	c.owners = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: d.Name, UID: d.UID}}
	return nil
}
