package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// Probe is a pod that is tried, in a namespace of its own that goes again.
type Probe struct {
	// Image runs, without arguments, until it is stopped; empty is the aggregator's as installed,
	// on its loopback and without callers.
	Image string
	// Listed reports whether the node's agent has listed the pod; nil leaves that out.
	Listed func(ctx context.Context, pod *corev1.Pod) (bool, error)
	// Pause is between two looks, default half a second.
	Pause time.Duration
}

// probeName begins the namespace's name, and is the pod's.
const probeName = "spazio-probe"

func (c Config) probe(ctx context.Context) Result {
	started := c.Now()
	pod, err := c.try(ctx)
	if err != nil {
		return failed("probe", err)
	}
	text := "a pod was placed on " + pod.Spec.NodeName + " and runs"
	if c.Probe.Listed != nil {
		text += ", and its agent has listed it"
	}
	return Result{Name: "probe", Status: OK, Text: fmt.Sprintf("%s, after %v", text, c.Now().Sub(started).Round(100*time.Millisecond))}
}

// try makes the pod, and takes it away again whatever happens.
func (c Config) try(ctx context.Context) (pod *corev1.Pod, err error) {
	p := *c.Probe
	if p.Pause == 0 {
		p.Pause = 500 * time.Millisecond
	}
	var args []string
	if p.Image == "" {
		if p.Image, err = c.image(ctx); err != nil {
			return nil, err
		}
		args = []string{"--listen=127.0.0.1:0"}
	}
	core := c.Cluster.Client().CoreV1()
	namespace, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: probeName + "-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("a namespace for the probe: %w", err)
	}
	defer func() {
		// Also where the context has ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		if removeErr := c.away(ctx, namespace.Name, p.Pause); removeErr != nil {
			err = errors.Join(err, removeErr)
		}
	}()
	if pod, err = c.create(ctx, namespace.Name, p, args); err != nil {
		return nil, fmt.Errorf("the probe's pod: %w", err)
	}
	return c.wait(ctx, pod, p)
}

// cleanup is how long the probe's namespace may take to go.
const cleanup = time.Minute

// away deletes the namespace and waits until it is gone.
func (c Config) away(ctx context.Context, namespace string, pause time.Duration) error {
	core, now := c.Cluster.Client().CoreV1(), int64(0)
	_ = core.Pods(namespace).Delete(ctx, probeName, metav1.DeleteOptions{GracePeriodSeconds: &now})
	for {
		err := core.Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the probe's namespace %s is still there: %w", namespace, errors.Join(ctx.Err(), err))
		case <-time.After(pause):
		}
	}
}

// create waits for the namespace to be known, and for its service account.
func (c Config) create(ctx context.Context, namespace string, p Probe, args []string) (pod *corev1.Pod, err error) {
	user := int64(65532)
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: probeName}, Spec: corev1.PodSpec{
		SchedulerName: deploy.SchedulerName, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		TerminationGracePeriodSeconds: new(int64),
		NodeSelector:                  map[string]string{corev1.LabelOSStable: "linux"},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "probe", Image: p.Image, Args: args, ImagePullPolicy: corev1.PullIfNotPresent,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}}
	for {
		pod, err = c.Cluster.Client().CoreV1().Pods(namespace).Create(ctx, want, metav1.CreateOptions{})
		// A namespace's service account is made a moment after it.
		if err == nil || !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			return pod, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(p.Pause):
		}
	}
}

var (
	errEnded    = errors.New("it has ended")
	errUnplaced = errors.New("it was not placed")
	errSilent   = errors.New("its agent has not listed it")
	errStuck    = errors.New("it does not run")
)

// wait follows the pod until it runs and its agent has listed it.
func (c Config) wait(ctx context.Context, pod *corev1.Pod, p Probe) (*corev1.Pod, error) {
	reason := errUnplaced
	for {
		now, err := c.Cluster.Client().CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case err != nil && ctx.Err() == nil:
			return nil, fmt.Errorf("the probe's pod: %w", err)
		case err != nil:
		case now.Status.Phase == corev1.PodFailed || now.Status.Phase == corev1.PodSucceeded:
			return nil, fmt.Errorf("the probe's pod: %w: %s %s", errEnded, now.Status.Reason, now.Status.Message)
		case now.Status.Phase == corev1.PodRunning:
			if p.Listed == nil {
				return now, nil
			}
			listed, err := p.Listed(ctx, now)
			if listed {
				return now, nil
			}
			reason = errSilent
			if err != nil {
				reason = fmt.Errorf("%w: %w", errSilent, err)
			}
		default:
			reason = stuck(now)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the probe's pod: %w: %w", reason, context.Cause(ctx))
		case <-time.After(p.Pause):
		}
	}
}

// stuck returns what a pod waits for.
func stuck(pod *corev1.Pod) error {
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil {
			return fmt.Errorf("%w on %s: %s %s", errStuck, pod.Spec.NodeName, w.Reason, w.Message)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return fmt.Errorf("%w: %s", errUnplaced, condition.Message)
		}
	}
	if pod.Spec.NodeName != "" {
		return fmt.Errorf("%w on %s", errStuck, pod.Spec.NodeName)
	}
	return errUnplaced
}

var errNoImage = errors.New("it has no containers")

// image is the installed aggregator's, which some node has already.
func (c Config) image(ctx context.Context) (string, error) {
	d, err := c.Cluster.Client().AppsV1().Deployments(deploy.SystemNamespace).Get(ctx, "spazio-aggregator", metav1.GetOptions{})
	if err == nil && len(d.Spec.Template.Spec.Containers) == 0 {
		err = errNoImage
	}
	if err != nil {
		return "", fmt.Errorf("the aggregator's image: %w", err)
	}
	return d.Spec.Template.Spec.Containers[0].Image, nil
}
