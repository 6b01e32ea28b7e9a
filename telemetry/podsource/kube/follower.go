package kube

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/follow"
)

// follower keeps the set of pods over lists and watches.
type follower struct {
	config follow.Config
	client *rest.RESTClient
	node   string
	notify func(telemetry.PodEvent)

	pods follow.Pods
	// states are the pods known, by the UID of the object: a hash of the state of
	// each one's containers.
	states map[string]uint64
	seed   maphash.Seed
	// version is where the next watch begins; empty, with a list.
	version string
}

// session lists if need be and watches until the watch fails. One that ends as
// it should is followed by another.
func (f *follower) session(ctx context.Context, up func()) error {
	// What a watch cannot be begun with is listed anew at once, but once: from the
	// server's cache at first, which is cheap and may be behind, then exactly.
	fresh, from := false, "0"
	for {
		if f.version == "" {
			if err := f.relist(ctx, from); err != nil {
				return fmt.Errorf("listing pods: %w", err)
			}
			fresh, from = true, ""
		}
		heard, err := f.watchOnce(ctx, up)
		if heard {
			fresh, from = false, "0"
		}
		if ctx.Err() != nil {
			return nil
		}
		if isRefused(err) {
			f.version = ""
		}
		expired := apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
		if err != nil && (fresh || !expired) {
			return fmt.Errorf("watching pods: %w", err)
		}
	}
}

// isRefused reports whether the server answered that it cannot serve the version
// that the watch asked for, or may have. That it is busy or going away does not
// mean so.
func isRefused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && !apierrors.IsTooManyRequests(err) &&
		!apierrors.IsServiceUnavailable(err) && !apierrors.IsInternalError(err)
}

// relist reads all pods, at least as new as version from, and reports.
func (f *follower) relist(ctx context.Context, from string) error {
	pods, states := map[string]telemetry.Pod{}, map[string]uint64{}
	version, err := f.list(ctx, from, func(p *corev1.Pod) {
		id := string(p.UID)
		states[id] = f.state(p)
		if pod, present := podOf(p); present {
			pods[id] = pod
		}
	})
	if err != nil {
		return err
	}
	for id, state := range states {
		if before, known := f.states[id]; !known || before != state {
			f.pods.Churn()
		}
	}
	f.version, f.states = version, states
	for _, id := range f.pods.Keys() {
		if _, present := pods[id]; !present {
			f.remove(id)
		}
	}
	for id, pod := range pods {
		f.pods.Put(id, pod)
	}
	f.pods.Report(f.notify)
	return nil
}

// errEmpty is a watch that ended at once. To begin another could go on for ever.
var errEmpty = errors.New("ended at once")

const atOnce = time.Second

// watchOnce takes in the events of one watch until it ends, waits for its
// goroutine, and reports whether there were any.
func (f *follower) watchOnce(ctx context.Context, up func()) (heard bool, err error) {
	start := time.Now()
	w, err := f.watch(ctx, f.version)
	if err != nil {
		return false, err
	}
	defer func() {
		w.Stop()
		for range w.ResultChan() {
		}
	}()
	up()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return heard, apierrors.FromObject(e.Object)
		}
		p, ok := e.Object.(*corev1.Pod)
		if !ok {
			return heard, fmt.Errorf("an event of type %T", e.Object)
		}
		heard = true
		f.apply(e.Type, p)
		f.version = p.ResourceVersion
		f.pods.Report(f.notify)
	}
	if !heard && time.Since(start) < atOnce {
		return false, errEmpty
	}
	return heard, nil
}

func (f *follower) apply(kind watch.EventType, p *corev1.Pod) {
	id := string(p.UID)
	switch kind {
	case watch.Added, watch.Modified:
		state := f.state(p)
		if before, known := f.states[id]; !known || before != state {
			f.pods.Churn()
		}
		f.states[id] = state
		if pod, present := podOf(p); present {
			f.pods.Put(id, pod)
		} else {
			f.pods.Remove(id)
		}
	case watch.Deleted:
		delete(f.states, id)
		f.remove(id)
	}
}

func (f *follower) remove(id string) {
	if f.pods.Remove(id) {
		f.pods.Churn()
	}
}

// uidOnNode is the UID by which the node knows a pod: a static pod's mirror
// carries that of the static pod in an annotation.
func uidOnNode(p *corev1.Pod) string {
	if uid := p.Annotations[corev1.MirrorPodAnnotationKey]; uid != "" {
		return uid
	}
	return string(p.UID)
}

// containers calls visit for the status of each container, of any kind.
func containers(p *corev1.Pod, visit func(*corev1.ContainerStatus)) {
	for _, statuses := range [][]corev1.ContainerStatus{
		p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			visit(&statuses[i])
		}
	}
}

// podOf is what p is on its node, where it is until its phase shows that it ended.
// Init containers alone, sidecars among them, leave it pending.
func podOf(p *corev1.Pod) (pod telemetry.Pod, present bool) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return telemetry.Pod{}, false
	}
	inits, main := started(p.Status.InitContainerStatuses), started(p.Status.ContainerStatuses)
	pod = telemetry.Pod{UID: uidOnNode(p), Starts: inits + main, Namespace: p.Namespace, Name: p.Name}
	if main > 0 {
		pod.State = telemetry.PodStopped
		// Before, a debugger would pass for a container after the init containers.
		pod.Starts += started(p.Status.EphemeralContainerStatuses)
		containers(p, func(s *corev1.ContainerStatus) {
			if s.State.Running != nil {
				pod.State = telemetry.PodRunning
			}
		})
	}
	return pod, true
}

// started counts the containers that run or have run.
func started(statuses []corev1.ContainerStatus) (n int) {
	for i := range statuses {
		s := &statuses[i]
		if s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil || s.RestartCount > 0 {
			n++
		}
	}
	return n
}

// state hashes which containers there are and which of them run. Why one waits
// is left out: an image that cannot be pulled changes its reason all day.
func (f *follower) state(p *corev1.Pod) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	containers(p, func(s *corev1.ContainerStatus) {
		phase := "waiting"
		switch {
		case s.State.Running != nil:
			phase = "running"
		case s.State.Terminated != nil:
			phase = "terminated"
		}
		for _, part := range []string{s.Name, s.ContainerID, phase} {
			// Writing to a hash does not fail.
			_, _ = h.WriteString(part)
			_ = h.WriteByte(0)
		}
	})
	return h.Sum64()
}
