package workload

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/resource"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// fillJob runs a Job of Kubernetes in the slots of a request.
func fillJob(spec object, job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) {
	n := int64(request.Replication)
	spec.set("parallelism", n)
	if !spec.has("completions") {
		spec.set("completions", n)
	}
	spec.set("backoffLimit", int64(0))
	spec.set("suspend", false)
	// Retries are the BatchJob's, and so is when the child goes.
	spec.drop("backoffLimitPerIndex", "maxFailedIndexes", "ttlSecondsAfterFinished")
	pod := spec.occupy(job, request, "template")
	if !pod.has("restartPolicy") {
		pod.set("restartPolicy", string(corev1.RestartPolicyNever))
	}
	jobResources(pod, request)
}

// jobResources has a pod request its slot: of each resource that the slot names and no
// container asks for, its first container requests all. What containers ask for must fit.
func jobResources(pod object, request *v1alpha1.CreationRequest) {
	asked := requests(pod)
	for _, name := range resourceNames(request) {
		amount := request.Resources[name]
		own, ok := asked[name]
		switch {
		case !ok:
			firstContainer(pod).request(name, amount.String())
		case own.Cmp(amount) > 0:
			pod.fail(refused(pod.at("containers"), string(name)+" "+own.String(), fmt.Errorf("%w: it holds %s", errSlotTooSmall, amount.String())))
		}
	}
}

// request has a container request an amount, and limits it where Kubernetes wants that.
func (o object) request(name corev1.ResourceName, amount string) {
	o.child("resources", "requests").set(string(name), amount)
	if !Overcommitted(name) {
		o.child("resources", "limits").set(string(name), amount)
	}
}

// Overcommitted reports whether pods may use more of a resource than they request: of all
// others, limits must equal requests.
func Overcommitted(name corev1.ResourceName) bool {
	if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
		return false
	}
	return !strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// firstContainer is the one that requests a slot.
func firstContainer(pod object) object {
	containers, _ := pod.fields["containers"].([]any)
	if len(containers) > 0 {
		if fields, ok := containers[0].(map[string]any); ok {
			return object{pod.at("containers[0]"), fields, pod.err}
		}
	}
	pod.fail(refuse(pod.at("containers"), pod.fields["containers"], "a list of containers"))
	return object{fields: map[string]any{}, err: pod.err}
}

// requests are what a pod will request, as the API server will have it: of a resource
// with a limit alone, the limit.
func requests(pod object) corev1.ResourceList {
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod.fields, &p.Spec); err != nil {
		pod.fail(refused(pod.path, pod.fields, invalid(err.Error())))
		return nil
	}
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range containers {
			defaultRequests(&containers[i].Resources)
		}
	}
	if p.Spec.Resources != nil {
		defaultRequests(p.Spec.Resources)
	}
	return resource.PodRequests(&p, resource.PodResourcesOptions{})
}

func defaultRequests(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; ok {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = limit
	}
}

func jobStatus(child *unstructured.Unstructured) Status {
	var s Status
	if count(child, "status", "active") > 0 || count(child, "status", "succeeded") > 0 {
		s = Status{Phase: Running, State: "Running"}
	}
	list, _, _ := unstructured.NestedFieldNoCopy(child.Object, "status", "conditions")
	conditions, _ := list.([]any)
	for _, c := range conditions {
		fields, ok := c.(map[string]any)
		if !ok || fields["status"] != string(corev1.ConditionTrue) {
			continue
		}
		condition := unstructured.Unstructured{Object: fields}
		kind := text(&condition, "type")
		switch batchv1.JobConditionType(kind) {
		case batchv1.JobComplete:
			s.Phase = Succeeded
		case batchv1.JobFailed:
			s.Phase = Failed
		case batchv1.JobSuspended:
			if s.Phase < Succeeded {
				s = Status{State: kind}
			}
			continue
		default:
			continue
		}
		s.State = kind
		s.Message = strings.TrimSpace(text(&condition, "reason") + " " + text(&condition, "message"))
		s.Finished = timeOf(text(&condition, "lastTransitionTime"))
	}
	return s
}
