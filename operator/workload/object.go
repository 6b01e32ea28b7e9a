package workload

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// object is an object of JSON that is being edited, and where it is in the BatchJob.
type object struct {
	path   string
	fields map[string]any
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
	o := object{path: path}
	if err := json.Unmarshal(raw, &o.fields); err != nil {
		return object{}, refuse(path, string(raw), "an object")
	}
	if o.fields == nil {
		return object{}, refuse(path, nil, "an object")
	}
	return o, nil
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
func (o object) child(keys ...string) (object, error) {
	for _, key := range keys {
		inner, ok := o.fields[key].(map[string]any)
		if !ok {
			if o.has(key) {
				return object{}, refuse(o.at(key), o.fields[key], "an object")
			}
			inner = map[string]any{}
			o.fields[key] = inner
		}
		o = object{o.at(key), inner}
	}
	return o, nil
}

// text returns a string, empty if absent.
func (o object) text(key string) (string, error) {
	if !o.has(key) {
		return "", nil
	}
	value, ok := o.fields[key].(string)
	if !ok {
		return "", refuse(o.at(key), o.fields[key], "a string")
	}
	return value, nil
}

// strip takes from labels and annotations those that are Spazio's alone.
func (o object) strip() error {
	for _, key := range []string{"labels", "annotations"} {
		if !o.has(key) {
			continue
		}
		names, err := o.child(key)
		if err != nil {
			return err
		}
		maps.DeleteFunc(names.fields, func(name string, _ any) bool { return strings.HasPrefix(name, v1alpha1.Prefix) })
	}
	return nil
}

// stripTemplate does that with a template of pods.
func (o object) stripTemplate() error {
	if !o.has("metadata") {
		return nil
	}
	metadata, err := o.child("metadata")
	if err != nil {
		return err
	}
	return metadata.strip()
}

// mark sets the labels and annotations of a pod in a slot.
func (o object) mark(job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest) error {
	if err := o.strip(); err != nil {
		return err
	}
	labels, err := o.child("labels")
	if err != nil {
		return err
	}
	for name, value := range slotLabels(job, request) {
		labels.set(name, value)
	}
	annotations, err := o.child("annotations")
	if err != nil {
		return err
	}
	annotations.set(v1alpha1.AnnotationOptOut, "true")
	return nil
}

// unbound refuses a pod's spec that says where the pod goes.
func (o object) unbound() error {
	if o.has("nodeName") {
		return refuse(o.at("nodeName"), o.fields["nodeName"], "absent: the scheduler chooses the node")
	}
	return nil
}

// place says in a pod's spec who places it.
func (o object) place() error {
	if err := o.unbound(); err != nil {
		return err
	}
	o.set("schedulerName", v1alpha1.SchedulerName)
	o.set("priorityClassName", v1alpha1.PriorityClassSlot)
	return nil
}

// occupy makes of a pod's template one of a pod in a slot, and returns its spec.
func (o object) occupy(job *v1alpha1.BatchJob, request *v1alpha1.CreationRequest, key string) (spec object, err error) {
	template, err := o.child(key)
	if err != nil {
		return object{}, err
	}
	metadata, err := template.child("metadata")
	if err != nil {
		return object{}, err
	}
	if err := metadata.mark(job, request); err != nil {
		return object{}, err
	}
	if spec, err = template.child("spec"); err != nil {
		return object{}, err
	}
	return spec, spec.place()
}
