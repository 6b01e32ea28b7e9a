package workload

import (
	"maps"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// object is an object of JSON that is being edited, and where it is in the BatchJob. The first
// error of an edit is kept for all objects of it; what is edited after that is of no use.
type object struct {
	path   string
	fields map[string]any
	err    *error
}

// parse returns a copy of what a user gave.
func parse(path string, given *runtime.RawExtension) (object, error) {
	if given == nil {
		return object{}, refuse(path, nil, "set")
	}
	raw, err := given.MarshalJSON()
	if err != nil {
		return object{}, refused(path, given, err)
	}
	o := object{path: path, err: new(error)}
	if err := json.Unmarshal(raw, &o.fields); err != nil {
		return object{}, refuse(path, string(raw), "an object")
	}
	if o.fields == nil {
		return object{}, refuse(path, nil, "an object")
	}
	return o, nil
}

// fail keeps the error if it is the first.
func (o object) fail(err error) {
	if *o.err == nil {
		*o.err = err
	}
}

func (o object) at(key string) string { return o.path + "." + key }

// has reports whether a field is there; null is as good as absent.
func (o object) has(key string) bool { return o.fields[key] != nil }

func (o object) set(key string, value any) { o.fields[key] = value }

func (o object) drop(keys ...string) {
	for _, key := range keys {
		delete(o.fields, key)
	}
}

// child returns an object inside, made if absent.
func (o object) child(keys ...string) object {
	for _, key := range keys {
		inner, ok := o.fields[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			if o.has(key) {
				o.fail(refuse(o.at(key), o.fields[key], "an object"))
			} else {
				o.fields[key] = inner
			}
		}
		o = object{o.at(key), inner, o.err}
	}
	return o
}

// text returns a string, empty if absent.
func (o object) text(key string) string {
	value, ok := o.fields[key].(string)
	if !ok && o.has(key) {
		o.fail(refuse(o.at(key), o.fields[key], "a string"))
	}
	return value
}

// strip takes from labels and annotations those that are Spazio's alone.
func (o object) strip() {
	for _, key := range []string{"labels", "annotations"} {
		if o.has(key) {
			maps.DeleteFunc(o.child(key).fields, func(name string, _ any) bool { return strings.HasPrefix(name, v1alpha1.Prefix) })
		}
	}
}

// stripTemplate does that with a template of pods.
func (o object) stripTemplate() {
	if o.has("metadata") {
		o.child("metadata").strip()
	}
}

// mark sets the labels and annotations of a pod in a slot.
func (o object) mark(job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) {
	o.strip()
	labels := o.child("labels")
	for name, value := range slotLabels(job, request) {
		labels.set(name, value)
	}
	o.child("annotations").set(v1alpha1.AnnotationOptOut, "true")
}

// unbound refuses a pod's spec that names the pod's node.
func (o object) unbound() {
	if o.has("nodeName") {
		o.fail(refuse(o.at("nodeName"), o.fields["nodeName"], "absent: the scheduler chooses the node"))
	}
}

// place sets the scheduler and the priority in a pod's spec.
func (o object) place() {
	o.unbound()
	o.set("schedulerName", v1alpha1.SchedulerName)
	o.set("priorityClassName", v1alpha1.PriorityClassSlot)
}

// occupy makes of a pod's template one of a pod in a slot, and returns its spec.
func (o object) occupy(job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest, key string) object {
	template := o.child(key)
	template.child("metadata").mark(job, request)
	spec := template.child("spec")
	spec.place()
	return spec
}

// text returns a string of an object, empty if there is none.
func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// count returns a number of an object, 0 if there is none.
func count(o *unstructured.Unstructured, path ...string) int32 {
	value, _, _ := unstructured.NestedInt64(o.Object, path...)
	return int32(max(0, min(value, math.MaxInt32)))
}

// timeOf reads a time as Kubernetes writes it; zero if it is none.
func timeOf(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
