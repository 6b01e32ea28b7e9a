package podsource_test

import (
	"testing"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/sourcetest"
)

// PodsComeAndGo checks that the source that start starts, on a node without pods, knows the running
// pods while containers come and go, by events once it has subscribed, or by looking. It returns
// the sandbox of the remaining pod, UID(3), in which nothing else runs.
func PodsComeAndGo(t *testing.T, n *Node, events bool, start func() *sourcetest.Recorder) (r *sourcetest.Recorder, sandbox string) {
	t.Helper()
	first := n.StartPod()
	n.StartContainer(first)
	r = start()
	r.Until(UID(1))
	if events {
		n.UntilSubscribed(t)
	}
	churns := r.Churns()
	second := n.StartPod()
	app := n.StartContainer(second)
	r.UntilChurn(churns)
	r.Until(UID(1), UID(3))
	sidecar := n.StartContainer(second)
	n.StopContainer(app)
	n.DeleteContainer(first)
	r.Until(UID(3))
	n.StopContainer(sidecar)
	r.Until()
	return r, second
}

// StartsAgain checks that the source knows the state and the started containers of the node's first
// pod, while its init container ends, restarts and ends. It returns the pod's sandbox, and a
// function that waits for another state of the pod.
func StartsAgain(t *testing.T, n *Node, r *sourcetest.Recorder, pod telemetry.Pod) (sandbox string, until func(s telemetry.PodState, starts int)) {
	t.Helper()
	pod.UID = UID(1)
	until = func(state telemetry.PodState, starts int) {
		t.Helper()
		pod.State, pod.Starts = state, starts
		r.UntilStates(pod)
	}
	sandbox = n.StartPod()
	until(telemetry.PodPending, 0)
	for range 2 {
		init := n.StartNamed(sandbox, "init")
		until(telemetry.PodRunning, 1)
		n.StopContainer(init)
		until(telemetry.PodStopped, 1)
	}
	return sandbox, until
}
