package sourcetest

import "testing"

// PodsComeAndGo says that the source that start starts, on a node without pods, knows which pods
// run while containers come and go: of events, once it has subscribed, or because it looks. Of
// the pod that is left, UID(3), nothing but the sandbox, which is returned, runs.
func PodsComeAndGo(t *testing.T, n *Node, events bool, start func() *Recorder) (r *Recorder, sandbox string) {
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
