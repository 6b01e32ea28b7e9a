package workload

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// States of a FlinkDeployment's job (status.jobStatus.state) that say more than that it
// is pending. The others, RESTARTING and FAILING among them, are on the way to one of these.
const (
	flinkRunning  = "RUNNING"
	flinkFinished = "FINISHED"
	flinkFailed   = "FAILED"
	flinkCanceled = "CANCELED"
)

// States of the deployment itself (lifecycleState, jobManagerDeploymentStatus) in which
// its job can't go on, or does not run whatever its own state.
const (
	flinkLifecycleFailed   = "FAILED"
	flinkJobManagerError   = "ERROR"
	flinkJobManagerMissing = "MISSING"
)

// flinkSuspending are the lifecycle states in which the operator itself has stopped the
// job with a savepoint, which the job reports as FINISHED.
var flinkSuspending = []string{"SUSPENDED", "UPGRADING", "ROLLING_BACK"}

// fillFlink runs a FlinkDeployment with its task managers in the slots of a request.
func fillFlink(spec object, job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) error {
	spec.set("mode", "standalone")
	for _, edit := range []func(object) error{flinkJob, flinkConfiguration, flinkTemplate} {
		if err := edit(spec); err != nil {
			return err
		}
	}
	manager, err := spec.child("taskManager")
	if err != nil {
		return err
	}
	manager.set("replicas", int64(request.Replication))
	if err := flinkResources(manager, request); err != nil {
		return err
	}
	_, err = manager.occupy(job, request, "podTemplate")
	return err
}

// flinkJob sees that the deployment runs one job. Without a jar it would be a session
// cluster, which never ends; the definition asks for nothing.
func flinkJob(spec object) error {
	job, err := spec.child("job")
	if err != nil {
		return err
	}
	jar, err := job.text("jarURI")
	if err != nil {
		return err
	}
	if jar == "" {
		return refuse(job.at("jarURI"), jar, "set")
	}
	if job.fields["state"] != "running" {
		job.drop("state") // running
	}
	return nil
}

// flinkSlots is the key of the task slots in a task manager.
const flinkSlots = "taskmanager.numberOfTaskSlots"

// flinkConfiguration sets one task slot a task manager where the user says nothing else,
// in either form of the configuration: with dots, or nested.
func flinkConfiguration(spec object) error {
	configuration, err := spec.child("flinkConfiguration")
	if err != nil {
		return err
	}
	if nested, ok := configuration.fields["taskmanager"].(map[string]any); ok && nested["numberOfTaskSlots"] != nil {
		return nil
	}
	if !configuration.has(flinkSlots) {
		configuration.set(flinkSlots, "1")
	}
	return nil
}

// flinkTemplate keeps the template of all pods, which task managers get as well, from
// naming their node or their slot.
func flinkTemplate(spec object) error {
	if !spec.has("podTemplate") {
		return nil
	}
	template, err := spec.child("podTemplate")
	if err != nil {
		return err
	}
	if err := template.stripTemplate(); err != nil {
		return err
	}
	if !template.has("spec") {
		return nil
	}
	pod, err := template.child("spec")
	if err != nil {
		return err
	}
	return pod.unbound()
}

// flinkResources makes a task manager as large as its slot.
func flinkResources(manager object, request *v1alpha1.CreationRequest) error {
	if len(request.Resources) == 0 {
		return nil
	}
	resources, err := manager.child("resource")
	if err != nil {
		return err
	}
	if cpu, ok := request.Resources[corev1.ResourceCPU]; ok {
		resources.set("cpu", float64(floor(cpu, -3))/1000)
	}
	if memory, ok := request.Resources[corev1.ResourceMemory]; ok {
		resources.set("memory", fmt.Sprintf("%dm", mebibytes(memory))) // Flink's m is MiB
	}
	return nil
}

func flinkStatus(child *unstructured.Unstructured) Status {
	s := Status{
		State:   text(child, "status", "jobStatus", "state"),
		Message: text(child, "status", "error"),
	}
	lifecycle := text(child, "status", "lifecycleState")
	manager := text(child, "status", "jobManagerDeploymentStatus")
	if manager == flinkJobManagerMissing && s.Message == "" {
		s.Message = "JobManager " + manager
	}
	switch {
	case s.State == flinkFinished && slices.Contains(flinkSuspending, lifecycle):
		s.State = lifecycle
	case s.State == flinkFinished:
		s.Phase = Succeeded
	case s.State == flinkFailed, s.State == flinkCanceled:
		s.Phase = Failed
	case lifecycle == flinkLifecycleFailed:
		s.Phase, s.State = Failed, lifecycle
	case manager == flinkJobManagerError:
		s.Phase, s.State = Failed, manager
	case s.State == flinkRunning && manager != flinkJobManagerMissing:
		s.Phase = Running
	case s.State == "":
		s.State = lifecycle
	}
	if s.Phase >= Succeeded {
		s.Finished = flinkTime(text(child, "status", "jobStatus", "updateTime"))
	}
	return s
}

// flinkTime reads milliseconds since 1970, as Flink writes times.
func flinkTime(text string) time.Time {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 {
		return timeOf(text)
	}
	return time.UnixMilli(ms)
}
