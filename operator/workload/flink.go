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
func fillFlink(spec object, job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) {
	spec.set("mode", "standalone")
	flinkJob(spec)
	flinkConfiguration(spec)
	// The template of all pods, which task managers get as well, must not name their node or slot.
	if spec.has("podTemplate") {
		template := spec.child("podTemplate")
		template.stripTemplate()
		if template.has("spec") {
			template.child("spec").unbound()
		}
	}
	manager := spec.child("taskManager")
	manager.set("replicas", int64(request.Replication))
	flinkResources(manager, request)
	manager.occupy(job, request, "podTemplate")
}

// flinkJob sees that the deployment runs one job. Without a jar it would be a session
// cluster, which never ends; the definition asks for nothing.
func flinkJob(spec object) {
	job := spec.child("job")
	if jar := job.text("jarURI"); jar == "" {
		job.fail(refuse(job.at("jarURI"), jar, "set"))
	}
	if job.fields["state"] != "running" {
		job.drop("state") // running
	}
}

// flinkSlots is the key of the task slots in a task manager.
const flinkSlots = "taskmanager.numberOfTaskSlots"

// flinkConfiguration sets one task slot a task manager unless the user gives another number,
// in either form of the configuration: with dots, or nested.
func flinkConfiguration(spec object) {
	configuration := spec.child("flinkConfiguration")
	nested, _ := configuration.fields["taskmanager"].(map[string]any)
	if nested["numberOfTaskSlots"] == nil && !configuration.has(flinkSlots) {
		configuration.set(flinkSlots, "1")
	}
}

// flinkResources makes a task manager as large as its slot.
func flinkResources(manager object, request *v1alpha1.CreationRequest) {
	if len(request.Resources) == 0 {
		return
	}
	resources := manager.child("resource")
	if cpu, ok := request.Resources[corev1.ResourceCPU]; ok {
		resources.set("cpu", float64(floor(cpu, -3))/1000)
	}
	if memory, ok := request.Resources[corev1.ResourceMemory]; ok {
		resources.set("memory", fmt.Sprintf("%dm", mebibytes(memory))) // Flink's m is MiB
	}
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
