package workload

import (
	"errors"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Adapter is a kind of application. It has no state, is safe for concurrent use, and modifies
// nothing that it is given.
type Adapter struct {
	kind schema.GroupVersionKind
	// field is the application's in a BatchJob, given its value.
	field string
	given func(*v1alpha1.BatchJobSpec) *runtime.RawExtension
	// fill edits what was given so that it runs in the slots of a request.
	fill func(spec object, job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest)
	// pods are the child's fields that bound how many pods it starts with.
	pods   [][]string
	status func(*unstructured.Unstructured) Status
	// checkPod is nil where every pod is as the child has it.
	checkPod func(*corev1.Pod) error
}

var adapters = []*Adapter{
	{
		kind: batchv1.SchemeGroupVersion.WithKind("Job"), field: "spec.jobSpec",
		given: func(s *v1alpha1.BatchJobSpec) *runtime.RawExtension { return s.JobSpec },
		fill:  fillJob, status: jobStatus,
		// No more run at once than are to complete.
		pods: [][]string{{"spec", "parallelism"}, {"spec", "completions"}},
	},
	{
		kind:  schema.GroupVersionKind{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "SparkApplication"},
		field: "spec.sparkSpec",
		given: func(s *v1alpha1.BatchJobSpec) *runtime.RawExtension { return s.SparkSpec },
		fill:  fillSpark, status: sparkStatus, checkPod: checkSparkPod,
		pods: [][]string{{"spec", "executor", "instances"}},
	},
	{
		kind:  schema.GroupVersionKind{Group: "flink.apache.org", Version: "v1beta1", Kind: "FlinkDeployment"},
		field: "spec.flinkSpec",
		given: func(s *v1alpha1.BatchJobSpec) *runtime.RawExtension { return s.FlinkSpec },
		fill:  fillFlink, status: flinkStatus,
		pods: [][]string{{"spec", "taskManager", "replicas"}},
	},
}

// Of returns the adapter of a job.
func Of(spec *v1alpha1.BatchJobSpec) (*Adapter, error) {
	found := slices.DeleteFunc(slices.Clone(adapters), func(a *Adapter) bool { return a.given(spec) == nil })
	if len(found) != 1 {
		return nil, refuse("spec", len(found), "one of sparkSpec, flinkSpec and jobSpec")
	}
	return found[0], nil
}

// Kind is the child's.
func (a *Adapter) Kind() schema.GroupVersionKind { return a.kind }

// Child returns the object that runs a job in the slots of a request. The error is a
// *field.Error, whose field is one of the BatchJob's or of the request's.
func (a *Adapter) Child(job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) (*unstructured.Unstructured, error) {
	if err := check(job, request); err != nil {
		return nil, err
	}
	spec, err := parse(a.field, a.given(&job.Spec))
	if err != nil {
		return nil, err
	}
	if a.fill(spec, job, request); *spec.err != nil {
		return nil, *spec.err
	}
	return childOf(a.kind, job, request, spec), nil
}

// Pods returns how many pods in slots a child made by Child starts with.
func (a *Adapter) Pods(child *unstructured.Unstructured) int32 {
	n := int32(math.MaxInt32)
	for _, path := range a.pods {
		n = min(n, count(child, path...))
	}
	return n
}

// Status returns what a child reports of itself. What it does not understand is Pending.
func (a *Adapter) Status(child *unstructured.Unstructured) Status { return a.status(child) }

// CheckPod returns an error if a pod in a slot is not as Child has it: then it will never be
// placed.
func (a *Adapter) CheckPod(pod *corev1.Pod) error {
	if a.checkPod == nil {
		return nil
	}
	return a.checkPod(pod)
}

// Phase is how far an application is.
type Phase int

// Phases, in the order in which they are reached.
const (
	// Pending is what is not known to run, also of an application that ran before.
	Pending Phase = iota
	Running
	Succeeded
	Failed
)

// Status is what an application reports of itself.
type Status struct {
	Phase Phase
	// State and Message are in the application's own words.
	State, Message string
	// Finished is when it ended, by its own account; zero before, or if it does not say.
	Finished time.Time
}

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in every *field.Error that is nothing else.
	errInvalid = errors.New("invalid configuration or input")
	// errSlotTooSmall means that an application's pod does not fit in a slot.
	errSlotTooSmall = errors.New("the slot is too small")
	// errWebhookMissing means that an operator made a pod without what its object asks for.
	errWebhookMissing = errors.New("the operator's webhook is not at work")
)

// refuse makes a *field.Error, which people read who wrote the BatchJob, in whose conditions it
// stands; want completes "must be".
func refuse(name string, value any, want string) error {
	return refused(name, value, invalid("must be "+want))
}

func refused(name string, value any, err error) error {
	switch v := value.(type) {
	case map[string]any, []any:
		value = short(v)
	case string:
		value = cut(v)
	}
	return &field.Error{Field: name, Value: value, Err: err}
}

// invalid is an errInvalid in words of its own.
type invalid string

func (e invalid) Error() string        { return string(e) }
func (e invalid) Is(target error) bool { return target == errInvalid }

// Reason is that of the condition Valid (v1alpha1.BatchJobValid) for an error of this
// package.
func Reason(err error) string {
	switch {
	case errors.Is(err, errSlotTooSmall):
		return v1alpha1.ReasonSlotTooSmall
	case errors.Is(err, errWebhookMissing):
		return v1alpha1.ReasonWebhookMissing
	}
	return v1alpha1.ReasonInvalidApplication
}
