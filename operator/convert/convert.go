package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// group is that of the thesis's objects.
const group = "batchjob.gcr.io/v1alpha1"

// Note is a field that was left out.
type Note struct {
	// Object is KIND/NAME, Field the field's path, as in spec.flinkSpec.image.
	Object, Field string
}

func (n Note) String() string { return n.Object + ": " + n.Field + " is left out" }

// Manifests rewrites a stream of YAML documents; of those it rewrites comments and the order
// of fields are not kept. What was left out is in notes, in the order of the documents. The
// error is a *field.Error for the first that can't be rewritten; out is nil then.
func Manifests(in []byte) (out []byte, notes []Note, err error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(in)))
	for i := 0; ; i++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, notes, nil
		}
		if err != nil {
			return nil, nil, &field.Error{Package: "convert", Field: fmt.Sprintf("document %d", i), Value: "", Err: fmt.Errorf("%w: %w", errInvalid, err)}
		}
		text, left, err := rewrite(i, document)
		if err != nil {
			return nil, nil, err
		}
		if text == nil {
			continue
		}
		if out != nil {
			out = append(out, "---\n"...)
		}
		out = append(out, text...)
		notes = append(notes, left...)
	}
}

// rewrite rewrites a document; nil if it is empty.
func rewrite(i int, document []byte) ([]byte, []Note, error) {
	at := fmt.Sprintf("document %d", i)
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, nil, &field.Error{Package: "convert", Field: at, Value: "", Err: fmt.Errorf("%w: %w", errInvalid, err)}
	}
	if string(data) == "null" {
		return nil, nil, nil
	}
	var o map[string]any
	if err := utiljson.Unmarshal(data, &o); err != nil {
		return nil, nil, refuse(at, string(data), "an object")
	}
	if o["apiVersion"] != group {
		return append(bytes.TrimRight(bytes.TrimPrefix(document, []byte("---\n")), "\n"), '\n'), nil, nil
	}
	m := manifest{object: o}
	if m.convert(); m.err != nil {
		return nil, nil, m.err
	}
	text, err := yaml.Marshal(o)
	return text, m.notes, err
}

// manifest is an object that is being rewritten. Its first error is kept.
type manifest struct {
	object map[string]any
	name   string // KIND/NAME
	notes  []Note
	err    error
}

// fail keeps the error that a field can't be rewritten, if it is the first.
func (m *manifest) fail(path string, value any, want string) {
	if m.err == nil {
		m.err = refuse(strings.TrimSpace(m.name+" "+path), value, want)
	}
}

// convert rewrites the object.
func (m *manifest) convert() {
	kind, _ := m.object["kind"].(string)
	if kind == "Slot" {
		kind = "Testbed"
	}
	metadata := m.fields(m.object, "", "metadata")
	m.name = fmt.Sprintf("%s/%v", kind, metadata["name"])
	spec := m.fields(m.object, "", "spec")
	switch kind {
	case "Testbed":
	case "BatchJob":
		m.drop(spec, "spec.", "activeScheduling", "creationRequest")
		m.flink(spec)
	case "Scheduling":
		if spec["slotBased"] != nil {
			m.fail("spec.slotBased", spec["slotBased"], "written anew: the thesis gives it no form")
		}
	default:
		m.fail("kind", kind, "Testbed, BatchJob or Scheduling")
	}
	m.object["apiVersion"], m.object["kind"] = v1alpha1.GroupVersion.String(), kind
	delete(m.object, "status")
	for _, servers := range []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers",
		"generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"} {
		delete(metadata, servers)
	}
}

// drop leaves fields out.
func (m *manifest) drop(from map[string]any, path string, keys ...string) {
	for _, key := range keys {
		if from[key] != nil {
			m.notes = append(m.notes, Note{m.name, path + key})
		}
		delete(from, key)
	}
}

// fields returns an object inside, an empty one that is not put there if it is absent. path is
// that of the outer one.
func (m *manifest) fields(of map[string]any, path, key string) map[string]any {
	value, ok := of[key].(map[string]any)
	if !ok {
		value = map[string]any{}
		if of[key] != nil {
			m.fail(path+key, of[key], "an object")
		}
	}
	return value
}

// errInvalid is what every field.Error wraps.
var errInvalid = errors.New("invalid configuration or input")

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "convert", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", errInvalid, want)}
}
