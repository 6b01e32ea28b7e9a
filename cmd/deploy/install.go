package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Options of an installation, or of a removal. The zero value is ready to use.
type Options struct {
	// DryRun asks the API server for everything and stores nothing.
	DryRun bool
	// Force takes over the fields that others have set; a removal does not ask who
	// still needs the scheduler.
	Force bool
	// NoWait returns when the objects are stored.
	NoWait bool
	// Progress, if set, is called for each step, one at a time.
	Progress func(Step)
}

// fieldManager is the field manager of the objects.
const fieldManager = "spazio"

func (o Options) report(s Step) {
	if o.Progress != nil {
		o.Progress(s)
	}
}

// Step is something that was done, or is waited for.
type Step struct {
	Object ID `json:"object"`
	// Action is one of the constants.
	Action Action `json:"action"`
	// Text is what is waited for, or to be looked at.
	Text string `json:"text,omitempty"`
}

// Action is what a Step did.
type Action string

// What steps do.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	Waiting    Action = "waiting"
	Ready      Action = "ready"
	Deleted    Action = "deleted"
)

// Install applies the objects in their order and waits until the workloads among
// them run and what runs once has ended, or ctx does. What is there already is
// changed to what the objects say, and keeps what they do not speak of: so
// certificates survive, and an installation that was interrupted is run again.
// It waits for another installation that is under way. Objects are not changed.
func (c *Cluster) Install(ctx context.Context, objects []*unstructured.Unstructured, options Options) error {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	first := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return rank(o) > 0 })
	if first < 0 {
		first = len(objects)
	}
	rest := func(ctx context.Context) error {
		if err := c.apply(ctx, objects[first:], options); err != nil || options.DryRun || options.NoWait {
			return err
		}
		return c.waitReady(ctx, objects, options)
	}
	for {
		if err := c.apply(ctx, objects[:first], options); err != nil {
			return err
		}
		if options.DryRun {
			return rest(ctx)
		}
		// Whoever removes takes the namespace along that the lock is in.
		if err := c.alone(ctx, options, rest); !errors.Is(err, errNoRoom) {
			return err
		}
	}
}

func (c *Cluster) apply(ctx context.Context, objects []*unstructured.Unstructured, options Options) error {
	for _, o := range objects {
		var m mapped
		err := c.until(ctx, func() (bool, error) {
			var err error
			m, err = c.locate(o)
			return err == nil, err
		})
		if err != nil {
			return err
		}
		step, err := c.applyOne(ctx, m, options)
		if err != nil {
			return fmt.Errorf("deploy: %s: %w", m.id, err)
		}
		options.report(step)
		if o.GetKind() == "CustomResourceDefinition" && !options.DryRun {
			if err := c.established(ctx, m); err != nil {
				return fmt.Errorf("deploy: %s: %w", m.id, err)
			}
		}
	}
	return nil
}

// applyOne applies an object; it waits for a namespace that ends to be gone, or
// that has just begun to be known.
func (c *Cluster) applyOne(ctx context.Context, o mapped, options Options) (step Step, err error) {
	reported := false
	step.Object = o.id
	err = c.until(ctx, func() (bool, error) {
		before, err := c.of(o).Get(ctx, o.id.Name, getOptions)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
		if err == nil && before.GetDeletionTimestamp() != nil {
			if !reported {
				options.report(Step{o.id, Waiting, "it is being deleted"})
			}
			reported = true
			return false, nil
		}
		after, err := c.patch(ctx, o, options)
		switch {
		case apierrors.IsNotFound(err) && options.DryRun && o.id.Namespace != "":
			step.Action = Created // with its namespace
			return true, nil
		case apierrors.IsNotFound(err) && o.id.Namespace != "", err != nil && terminating(err):
			return false, nil
		case isOwned(err):
			return false, fmt.Errorf("%w: somebody else has set them; take them over by force", err)
		case err != nil:
			return false, err
		}
		switch {
		case before == nil || before.GetUID() == "":
			step.Action = Created
		case options.DryRun && isChanged(before, after), !options.DryRun && before.GetResourceVersion() != after.GetResourceVersion():
			step.Action = Configured
			if digests(after) < digests(before) {
				step.Text = "an image that was named by its digest is now named by a tag"
			}
		default:
			step.Action = Unchanged
		}
		return true, nil
	})
	return step, err
}

// digests counts the images of an object that are named by their digests.
func digests(o *unstructured.Unstructured) int {
	text, _ := json.Marshal(o) // the API server has just sent it as JSON
	return bytes.Count(text, []byte("@sha256:"))
}

// isChanged reports whether a dry run, which raises no version, would change an object, beyond who
// manages its fields.
func isChanged(before, after *unstructured.Unstructured) bool {
	for _, o := range []*unstructured.Unstructured{before, after} {
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		delete(o.Object, "status") // which others write meanwhile
	}
	return !reflect.DeepEqual(before.Object, after.Object)
}

// isOwned reports whether fields belong to another manager, which is a conflict that
// does not pass.
func isOwned(err error) bool {
	return apierrors.IsConflict(err) && apierrors.HasStatusCause(err, "FieldManagerConflict")
}

// established waits until a definition's resource is served: its condition comes before
// its storage can be read, and a definition that is removed in between may wait for that
// for minutes.
func (c *Cluster) established(ctx context.Context, o mapped) error {
	return c.until(ctx, func() (bool, error) {
		now, err := c.of(o).Get(ctx, o.id.Name, getOptions)
		if err != nil || condition(now, "Established") != "True" {
			return false, err
		}
		_, err = c.dynamic.Resource(defined(now)).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case apierrors.IsNotFound(err):
			return false, nil
		case apierrors.IsForbidden(err): // it is served, and not to us
			return true, nil
		}
		return err == nil, err
	})
}

// defined is the resource of a definition, in the first version that is served.
func defined(definition *unstructured.Unstructured) schema.GroupVersionResource {
	var r schema.GroupVersionResource
	r.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
	r.Resource, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["served"] == true && r.Version == "" {
			r.Version, _ = v["name"].(string)
		}
	}
	return r
}

// condition returns the status of an object's condition.
func condition(o *unstructured.Unstructured, kind string) string {
	status, _ := conditionOf(o, kind)
	return status
}

func conditionOf(o *unstructured.Unstructured, kind string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, one := range conditions {
		if one, ok := one.(map[string]any); ok && one["type"] == kind {
			status, _ = one["status"].(string)
			message, _ = one["message"].(string)
		}
	}
	return status, message
}
