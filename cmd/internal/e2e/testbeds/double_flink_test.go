package testbeds

import (
	"cmp"
	"context"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// States of a FlinkDeployment: of itself (lifecycleState), of its job manager
// (jobManagerDeploymentStatus) and of its job (jobStatus.state).
const (
	flinkCreated  = "CREATED"
	flinkDeployed = "DEPLOYED"
	flinkStable   = "STABLE"
	flinkFailed   = "FAILED"

	managerMissing   = "MISSING"
	managerDeploying = "DEPLOYING"
	managerReady     = "READY"

	flinkJobReconciling = "RECONCILING"
	flinkJobRunning     = "RUNNING"
	flinkJobFinished    = "FINISHED"
)

// Labels of Flink's pods.
const (
	flinkApp       = "app"
	flinkComponent = "component"
	flinkManager   = "jobmanager"
	flinkWorker    = "taskmanager"
)

type flinkSpec struct {
	Image       string                  `json:"image"`
	PodTemplate *corev1.PodTemplateSpec `json:"podTemplate"`
	JobManager  flinkPod                `json:"jobManager"`
	TaskManager flinkPod                `json:"taskManager"`
}

type flinkPod struct {
	Replicas *int32 `json:"replicas"`
	Resource struct {
		CPU    float64 `json:"cpu"`
		Memory string  `json:"memory"`
	} `json:"resource"`
	PodTemplate *corev1.PodTemplateSpec `json:"podTemplate"`
}

func (a *application) stepFlink(ctx context.Context) error {
	var spec flinkSpec
	if err := a.decode(&spec); err != nil {
		return err
	}
	job := a.text("status", "jobStatus", "state")
	switch lifecycle := a.text("status", "lifecycleState"); {
	case lifecycle == flinkFailed || job == flinkJobFinished || job == flinkFailed:
		return nil // task managers stay
	case lifecycle == "" && a.faults.FailSubmission:
		return a.write(ctx, set(flinkFailed, "lifecycleState"), set(managerMissing, "jobManagerDeploymentStatus"), set("the job graph can't be made", "error"))
	case lifecycle == "":
		return a.write(ctx, set(flinkCreated, "lifecycleState"), set(managerMissing, "jobManagerDeploymentStatus"))
	case lifecycle == flinkCreated:
		return a.deploy(ctx, &spec)
	default:
		return a.observe(ctx, &spec, lifecycle, job)
	}
}

// deploy creates the Deployments.
func (a *application) deploy(ctx context.Context, spec *flinkSpec) error {
	for _, d := range []struct {
		name, component string
		pod             *flinkPod
	}{
		{a.object.GetName(), flinkManager, &spec.JobManager},
		{a.object.GetName() + "-taskmanager", flinkWorker, &spec.TaskManager},
	} {
		deployment, err := a.deployment(spec, d.name, d.component, d.pod)
		if err != nil {
			return err
		}
		if _, err := a.client.AppsV1().Deployments(a.object.GetNamespace()).Create(ctx, deployment, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return a.write(ctx, set(flinkDeployed, "lifecycleState"), set(managerDeploying, "jobManagerDeploymentStatus"),
		set(flinkJobReconciling, "jobStatus", "state"), set(milliseconds(), "jobStatus", "updateTime"))
}

// milliseconds formats the present as Flink does.
func milliseconds() string { return strconv.FormatInt(time.Now().UnixMilli(), 10) }

func (a *application) deployment(spec *flinkSpec, name, component string, p *flinkPod) (*appsv1.Deployment, error) {
	memory, err := sparkMiB(cmp.Or(p.Resource.Memory, "1600m")) // Flink's units are Spark's
	if err != nil {
		return nil, err
	}
	milli := int64(cmp.Or(p.Resource.CPU, 1) * 1000)
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
	}
	pod := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "flink-main-container", Image: cmp.Or(spec.Image, "flink"),
		Resources: corev1.ResourceRequirements{Requests: amounts, Limits: amounts},
	}}}}
	apply(spec.PodTemplate, pod)
	apply(p.PodTemplate, pod)
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Annotations = neverEnding(pod.Annotations)
	own := a.labels(component)
	pod.Labels = merge(pod.Labels, own)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: own, OwnerReferences: a.owner()},
		Spec: appsv1.DeploymentSpec{
			Replicas: cmp.Or(p.Replicas, new(int32(1))), Selector: &metav1.LabelSelector{MatchLabels: own}, Template: *pod,
		},
	}, nil
}

func (a *application) labels(component string) labels.Set {
	return labels.Set{flinkApp: a.object.GetName(), flinkComponent: component, "type": "flink-standalone-kubernetes"}
}

// observe derives the job's state from its pods.
func (a *application) observe(ctx context.Context, spec *flinkSpec, lifecycle, job string) error {
	managers, err := a.podsOf(a.labels(flinkManager))
	if err != nil {
		return err
	}
	workers, err := a.podsOf(a.labels(flinkWorker))
	if err != nil {
		return err
	}
	managing, _ := runningSince(managers)
	running, since := runningSince(workers)
	if managing == 0 || running < int(*cmp.Or(spec.TaskManager.Replicas, new(int32(1)))) {
		return nil
	}
	var annotations map[string]string
	if t := spec.TaskManager.PodTemplate; t != nil {
		annotations = t.Annotations
	}
	takes, err := work(annotations)
	if err != nil {
		return err
	}
	done := time.Since(since) >= takes
	switch {
	case job != flinkJobRunning && !a.faults.SkipStates:
		return a.write(ctx, set(managerReady, "jobManagerDeploymentStatus"),
			set(flinkJobRunning, "jobStatus", "state"), set(milliseconds(), "jobStatus", "updateTime"))
	case lifecycle != flinkStable && !a.faults.SkipStates:
		return a.write(ctx, set(flinkStable, "lifecycleState"))
	case !done:
		return nil
	}
	state := flinkJobFinished
	if a.faults.Fail {
		state = flinkFailed
	}
	return a.write(ctx, set(managerReady, "jobManagerDeploymentStatus"), set(flinkStable, "lifecycleState"),
		set(state, "jobStatus", "state"), set(milliseconds(), "jobStatus", "updateTime"))
}
