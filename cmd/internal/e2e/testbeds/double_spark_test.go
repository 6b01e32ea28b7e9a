package testbeds

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// States of a SparkApplication (api/v1beta2, ApplicationStateType).
const (
	sparkNew              = ""
	sparkSubmitted        = "SUBMITTED"
	sparkSubmissionFailed = "SUBMISSION_FAILED"
	sparkRunning          = "RUNNING"
	sparkSucceeding       = "SUCCEEDING"
	sparkFailing          = "FAILING"
	sparkCompleted        = "COMPLETED"
	sparkFailed           = "FAILED"
)

// Labels of Spark's pods.
const (
	sparkAppName = "sparkoperator.k8s.io/app-name"
	sparkRole    = "spark-role"
	sparkExecID  = "spark-exec-id"
)

type sparkSpec struct {
	Image    string   `json:"image"`
	Driver   sparkPod `json:"driver"`
	Executor sparkPod `json:"executor"`
}

type sparkPod struct {
	Instances         *int32                  `json:"instances"`
	Cores             *int32                  `json:"cores"`
	CoreRequest       string                  `json:"coreRequest"`
	CoreLimit         string                  `json:"coreLimit"`
	Memory            string                  `json:"memory"`
	MemoryOverhead    string                  `json:"memoryOverhead"`
	Labels            map[string]string       `json:"labels"`
	Annotations       map[string]string       `json:"annotations"`
	SchedulerName     string                  `json:"schedulerName"`
	PriorityClassName string                  `json:"priorityClassName"`
	Template          *corev1.PodTemplateSpec `json:"template"`
}

func (a *application) stepSpark(ctx context.Context) error {
	var spec sparkSpec
	if err := a.decode(&spec); err != nil {
		return err
	}
	switch state := a.text("status", "applicationState", "state"); state {
	case sparkNew:
		return a.submit(ctx, &spec)
	case sparkSubmissionFailed:
		return a.end(ctx, sparkFailed, "failed to run spark-submit")
	case sparkSubmitted, sparkRunning:
		return a.drive(ctx, &spec, state)
	case sparkSucceeding:
		return a.end(ctx, sparkCompleted, "")
	case sparkFailing:
		return a.end(ctx, sparkFailed, "driver container failed with ExitCode: 1")
	default: // the end, and what a driver leaves behind
		return a.cleanUp(ctx)
	}
}

func (a *application) driver() string { return a.object.GetName() + "-driver" }

// submit runs spark-submit, which creates the driver.
func (a *application) submit(ctx context.Context, spec *sparkSpec) error {
	tried := []setting{
		set(now(), "lastSubmissionAttemptTime"), set(int64(1), "submissionAttempts"), set(int64(1), "executionAttempts"),
	}
	if a.faults.FailSubmission {
		return a.write(ctx, append(tried, set(map[string]any{}, "driverInfo"),
			set(sparkSubmissionFailed, "applicationState", "state"), set("failed to run spark-submit", "applicationState", "errorMessage"))...)
	}
	template, err := spec.Driver.pod(spec.Image, "spark-kubernetes-driver")
	if err != nil {
		return err
	}
	template.Annotations = neverEnding(template.Annotations)
	template.Labels = merge(template.Labels, map[string]string{sparkAppName: a.object.GetName(), sparkRole: "driver"})
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.OwnerReferences = a.driver(), a.owner()
	if _, err := a.client.CoreV1().Pods(a.object.GetNamespace()).Create(ctx, pod, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return a.write(ctx, append(tried, set(a.driver(), "driverInfo", "podName"),
		set(sparkSubmitted, "applicationState", "state"), set("spark-"+string(a.object.GetUID()), "sparkApplicationId"))...)
}

// drive acts as the driver, and returns its state.
func (a *application) drive(ctx context.Context, spec *sparkSpec, state string) error {
	driver, err := a.pods.Pods(a.object.GetNamespace()).Get(a.driver())
	if apierrors.IsNotFound(err) { // the cache may be behind
		driver, err = a.client.CoreV1().Pods(a.object.GetNamespace()).Get(ctx, a.driver(), metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) || err == nil && ended(driver) {
		return a.write(ctx, set(sparkFailing, "applicationState", "state"), set("driver pod not found", "applicationState", "errorMessage"))
	}
	if err != nil {
		return err
	}
	if driver.Status.Phase != corev1.PodRunning {
		return nil
	}
	if state == sparkSubmitted && !a.faults.SkipStates {
		return a.write(ctx, set(sparkRunning, "applicationState", "state"))
	}
	executors, err := a.podsOf(labels.Set{sparkAppName: a.object.GetName(), sparkRole: "executor"})
	if err != nil {
		return err
	}
	n := int(*cmp.Or(spec.Executor.Instances, new(int32(1))))
	if live := len(living(executors)); live < n {
		return a.execute(ctx, spec, driver, executors)
	}
	running, since := runningSince(executors)
	takes, err := work(spec.Executor.Annotations)
	if err != nil || running < n || time.Since(since) < takes {
		return err
	}
	result, last := sparkSucceeding, sparkCompleted
	if a.faults.Fail {
		result, last = sparkFailing, sparkFailed
	}
	if a.faults.SkipStates {
		return a.end(ctx, last, "")
	}
	return a.write(ctx, set(result, "applicationState", "state"))
}

func living(pods []*corev1.Pod) (live []*corev1.Pod) {
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && !ended(pod) {
			live = append(live, pod)
		}
	}
	return live
}

// execute creates one more executor; the status records the earlier ones.
func (a *application) execute(ctx context.Context, spec *sparkSpec, driver *corev1.Pod, executors []*corev1.Pod) error {
	known, _, err := unstructured.NestedMap(a.object.Object, "status", "executorState")
	if err != nil {
		return err
	}
	if known == nil {
		known = map[string]any{}
	}
	for _, pod := range executors {
		if known[pod.Name] == nil { // created, and the status not yet written
			known[pod.Name] = "PENDING"
			return a.write(ctx, set(known, "executorState"))
		}
	}
	id := len(known) + 1
	template, err := spec.Executor.pod(spec.Image, "spark-kubernetes-executor")
	if err != nil {
		return err
	}
	// The operator's webhook does not change pods with a template.
	if spec.Executor.Template == nil && !a.faults.WebhookOff {
		template.Spec.SchedulerName, template.Spec.PriorityClassName = spec.Executor.SchedulerName, spec.Executor.PriorityClassName
	}
	template.Annotations = neverEnding(template.Annotations)
	template.Labels = merge(template.Labels, map[string]string{
		sparkAppName: a.object.GetName(), sparkRole: "executor", sparkExecID: strconv.Itoa(id),
	})
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name = fmt.Sprintf("%s-exec-%d", a.object.GetName(), id)
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)}}
	if _, err := a.client.CoreV1().Pods(a.object.GetNamespace()).Create(ctx, pod, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	known[pod.Name] = "PENDING"
	return a.write(ctx, set(known, "executorState"))
}

// end writes the last state. The driver would delete its executors; here it is deleted itself, since
// simulated pods do not end on their own.
func (a *application) end(ctx context.Context, state, message string) error {
	fields := []setting{set(state, "applicationState", "state"), set(now(), "terminationTime")}
	if message != "" {
		fields = append(fields, set(message, "applicationState", "errorMessage"))
	}
	return a.write(ctx, fields...)
}

func (a *application) cleanUp(ctx context.Context) error {
	pods, err := a.podsOf(labels.Set{sparkAppName: a.object.GetName()})
	if err != nil {
		return err
	}
	for _, pod := range pods {
		err := a.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewPreconditionDeleteOptions(string(pod.UID)))
		if err != nil && !passing(err) {
			return err
		}
	}
	return nil
}

// pod returns a driver or an executor as Spark creates it.
func (p *sparkPod) pod(image, container string) (*corev1.PodTemplateSpec, error) {
	requests, limits, err := p.resources()
	if err != nil {
		return nil, err
	}
	pod := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: container, Image: cmp.Or(image, "spark"),
			Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits},
		}}},
	}
	apply(p.Template, pod)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return pod, nil
}

// resources returns those of Spark's pods: the memory limit equals the request.
func (p *sparkPod) resources() (requests, limits corev1.ResourceList, err error) {
	memory, err := sparkMiB(cmp.Or(p.Memory, "1g"))
	if err != nil {
		return nil, nil, err
	}
	overhead := max(384, memory/10)
	if p.MemoryOverhead != "" {
		if overhead, err = sparkMiB(p.MemoryOverhead); err != nil {
			return nil, nil, err
		}
	}
	whole := *resource.NewQuantity((memory+overhead)<<20, resource.BinarySI)
	limits = corev1.ResourceList{corev1.ResourceMemory: whole}
	cpu, err := resource.ParseQuantity(cmp.Or(p.CoreRequest, strconv.Itoa(int(*cmp.Or(p.Cores, new(int32(1)))))))
	if err != nil {
		return nil, nil, refuse("coreRequest", p.CoreRequest, "a quantity")
	}
	if p.CoreLimit != "" {
		if limits[corev1.ResourceCPU], err = resource.ParseQuantity(p.CoreLimit); err != nil {
			return nil, nil, refuse("coreLimit", p.CoreLimit, "a quantity")
		}
	}
	return corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: whole}, limits, nil
}

// sparkSize matches an amount of memory in Spark's configuration; without a unit it is in MiB.
var sparkSize = regexp.MustCompile(`^([0-9]+)([kmgt]?)(i?b)?$`)

func sparkMiB(text string) (int64, error) {
	parts := sparkSize.FindStringSubmatch(strings.ToLower(text))
	if parts == nil {
		return 0, refuse("memory", text, "an amount such as 512m")
	}
	n, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return 0, refuse("memory", text, "an amount such as 512m")
	}
	switch parts[2] {
	case "k":
		return n >> 10, nil
	case "g":
		return n << 10, nil
	case "t":
		return n << 20, nil
	}
	return n, nil
}
