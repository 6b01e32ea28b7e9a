package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// partOf labels all that is installed: its value is "spazio".
const partOf = "app.kubernetes.io/part-of"

// InUseError names what still needs the scheduler, or is in its namespaces. It
// wraps ErrInUse.
type InUseError struct{ Users []ID }

// Error names some of them.
func (e *InUseError) Error() string {
	const most = 5
	var names []string
	for _, u := range e.Users[:min(most, len(e.Users))] {
		names = append(names, u.String())
	}
	text := strings.Join(names, ", ")
	if more := len(e.Users) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("deploy: %v: %s", ErrInUse, text)
}

// Unwrap returns ErrInUse.
func (e *InUseError) Unwrap() error { return ErrInUse }

// podMakers are the resources whose objects are pods or make them, with the path to a pod's spec.
var podMakers = []struct {
	schema.GroupVersionResource
	spec []string
}{
	{corev1.SchemeGroupVersion.WithResource("pods"), []string{"spec"}},
	{corev1.SchemeGroupVersion.WithResource("podtemplates"), []string{"template", "spec"}},
	{corev1.SchemeGroupVersion.WithResource("replicationcontrollers"), []string{"spec", "template", "spec"}},
	{appsv1.SchemeGroupVersion.WithResource("deployments"), []string{"spec", "template", "spec"}},
	{appsv1.SchemeGroupVersion.WithResource("replicasets"), []string{"spec", "template", "spec"}},
	{appsv1.SchemeGroupVersion.WithResource("daemonsets"), []string{"spec", "template", "spec"}},
	{appsv1.SchemeGroupVersion.WithResource("statefulsets"), []string{"spec", "template", "spec"}},
	{batchv1.SchemeGroupVersion.WithResource("jobs"), []string{"spec", "template", "spec"}},
	{batchv1.SchemeGroupVersion.WithResource("cronjobs"), []string{"spec", "jobTemplate", "spec", "template", "spec"}},
}

// Users names what would wait for ever without the scheduler: pods that have not
// ended and name it, and whatever makes such pods, unless that is made by another
// of them; test beds, their jobs and schedulings, which spazio-testbed alone ends; and
// what others have put into our namespaces, which would go with them.
func (c *Cluster) Users(ctx context.Context) (users []ID, err error) {
	schedulers := []string{SchedulerName, EnergySchedulerName, slotsSchedulerName}
	for _, maker := range podMakers {
		options, isPod := metav1.ListOptions{}, maker.Resource == "pods"
		if isPod {
			options.FieldSelector = "spec.schedulerName!=" + corev1.DefaultSchedulerName
		}
		all, err := c.list(ctx, maker.GroupVersionResource, "", options)
		if err != nil {
			return nil, fmt.Errorf("deploy: who uses the scheduler: %w", err)
		}
		for _, o := range all {
			scheduler, _, _ := unstructured.NestedString(o.Object, slices.Concat(maker.spec, []string{"schedulerName"})...)
			owned := !isPod && metav1.GetControllerOf(&o) != nil // a pod counts, whatever made it
			if slices.Contains(schedulers, scheduler) && !owned && !ended(&o) && o.GetDeletionTimestamp() == nil {
				users = append(users, ID{maker.Group, maker.Resource, o.GetNamespace(), o.GetName()})
			}
		}
	}
	foreign := metav1.ListOptions{LabelSelector: partOf + "!=" + SchedulerName}
	for _, namespace := range []string{SystemNamespace, AgentNamespace} {
		for _, resource := range []string{"pods", "persistentvolumeclaims"} {
			if users, err = c.name(ctx, users, corev1.SchemeGroupVersion.WithResource(resource), namespace, foreign); err != nil {
				return nil, fmt.Errorf("deploy: who is in our namespaces: %w", err)
			}
		}
	}
	for _, resource := range []string{"testbeds", "batchjobs", "schedulings"} {
		of := schema.GroupVersionResource{Group: testbedGroup, Version: "v1alpha1", Resource: resource}
		if users, err = c.name(ctx, users, of, "", metav1.ListOptions{}); err != nil {
			return nil, fmt.Errorf("deploy: who uses test beds: %w", err)
		}
	}
	slices.SortFunc(users, ID.compare)
	return slices.Compact(users), nil
}

// name adds the names of a resource's objects to others; none of one that the cluster does not have.
func (c *Cluster) name(ctx context.Context, ids []ID, of schema.GroupVersionResource, namespace string, options metav1.ListOptions) ([]ID, error) {
	all, err := c.list(ctx, of, namespace, options)
	for _, o := range all {
		ids = append(ids, ID{of.Group, of.Resource, o.GetNamespace(), o.GetName()})
	}
	return ids, err
}

// ended reports whether a pod or a job has.
func ended(o *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	_, completed, _ := unstructured.NestedString(o.Object, "status", "completionTime")
	return phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed) || completed || condition(o, "Failed") == "True"
}

// testbedGroup is the API group of the objects that the component testbed defines.
const testbedGroup = "testbed.spazio-scheduler.github.io"

// Installed returns the objects that are in the cluster of any component, also of
// another version: what is labelled as ours, of the resources that we have
// objects of, and the definitions of our own.
func (c *Cluster) Installed(ctx context.Context) (found []ID, err error) {
	located, err := c.installed(ctx)
	for _, o := range located {
		found = append(found, o.id)
	}
	return found, err
}

func (c *Cluster) installed(ctx context.Context) (found []mapped, err error) {
	kinds, definitions := map[schema.GroupVersionKind]bool{}, map[string]bool{}
	for _, component := range append(Components(), "") {
		var config Config
		if component != "" {
			config.Components = []string{component}
		}
		objects, err := config.Objects()
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			kinds[o.GroupVersionKind()] = true
			if o.GetKind() == "CustomResourceDefinition" {
				definitions[o.GetName()] = true
			}
		}
	}
	for kind := range kinds {
		probe := &unstructured.Unstructured{}
		probe.SetGroupVersionKind(kind)
		m, err := c.locate(probe)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		options := metav1.ListOptions{LabelSelector: partOf + "=" + SchedulerName}
		if kind.Kind == "CustomResourceDefinition" {
			options.LabelSelector = "" // they are generated without labels
		}
		all, err := c.list(ctx, schema.GroupVersionResource{Group: m.id.Group, Version: m.version, Resource: m.id.Resource}, "", options)
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			ours := strings.HasPrefix(o.GetName(), SchedulerName) && o.GetName() != lockName
			if kind.Kind == "CustomResourceDefinition" {
				ours = definitions[o.GetName()]
			}
			if !ours {
				continue
			}
			found = append(found, mapped{&o, ID{m.id.Group, m.id.Resource, o.GetNamespace(), o.GetName()}, m.version})
		}
	}
	slices.SortFunc(found, func(a, b mapped) int { return a.id.compare(b.id) })
	return found, nil
}

// removal is the round in which an object is removed: workloads first, then what they work with,
// then definitions and namespaces. Each round waits for the one before.
func removal(o mapped) int {
	switch o.GetKind() {
	case "CronJob":
		return 0
	case "Job", "DaemonSet", "Deployment", "StatefulSet":
		return workloadRound
	case "CustomResourceDefinition":
		return definitionRound
	case "Namespace":
		return 4
	}
	return 2
}

const (
	removals        = 5
	workloadRound   = 1
	definitionRound = 3
)

// Uninstall removes all that was installed, in whatever version and with whatever
// components, and waits until it is gone or ctx ends. The profiles of workloads
// go with their definition, and so do test beds, their jobs and schedulings. Without
// Force, an InUseError refuses it while the scheduler is needed or there are test beds.
func (c *Cluster) Uninstall(ctx context.Context, options Options) error {
	if !options.Force {
		users, err := c.Users(ctx)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return &InUseError{users}
		}
	}
	remove := func(ctx context.Context) error { return c.remove(ctx, options) }
	if options.DryRun {
		return remove(ctx)
	}
	err := c.alone(ctx, options, remove)
	if errors.Is(err, errNoRoom) { // without the namespace no other installation runs
		return remove(ctx)
	}
	return err
}

func (c *Cluster) remove(ctx context.Context, options Options) error {
	var all []mapped
	if err := c.until(ctx, func() (done bool, err error) { all, err = c.installed(ctx); return err == nil, err }); err != nil {
		return err
	}
	for round := range removals {
		var these []mapped
		for _, o := range all {
			if removal(o) == round {
				these = append(these, o)
			}
		}
		if round == definitionRound && !options.DryRun {
			if err := c.release(ctx, these); err != nil {
				return err
			}
		}
		if err := c.delete(ctx, these, options); err != nil {
			return err
		}
		if options.DryRun || options.NoWait {
			continue
		}
		if err := c.gone(ctx, these, options); err != nil {
			return err
		}
		if round == workloadRound {
			if err := c.podsGone(ctx, options); err != nil {
				return err
			}
		}
	}
	if options.DryRun {
		return nil
	}
	return c.unmark(ctx) // last, because a scheduler that still runs has no rights by now
}

// release takes the finalizers of our group from the objects of definitions that are
// about to be removed, because the program that would take them has been removed already.
func (c *Cluster) release(ctx context.Context, definitions []mapped) error {
	for _, d := range definitions {
		resource := defined(d.Unstructured)
		all, err := c.list(ctx, resource, "", metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range all {
			if err := c.releaseOne(ctx, resource, o.GetNamespace(), o.GetName()); err != nil {
				return fmt.Errorf("deploy: release %s: %w", ID{resource.Group, resource.Resource, o.GetNamespace(), o.GetName()}, err)
			}
		}
	}
	return nil
}

func (c *Cluster) releaseOne(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	objects := c.dynamic.Resource(resource).Namespace(namespace)
	return c.until(ctx, func() (bool, error) {
		o, err := objects.Get(ctx, name, getOptions)
		if err != nil {
			return apierrors.IsNotFound(err), ignoreNotFound(err)
		}
		kept := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return strings.HasPrefix(f, resource.Group+"/") })
		if len(kept) == len(o.GetFinalizers()) {
			return true, nil
		}
		o.SetFinalizers(kept)
		_, err = objects.Update(ctx, o, metav1.UpdateOptions{})
		return err == nil || apierrors.IsNotFound(err), ignoreNotFound(err)
	})
}

// delete leaves what objects own to the cluster's garbage collector.
func (c *Cluster) delete(ctx context.Context, objects []mapped, options Options) error {
	policy := metav1.DeletePropagationBackground
	d := metav1.DeleteOptions{PropagationPolicy: &policy}
	if options.DryRun {
		d.DryRun = []string{metav1.DryRunAll}
	}
	for _, o := range objects {
		err := c.until(ctx, func() (bool, error) {
			err := c.of(o).Delete(ctx, o.id.Name, d)
			return err == nil || apierrors.IsNotFound(err), ignoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("deploy: delete %s: %w", o.id, err)
		}
		if options.DryRun {
			options.report(Step{Object: o.id, Action: Deleted})
		}
	}
	return nil
}

// gone waits until objects are gone, and reports each.
func (c *Cluster) gone(ctx context.Context, objects []mapped, options Options) error {
	for _, o := range objects {
		last := ""
		err := c.until(ctx, func() (bool, error) {
			now, err := c.of(o).Get(ctx, o.id.Name, getOptions)
			if apierrors.IsNotFound(err) || err == nil && now.GetUID() != o.GetUID() {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			if text := remains(now); text != last {
				last = text
				options.report(Step{o.id, Waiting, text})
			}
			return false, nil
		})
		if err != nil {
			return fmt.Errorf("deploy: %s: not gone; %s: %w", o.id, last, err)
		}
		options.report(Step{Object: o.id, Action: Deleted})
	}
	return nil
}

// remains returns what an object waits for that is being deleted.
func remains(o *unstructured.Unstructured) string {
	for _, kind := range []string{"NamespaceDeletionContentFailure", "NamespaceDeletionDiscoveryFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining", "Terminating"} {
		if status, message := conditionOf(o, kind); status == "True" {
			return message
		}
	}
	if finalizers := o.GetFinalizers(); len(finalizers) > 0 {
		return "it has finalizers " + strings.Join(finalizers, ", ")
	}
	return "it is being deleted"
}

// podsGone waits for the last of our pods: what they do until then takes rights.
func (c *Cluster) podsGone(ctx context.Context, options Options) error {
	for _, namespace := range []string{SystemNamespace, AgentNamespace} {
		left := -1
		err := c.until(ctx, func() (bool, error) {
			pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: partOf + "=" + SchedulerName})
			if err != nil {
				return false, err
			}
			if n := len(pods.Items); n != left && n > 0 {
				options.report(Step{ID{"", "pods", namespace, pods.Items[0].Name}, Waiting, fmt.Sprintf("not ended yet: %d", n)})
			}
			left = len(pods.Items)
			return left == 0, nil
		})
		if err != nil {
			return fmt.Errorf("deploy: %d pods in %s have not ended: %w", left, namespace, err)
		}
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
