package workload

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Adapter is a kind of application. Adapters are values without state, safe for
// concurrent use; none modifies what it is given.
type Adapter interface {
	// Kind is the child's.
	Kind() schema.GroupVersionKind
	// Child returns the object that runs a job in the slots of a request. The error is a
	// *field.Error, whose field is one of the BatchJob's or of the request's.
	Child(job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) (*unstructured.Unstructured, error)
	// Pods returns how many pods in slots a child made by Child starts with.
	Pods(child *unstructured.Unstructured) int32
	// Status returns how a child fares. What it does not understand is Pending.
	Status(child *unstructured.Unstructured) Status
	// CheckPod returns an error if a pod in a slot is not as Child said: then it will
	// never be placed.
	CheckPod(pod *corev1.Pod) error
}

// Adapters are those of all kinds.
func Adapters() []Adapter { return []Adapter{job{}, spark{}, flink{}} }

// Of returns the adapter of a job.
func Of(spec *v1alpha1.BatchJobSpec) (Adapter, error) {
	var found []Adapter
	if spec.JobSpec != nil {
		found = append(found, job{})
	}
	if spec.SparkSpec != nil {
		found = append(found, spark{})
	}
	if spec.FlinkSpec != nil {
		found = append(found, flink{})
	}
	if len(found) != 1 {
		return nil, refuse("spec", len(found), "one of sparkSpec, flinkSpec and jobSpec")
	}
	return found[0], nil
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

func (p Phase) String() string {
	switch p {
	case Running:
		return "running"
	case Succeeded:
		return "succeeded"
	case Failed:
		return "failed"
	}
	return "pending"
}

// Status is how an application fares.
type Status struct {
	Phase Phase
	// State and Message are in the application's own words.
	State, Message string
	// Finished is when it ended, by its own account; zero before, or if it does not say.
	Finished time.Time
}
