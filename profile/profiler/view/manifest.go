package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
)

// object is one of JSON.
type object = map[string]any

// kindOfTemplate is where the objects of a kind are, and in them the template of their pods.
type kindOfTemplate struct {
	version, resource string
	path              []string
}

// templates are of the kinds that have one. That of a Job must not change.
var templates = map[string]kindOfTemplate{
	"Deployment":  {"apps/v1", "deployments", []string{"spec", "template", "spec"}},
	"StatefulSet": {"apps/v1", "statefulsets", []string{"spec", "template", "spec"}},
	"DaemonSet":   {"apps/v1", "daemonsets", []string{"spec", "template", "spec"}},
	"ReplicaSet":  {"apps/v1", "replicasets", []string{"spec", "template", "spec"}},
	"CronJob":     {"batch/v1", "cronjobs", []string{"spec", "jobTemplate", "spec", "template", "spec"}},
}

func kindOf(of v1alpha1.WorkloadReference) (kindOfTemplate, error) {
	kind, ok := templates[of.Kind]
	if !ok {
		return kind, refuse("workload.kind", of.Kind, "a kind whose template can change")
	}
	return kind, nil
}

// Template names the containers that a workload's template has, in contrast to those that
// are injected into its pods. It is a plain value, safe for concurrent reading.
type Template struct{ Containers, InitContainers []string }

// field is where the template has a container, empty where it does not. Of a template that
// is not known, nil, all are taken for containers of its own.
func (t *Template) field(container string) string {
	switch {
	case t == nil || slices.Contains(t.Containers, container):
		return "containers"
	case slices.Contains(t.InitContainers, container):
		return "initContainers"
	}
	return ""
}

// Template reads which containers a profile's workload has in its template. A *field.Error
// reports that its kind has none that can change.
func (c *Client) Template(ctx context.Context, p *v1alpha1.WorkloadProfile) (*Template, error) {
	of := p.Spec.Workload
	kind, err := kindOf(of)
	if err != nil {
		return nil, err
	}
	text, err := c.rest.Get().AbsPath("/apis", kind.version, "namespaces", p.Namespace, kind.resource, of.Name).Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("template of %s/%s in namespace %s: %w", of.Kind, of.Name, p.Namespace, err)
	}
	for _, key := range kind.path {
		var within map[string]json.RawMessage
		if err := json.Unmarshal(text, &within); err != nil || within[key] == nil {
			return nil, refuse("template", of.Name, "an object with "+strings.Join(kind.path, "."))
		}
		text = within[key]
	}
	type named struct{ Name string }
	var spec struct{ Containers, InitContainers []named }
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, refuse("template", of.Name, "one of pods")
	}
	names := func(all []named) (names []string) {
		for _, c := range all {
			names = append(names, c.Name)
		}
		return names
	}
	return &Template{names(spec.Containers), names(spec.InitContainers)}, nil
}

// Manifest is what to apply, by kubectl apply --server-side with a field manager of its own, for a workload to request
// what is recommended, and with limits to have limits of twice that (table 6.3 of
// S. Galantino's thesis): of those containers that its template has, or of all if that is
// nil. A *field.Error reports that there is nothing to apply.
func Manifest(p *v1alpha1.WorkloadProfile, template *Template, limits bool) (map[string]any, error) {
	of := p.Spec.Workload
	kind, err := kindOf(of)
	if err != nil {
		return nil, err
	}
	containers := map[string][]any{}
	if r := p.Status.Recommendation; r != nil {
		for _, c := range r.ContainerRecommendations {
			field, resources := template.field(c.ContainerName), resourcesOf(c, limits)
			if c.ContainerName != "" && field != "" && resources != nil {
				containers[field] = append(containers[field], object{"name": c.ContainerName, "resources": resources})
			}
		}
	}
	if len(containers) == 0 {
		return nil, refuse("status.recommendation", "empty", "of containers by name that the template has")
	}
	manifest := object{
		"apiVersion": kind.version, "kind": of.Kind, "metadata": object{"namespace": p.Namespace, "name": of.Name},
	}
	within := manifest
	for _, key := range kind.path {
		next := object{}
		within[key], within = next, next
	}
	for field, all := range containers {
		within[field] = all
	}
	return manifest, nil
}

// resourcesOf leaves out what is not known, which is 0.
func resourcesOf(c v1alpha1.ContainerRecommendation, limits bool) object {
	requests, most := object{}, object{}
	twice := recommended(c).Limits()
	if !c.Target.CPU.IsZero() {
		requests["cpu"] = rounded(c.Target.CPU, resource.Milli)
		limit := v1alpha1.Millicores(twice.CPU)
		most["cpu"] = limit.String()
	}
	if !c.Target.Memory.IsZero() {
		requests["memory"] = rounded(c.Target.Memory, 0)
		limit := v1alpha1.Bytes(twice.Memory)
		most["memory"] = limit.String()
	}
	switch {
	case len(requests) == 0:
		return nil
	case limits:
		return object{"requests": requests, "limits": most}
	}
	return object{"requests": requests}
}

// rounded writes a quantity rounded up to what the API server keeps of a container's.
func rounded(q resource.Quantity, scale resource.Scale) string {
	q.RoundUp(scale)
	return q.String()
}

// recommended is a container's recommendation in cores and bytes.
func recommended(c v1alpha1.ContainerRecommendation) profile.Recommendation {
	amounts := func(a v1alpha1.Amounts) profile.Amounts {
		return profile.Amounts{CPU: a.CPU.AsApproximateFloat64(), Memory: a.Memory.AsApproximateFloat64()}
	}
	return profile.Recommendation{
		Container: c.ContainerName, Target: amounts(c.Target), Uncapped: amounts(c.UncappedTarget),
		LowerBound: amounts(c.LowerBound), UpperBound: amounts(c.UpperBound),
	}
}
