package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

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
			return nil, nil, &field.Error{Package: "convert", Field: fmt.Sprintf("document %d", i), Value: "", Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
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
		return nil, nil, &field.Error{Package: "convert", Field: at, Value: "", Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
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
	if err := m.convert(); err != nil {
		return nil, nil, err
	}
	text, err := yaml.Marshal(o)
	return text, m.notes, err
}

// manifest is an object that is being rewritten.
type manifest struct {
	object map[string]any
	name   string // KIND/NAME
	notes  []Note
}

// convert rewrites the object.
func (m *manifest) convert() error {
	kind, _ := m.object["kind"].(string)
	if kind == "Slot" {
		kind = "Testbed"
	}
	metadata, err := fields(m.object, "metadata")
	if err != nil {
		return err
	}
	m.name = fmt.Sprintf("%s/%v", kind, metadata["name"])
	spec, err := fields(m.object, "spec")
	if err != nil {
		return m.named(err)
	}
	switch kind {
	case "Testbed":
	case "BatchJob":
		m.drop(spec, "spec.", "activeScheduling", "creationRequest")
		err = m.flink(spec)
	case "Scheduling":
		if spec["slotBased"] != nil {
			err = refuse("spec.slotBased", spec["slotBased"], "written anew: the thesis gives it no form")
		}
	default:
		err = refuse("kind", kind, "Testbed, BatchJob or Scheduling")
	}
	if err != nil {
		return m.named(err)
	}
	m.object["apiVersion"], m.object["kind"] = v1alpha1.GroupVersion.String(), kind
	delete(m.object, "status")
	for _, servers := range []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers",
		"generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"} {
		delete(metadata, servers)
	}
	return nil
}

// named puts the name of the object into an error.
func (m *manifest) named(err error) error {
	if refused := field.By(err, "convert"); refused != nil {
		return &field.Error{Package: "convert", Field: m.name + " " + refused.Field, Value: refused.Value, Err: refused.Err}
	}
	return err
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

// fields returns an object inside, an empty one that is not put there if it is absent.
func fields(of map[string]any, key string) (map[string]any, error) {
	switch value := of[key].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return value, nil
	default:
		return nil, refuse(key, value, "an object")
	}
}
