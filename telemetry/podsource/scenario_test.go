package podsource_test

import (
	"testing"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/sourcetest"
)

// PodsComeAndGo checks that the source that start starts, on a node without pods, knows which pods
// run while containers come and go: of events, once it has subscribed, or because it looks. Of
// the pod that is left, UID(3), only the sandbox, which is returned, runs.
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

// StartsAgain checks that of a pod, the first of a node, the source knows how it is and what was
// started, while its init container ends, starts again and ends. It returns the pod's sandbox,
// and what waits until the pod is in another state.
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
