package view

import (
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
)

// object is one of JSON.
type object = map[string]any

// templates are where the kinds that have one keep the template of their pods. That of a
// Job must not change.
var templates = map[string]struct {
	version string
	path    []string
}{
	"Deployment":  {"apps/v1", []string{"spec", "template", "spec"}},
	"StatefulSet": {"apps/v1", []string{"spec", "template", "spec"}},
	"DaemonSet":   {"apps/v1", []string{"spec", "template", "spec"}},
	"ReplicaSet":  {"apps/v1", []string{"spec", "template", "spec"}},
	"CronJob":     {"batch/v1", []string{"spec", "jobTemplate", "spec", "template", "spec"}},
}

// Manifest is what to apply, by kubectl apply --server-side, for a workload to request
// what is recommended, and with limits to have limits of twice that (table 6.3 of the
// thesis). A *FieldError says that there is nothing to apply.
func Manifest(p *v1alpha1.WorkloadProfile, limits bool) (object, error) {
	of := p.Spec.Workload
	template, ok := templates[of.Kind]
	if !ok {
		return nil, refuse("workload.kind", of.Kind, "a kind whose template can change")
	}
	var containers []any
	if r := p.Status.Recommendation; r != nil {
		for _, c := range r.ContainerRecommendations {
			if resources := resourcesOf(c, limits); c.ContainerName != "" && resources != nil {
				containers = append(containers, object{"name": c.ContainerName, "resources": resources})
			}
		}
	}
	if containers == nil {
		return nil, refuse("status.recommendation", "empty", "of containers by name")
	}
	manifest := object{
		"apiVersion": template.version, "kind": of.Kind, "metadata": object{"namespace": p.Namespace, "name": of.Name},
	}
	within := manifest
	for _, key := range template.path {
		next := object{}
		within[key], within = next, next
	}
	within["containers"] = containers
	return manifest, nil
}

// resourcesOf leaves out what is not known, which is 0.
func resourcesOf(c v1alpha1.ContainerRecommendation, limits bool) object {
	requests, most := object{}, object{}
	twice := Recommended(c).Limits()
	if !c.Target.CPU.IsZero() {
		requests["cpu"] = c.Target.CPU.String()
		limit := v1alpha1.Cores(twice.CPU)
		most["cpu"] = limit.String()
	}
	if !c.Target.Memory.IsZero() {
		requests["memory"] = c.Target.Memory.String()
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

// Recommended is a container's recommendation in cores and bytes.
func Recommended(c v1alpha1.ContainerRecommendation) profile.Recommendation {
	amounts := func(a v1alpha1.Amounts) profile.Amounts {
		return profile.Amounts{CPU: a.CPU.AsApproximateFloat64(), Memory: a.Memory.AsApproximateFloat64()}
	}
	return profile.Recommendation{
		Container: c.ContainerName, Target: amounts(c.Target), Uncapped: amounts(c.UncappedTarget),
		LowerBound: amounts(c.LowerBound), UpperBound: amounts(c.UpperBound),
	}
}
