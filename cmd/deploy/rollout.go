package deploy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

var getOptions = metav1.GetOptions{}

// workloads are the kinds that pods come from, in the order in which they are
// waited for: without certificates nothing starts.
var workloads = []string{"Job", "DaemonSet", "Deployment", "StatefulSet"}

// Rollout is how far a workload is.
type Rollout struct {
	Object ID   `json:"object"`
	Ready  bool `json:"ready"`
	// Text is how many pods there are of how many, and what is wrong with one.
	Text string `json:"text"`
}

// waitReady waits until the workloads among the objects run in the version that
// they are given in, or ctx ends. A Job that has failed is an error at once,
// which wraps errFailed.
func (c *Cluster) waitReady(ctx context.Context, objects []*unstructured.Unstructured, options Options) error {
	for _, o := range waitedFor(objects) {
		m, err := c.locate(o)
		if err != nil {
			return err
		}
		var last Rollout
		err = c.until(ctx, func() (bool, error) {
			r, err := c.rollout(ctx, m)
			if err != nil {
				return false, err
			}
			if r != last && !r.Ready {
				options.report(Step{m.id, Waiting, r.Text})
			}
			last = r
			return r.Ready, nil
		})
		if err != nil {
			return fmt.Errorf("deploy: %s: %s: %w", m.id, cmp.Or(last.Text, "not ready"), err)
		}
		options.report(Step{m.id, Ready, last.Text})
	}
	return nil
}

// InstalledRollouts returns how far the installed workloads are.
func (c *Cluster) InstalledRollouts(ctx context.Context) (found []Rollout, err error) {
	installed, err := c.installed(ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range workloads {
		for _, o := range installed {
			// Jobs of former versions and of the past days do not count.
			if o.GetKind() != kind || kind == "Job" {
				continue
			}
			r, err := c.rollout(ctx, o)
			if err != nil {
				r = Rollout{o.id, false, err.Error()}
			}
			found = append(found, r)
		}
	}
	return found, nil
}

func waitedFor(objects []*unstructured.Unstructured) (found []*unstructured.Unstructured) {
	for _, kind := range workloads {
		for _, o := range objects {
			if o.GetKind() == kind {
				found = append(found, o)
			}
		}
	}
	return found
}

func (c *Cluster) rollout(ctx context.Context, o mapped) (Rollout, error) {
	now, err := c.of(o).Get(ctx, o.id.Name, getOptions)
	if apierrors.IsNotFound(err) && o.GetKind() == "Job" {
		return Rollout{o.id, true, "it has ended, and is gone"}, nil
	}
	if err != nil {
		return Rollout{}, err
	}
	ready, text := progress(now)
	if o.GetKind() == "Job" && !ready {
		if failed, why := conditionOf(now, "Failed"); failed == "True" {
			return Rollout{}, fmt.Errorf("%w: %s", errFailed, why)
		}
	}
	if !ready {
		if why := c.trouble(ctx, now); why != "" {
			text += "; " + why
		}
	}
	return Rollout{o.id, ready, text}, nil
}

// progress reports whether a workload's controller has reached the workload's spec.
func progress(o *unstructured.Unstructured) (ready bool, text string) {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, fields...)
		return n
	}
	if o.GetKind() == "Job" {
		if number("status", "succeeded") > 0 {
			return true, "it has ended"
		}
		return false, fmt.Sprintf("%d failed so far", number("status", "failed"))
	}
	if number("status", "observedGeneration") < o.GetGeneration() {
		return false, "its controller has not seen it"
	}
	want, updated, all, available := number("spec", "replicas"), number("status", "updatedReplicas"), number("status", "replicas"), number("status", "availableReplicas")
	if o.GetKind() == "DaemonSet" {
		want, updated, available = number("status", "desiredNumberScheduled"), number("status", "updatedNumberScheduled"), number("status", "numberAvailable")
		all = updated // a node has one
	}
	text = fmt.Sprintf("%d of %d available", available, want)
	if updated < want {
		text += fmt.Sprintf(", %d updated", updated)
	}
	return updated >= want && all <= want && available >= want, text
}

// trouble returns what keeps the first of a workload's pods, by name, from running.
func (c *Cluster) trouble(ctx context.Context, workload *unstructured.Unstructured) string {
	match, _, _ := unstructured.NestedStringMap(workload.Object, "spec", "selector", "matchLabels")
	if len(match) == 0 {
		return ""
	}
	pods, err := c.client.CoreV1().Pods(workload.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(match).String()})
	if err != nil {
		return ""
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, pod := range pods.Items {
		if why := Trouble(pod); why != "" {
			return "pod " + pod.Name + " " + why
		}
	}
	return ""
}

// Trouble returns why a pod does not run, as far as its status has a reason; else it is empty.
func Trouble(pod corev1.Pod) string {
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return strings.TrimSpace("waits: " + w.Reason + " " + w.Message)
		}
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return strings.TrimSpace(fmt.Sprintf("ended with %d: %s %s", t.ExitCode, t.Reason, t.Message))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return "is on no node: " + condition.Message
		}
	}
	return ""
}
