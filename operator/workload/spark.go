package workload

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// States of a SparkApplication (status.applicationState.state) that mean more than that it is
// pending. Of others, FAILING among them, it is not known that the application runs.
const (
	sparkRunning    = "RUNNING"
	sparkSucceeding = "SUCCEEDING"
	sparkCompleted  = "COMPLETED"
	sparkFailed     = "FAILED"
)

// fillSpark runs a SparkApplication with its executors in the slots of a request.
func fillSpark(spec object, job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) {
	spec.child("driver") // the definition wants one
	executor := spec.child("executor")
	n := int64(request.Replication)
	executor.set("instances", n)
	sparkResources(spec, executor, request)
	executor.mark(job, request)
	sparkPlacement(executor)
	sparkConf(spec, n)
	sparkAllocation(spec, n)
	spec.set("restartPolicy", map[string]any{"type": "Never"})
	spec.drop("batchScheduler", "batchSchedulerOptions", "suspend", "timeToLiveSeconds")
}

// minSparkMemory is what Spark wants of an executor's memory, in MiB
// (UnifiedMemoryManager: 1.5 times the 300 MiB that it reserves).
const minSparkMemory = 450

// sparkResources makes an executor as large as its slot.
func sparkResources(spec, executor object, request *v1alpha1.CreationRequest) {
	if cpu, ok := request.Resources[corev1.ResourceCPU]; ok {
		executor.set("cores", max(1, floor(cpu, 0)))
		executor.set("coreRequest", cpu.String())
		raiseLimit(executor, "coreLimit", cpu, cpu.String(), resource.ParseQuantity)
	}
	amount, ok := request.Resources[corev1.ResourceMemory]
	if !ok {
		return
	}
	slot := mebibytes(amount)
	overhead := overhead(slot, overheadFactor(spec))
	if slot-overhead < minSparkMemory {
		executor.fail(refused("creationRequest.resources.memory", amount.String(), fmt.Errorf(
			"%w: of %d MiB, %d are overhead, and Spark wants %d beside it", errSlotTooSmall, slot, overhead, minSparkMemory)))
	}
	executor.set("memory", fmt.Sprintf("%dm", slot-overhead))
	executor.set("memoryOverhead", fmt.Sprintf("%dm", overhead))
	raiseLimit(executor, "memoryLimit", *resource.NewQuantity(slot<<20, resource.BinarySI), fmt.Sprintf("%dm", slot), sparkQuantity)
}

// raiseLimit writes what is requested for a limit of the user's that is less: the API
// server would refuse the executor's pod.
func raiseLimit(executor object, key string, requested resource.Quantity, written string, parse func(string) (resource.Quantity, error)) {
	given := executor.text(key)
	if given == "" {
		return
	}
	limit, err := parse(given)
	if err != nil {
		executor.fail(refuse(executor.at(key), given, "a quantity"))
	} else if limit.Cmp(requested) < 0 {
		executor.set(key, written)
	}
}

// sparkUnit is a unit of Spark's: m and mb are MiB.
var sparkUnit = regexp.MustCompile(`([kmgtp])b?$`)

// sparkQuantity reads memory as the Spark operator does: in Spark's units or Kubernetes'.
func sparkQuantity(text string) (resource.Quantity, error) {
	if at := sparkUnit.FindStringSubmatchIndex(text); at != nil {
		text = text[:at[0]] + strings.ToUpper(text[at[2]:at[3]]) + "i"
	}
	return resource.ParseQuantity(text)
}

// Spark's own: the overhead's least MiB, and its factors.
const (
	minOverhead        = 384
	jvmOverhead        = "0.1"
	interpreterFactor  = "0.4"
	maxOverheadFactor  = 1000
	overheadFactorName = "memoryOverheadFactor"
)

// overheadFactor is the part of an executor's memory that it needs beside, in millionths.
func overheadFactor(spec object) int64 {
	text := spec.text(overheadFactorName)
	if text == "" {
		text = jvmOverhead
		if t, _ := spec.fields["type"].(string); t == "Python" || t == "R" {
			text = interpreterFactor
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= maxOverheadFactor) {
		spec.fail(refuse(spec.at(overheadFactorName), text, fmt.Sprintf("a number from 0 to %d", maxOverheadFactor)))
		return 0
	}
	return int64(math.Round(f * million))
}

const million = 1_000_000

// overhead returns max(384, ⌈slot·f/(1+f)⌉) of a factor in millionths.
func overhead(slot, f int64) int64 { return max(minOverhead, (slot*f+million+f-1)/(million+f)) }

// sparkPlacement sets the scheduler of executors: in their template, where there is one, because
// the operator's webhook leaves pods with a template alone; else in the fields that the webhook
// applies.
func sparkPlacement(executor object) {
	if !executor.has("template") {
		executor.set("schedulerName", v1alpha1.SchedulerName)
		executor.set("priorityClassName", v1alpha1.PriorityClassSlot)
		return
	}
	executor.drop("schedulerName", "priorityClassName")
	template := executor.child("template")
	template.stripTemplate()
	template.child("spec").place()
}

// Keys of Spark's configuration that go past the fields of a SparkApplication.
const (
	confPySparkMemory     = "spark.executor.pyspark.memory"
	confOffHeapSize       = "spark.memory.offHeap.size"
	confScheduler         = "spark.kubernetes.scheduler.name"
	confExecutorScheduler = "spark.kubernetes.executor.scheduler.name"
	confDynamic           = "spark.dynamicAllocation.enabled"
	confDynamicMax        = "spark.dynamicAllocation.maxExecutors"
)

// sparkConf keeps the configuration from undoing what the fields have.
func sparkConf(spec object, n int64) {
	if !spec.has("sparkConf") {
		return
	}
	conf := spec.child("sparkConf")
	for _, key := range []string{confPySparkMemory, confOffHeapSize} {
		if conf.has(key) {
			conf.fail(refuse(conf.at(key), conf.fields[key], "absent: the executor's pod would be larger than its slot by it"))
		}
	}
	if conf.has(confScheduler) || conf.has(confExecutorScheduler) {
		conf.set(confExecutorScheduler, v1alpha1.SchedulerName)
	}
	if conf.fields[confDynamic] == "true" {
		conf.set(confDynamicMax, strconv.FormatInt(n, 10))
	}
}

// sparkAllocation keeps dynamic allocation within n executors.
func sparkAllocation(spec object, n int64) {
	if !spec.has("dynamicAllocation") {
		return
	}
	dynamic := spec.child("dynamicAllocation")
	dynamic.set("maxExecutors", n)
	for _, key := range []string{"minExecutors", "initialExecutors"} {
		if value, ok := dynamic.fields[key].(int64); ok && value > n {
			dynamic.set(key, n)
		}
	}
}

func sparkStatus(child *unstructured.Unstructured) Status {
	s := Status{
		State:   text(child, "status", "applicationState", "state"),
		Message: text(child, "status", "applicationState", "errorMessage"),
	}
	switch s.State {
	case sparkRunning, sparkSucceeding:
		s.Phase = Running
	case sparkCompleted:
		s.Phase = Succeeded
	case sparkFailed:
		s.Phase = Failed
	}
	if s.Phase >= Succeeded {
		s.Finished = timeOf(text(child, "status", "terminationTime"))
	}
	return s
}

func checkSparkPod(pod *corev1.Pod) error {
	if pod.Spec.SchedulerName == v1alpha1.SchedulerName {
		return nil
	}
	return refused("pod "+pod.Name+" spec.schedulerName", pod.Spec.SchedulerName, fmt.Errorf("%w: must be %s", errWebhookMissing, v1alpha1.SchedulerName))
}
