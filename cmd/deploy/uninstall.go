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

// Users names what would wait for ever without the scheduler: pods that have not
// ended and name it, and whatever makes such pods, unless that is made by another
// of them; test beds, their jobs and schedulings, which spazio-testbed alone ends; and
// what others have put into our namespaces, which would go with them.
func (c *Cluster) Users(ctx context.Context) (users []ID, err error) {
	add := func(group, resource string, o metav1.Object, spec *corev1.PodSpec) {
		named := []string{SchedulerName, EnergySchedulerName, slotsSchedulerName}
		if slices.Contains(named, spec.SchedulerName) && metav1.GetControllerOf(o) == nil && o.GetDeletionTimestamp() == nil {
			users = append(users, ID{group, resource, o.GetNamespace(), o.GetName()})
		}
	}
	for _, find := range []func(context.Context, adder) error{c.podUsers, c.appUsers, c.batchUsers} {
		if err := find(ctx, add); err != nil {
			return nil, fmt.Errorf("deploy: who uses the scheduler: %w", err)
		}
	}
	lodgers, err := c.lodgers(ctx)
	if err != nil {
		return nil, fmt.Errorf("deploy: who is in our namespaces: %w", err)
	}
	beds, err := c.testbeds(ctx)
	if err != nil {
		return nil, fmt.Errorf("deploy: who uses test beds: %w", err)
	}
	users = append(append(users, lodgers...), beds...)
	slices.SortFunc(users, ID.compare)
	return slices.Compact(users), nil
}

type adder = func(group, resource string, o metav1.Object, spec *corev1.PodSpec)

func (c *Cluster) podUsers(ctx context.Context, add adder) error {
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.schedulerName!=" + corev1.DefaultSchedulerName})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			p.OwnerReferences = nil // whatever made it, it lives
			add("", "pods", &p, &p.Spec)
		}
	}
	templates, err := c.client.CoreV1().PodTemplates("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range templates.Items {
		add("", "podtemplates", &o, &o.Template.Spec)
	}
	controllers, err := c.client.CoreV1().ReplicationControllers("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range controllers.Items {
		if o.Spec.Template != nil {
			add("", "replicationcontrollers", &o, &o.Spec.Template.Spec)
		}
	}
	return nil
}

func (c *Cluster) appUsers(ctx context.Context, add adder) error {
	apps := c.client.AppsV1()
	deployments, err := apps.Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range deployments.Items {
		add(appsv1.GroupName, "deployments", &o, &o.Spec.Template.Spec)
	}
	replicas, err := apps.ReplicaSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range replicas.Items {
		add(appsv1.GroupName, "replicasets", &o, &o.Spec.Template.Spec)
	}
	daemons, err := apps.DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range daemons.Items {
		add(appsv1.GroupName, "daemonsets", &o, &o.Spec.Template.Spec)
	}
	sets, err := apps.StatefulSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range sets.Items {
		add(appsv1.GroupName, "statefulsets", &o, &o.Spec.Template.Spec)
	}
	return nil
}

func (c *Cluster) batchUsers(ctx context.Context, add adder) error {
	jobs, err := c.client.BatchV1().Jobs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range jobs.Items {
		if o.Status.CompletionTime == nil && !failed(o) {
			add(batchv1.GroupName, "jobs", &o, &o.Spec.Template.Spec)
		}
	}
	crons, err := c.client.BatchV1().CronJobs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range crons.Items {
		add(batchv1.GroupName, "cronjobs", &o, &o.Spec.JobTemplate.Spec.Template.Spec)
	}
	return nil
}

func failed(j batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
	})
}

// testbedGroup is that of the objects which the component testbed defines.
const testbedGroup = "testbed.spazio-scheduler.github.io"

// testbeds are the objects of test beds; none where they are not defined.
func (c *Cluster) testbeds(ctx context.Context) (found []ID, err error) {
	for _, resource := range []string{"testbeds", "batchjobs", "schedulings"} {
		all, err := c.list(ctx, schema.GroupVersionResource{Group: testbedGroup, Version: "v1alpha1", Resource: resource}, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			found = append(found, ID{testbedGroup, resource, o.GetNamespace(), o.GetName()})
		}
	}
	return found, nil
}

// lodgers are pods and claims of others in the namespaces that are removed.
func (c *Cluster) lodgers(ctx context.Context) (found []ID, err error) {
	foreign := metav1.ListOptions{LabelSelector: partOf + "!=" + SchedulerName}
	for _, namespace := range []string{SystemNamespace, AgentNamespace} {
		pods, err := c.client.CoreV1().Pods(namespace).List(ctx, foreign)
		if err != nil {
			return nil, err
		}
		for _, p := range pods.Items {
			found = append(found, ID{"", "pods", namespace, p.Name})
		}
		claims, err := c.client.CoreV1().PersistentVolumeClaims(namespace).List(ctx, foreign)
		if err != nil {
			return nil, err
		}
		for _, p := range claims.Items {
			found = append(found, ID{"", "persistentvolumeclaims", namespace, p.Name})
		}
	}
	return found, nil
}

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

// singly makes a list of each name.
func singly(names []string) (lists [][]string) {
	for _, name := range names {
		lists = append(lists, []string{name})
	}
	return lists
}

func (c *Cluster) installed(ctx context.Context) (found []mapped, err error) {
	kinds, definitions := map[schema.GroupVersionKind]bool{}, map[string]bool{}
	for _, components := range append(singly(Components()), nil) {
		objects, err := Config{Components: components}.Objects()
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
		all, err := c.list(ctx, schema.GroupVersionResource{Group: m.id.Group, Version: m.version, Resource: m.id.Resource}, options)
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

// removal are the rounds in which objects are removed: who works, what they work
// with, and where all of that was. Each waits for the one before.
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
	if errors.Is(err, errNoRoom) { // there is nobody to disturb
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
	return nil
}

// release takes the finalizers of our group from the objects of definitions that are
// about to go: who would take them is gone.
func (c *Cluster) release(ctx context.Context, definitions []mapped) error {
	for _, d := range definitions {
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
		if len(versions) == 0 {
			continue
		}
		version, _ := versions[0].(map[string]any)["name"].(string)
		resource := schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
		all, err := c.list(ctx, resource, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range all {
			if err := c.releaseOne(ctx, resource, o.GetNamespace(), o.GetName()); err != nil {
				return fmt.Errorf("deploy: release %s: %w", ID{group, plural, o.GetNamespace(), o.GetName()}, err)
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
			options.tell(Step{Object: o.id, Action: Deleted})
		}
	}
	return nil
}

// gone waits until objects are, and tells.
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
				options.tell(Step{o.id, Waiting, text})
			}
			return false, nil
		})
		if err != nil {
			return fmt.Errorf("deploy: %s: not gone; %s: %w", o.id, last, err)
		}
		options.tell(Step{Object: o.id, Action: Deleted})
	}
	return nil
}

// remains says what an object waits for that is being deleted.
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
				options.tell(Step{ID{"", "pods", namespace, pods.Items[0].Name}, Waiting, fmt.Sprintf("not ended yet: %d", n)})
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
