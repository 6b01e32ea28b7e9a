package telemetry_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

func pending(uid string) telemetry.Pod { return telemetry.Pod{UID: uid, State: telemetry.PodPending} }
func runs(uid string, starts int) telemetry.Pod {
	return telemetry.Pod{UID: uid, State: telemetry.PodRunning, Starts: starts}
}
func stopped(uid string, starts int) telemetry.Pod {
	return telemetry.Pod{UID: uid, State: telemetry.PodStopped, Starts: starts}
}

// A pod with two init containers, whose main container crashes, is restarted and ends. It exists
// from its cgroup to the end of its sandbox, after which the kubelet removes the cgroup.
func TestPodStates(t *testing.T) {
	c := newCgroups(t)
	c.dir("kubepods", "besteffort")
	w := c.watch(telemetry.CgroupConfig{})
	w.untilStates()
	pod := c.dir("kubepods", "besteffort", "pod"+uidA)
	w.untilStates(pending(uidA))
	sandbox := c.container(pod, "sandbox", "pause")
	first := c.container(pod, "init-1", "sh")
	w.untilStates(runs(uidA, 1))
	c.remove(first)
	w.untilStates(stopped(uidA, 1))
	second := c.container(pod, "init-2", "sh")
	w.untilStates(runs(uidA, 2))
	c.remove(second)
	w.untilStates(stopped(uidA, 2))
	main := c.container(pod, "main", "python")
	w.untilStates(runs(uidA, 3))
	c.remove(main)
	w.untilStates(stopped(uidA, 3))
	main = c.container(pod, "main-again", "python")
	w.untilStates(runs(uidA, 4))
	c.remove(main)
	w.untilStates(stopped(uidA, 4))
	c.remove(sandbox)
	w.untilStates()

	// A pod whose sandbox died begins again, including its init containers.
	sandbox = c.container(pod, "sandbox-2", "pause")
	c.container(pod, "init-1-again", "sh")
	w.untilStates(runs(uidA, 1))
	c.remove(sandbox)
	c.remove(pod)
	w.untilStates()
}

// A sidecar, an init container that continues, keeps the pod running while the others start; one
// running main container is enough.
func TestPodWithSidecar(t *testing.T) {
	c := newCgroups(t)
	pod := c.dir("kubepods", "pod"+uidA)
	w := c.watch(telemetry.CgroupConfig{})
	w.untilStates(pending(uidA))
	c.container(pod, "sandbox", "pause")
	sidecar := c.container(pod, "sidecar", "envoy")
	w.untilStates(runs(uidA, 1))
	c.remove(c.container(pod, "init", "sh"))
	w.untilStates(runs(uidA, 2))
	a := c.container(pod, "a", "sh")
	c.container(pod, "b", "sh")
	w.untilStates(runs(uidA, 4))
	c.remove(a)
	c.remove(sidecar)
	c.container(pod, "sidecar-again", "envoy")
	w.untilStates(runs(uidA, 5))
}

// A container counts although it started and ended between two scans.
func TestPodStartsBetweenTwoLooks(t *testing.T) {
	c := newCgroups(t)
	pod := c.dir("kubepods", "pod"+uidA)
	w := c.watch(telemetry.CgroupConfig{})
	w.untilStates(pending(uidA))
	c.container(pod, "sandbox", "pause")
	c.container(pod, "init-1", "sh")
	w.untilStates(runs(uidA, 1))
	w.stall(func() {
		c.remove(filepath.Join(pod, "init-1"))
		c.remove(c.container(pod, "init-2"))
		c.remove(c.container(pod, "init-3", "sh"))
		c.container(pod, "main", "sh")
	})
	w.untilStates(runs(uidA, 4))

	// One that failed before any process was seen counts, too: the kubelet restarts it.
	failed := c.container(pod, "failed", "runc:[2:INIT]")
	before := w.churns()
	next := c.container(pod, "next", "runc:[2:INIT]")
	w.until("churn", func(_ []string, churn int) bool { return churn > before })
	c.remove(failed)
	c.remove(next)
	w.untilStates(runs(uidA, 6))
}

// It is unknown which containers were started before the source, or while events were lost.
func TestPodStartsUnknown(t *testing.T) {
	c := newFastCgroups(t)
	pod := c.dir("kubepods", "pod"+uidA)
	sandbox := c.container(pod, "sandbox", "pause")
	main := c.container(pod, "main", "sh")
	c.container(c.dir("kubepods", "pod"+uidB), "sandbox", "pause")
	unknown := telemetry.StartsUnknown
	w := c.watch(telemetry.CgroupConfig{Rescan: 10 * time.Millisecond})
	w.untilStates(runs(uidA, unknown), telemetry.Pod{UID: uidB, Starts: unknown})
	c.remove(main)
	w.untilStates(stopped(uidA, unknown), telemetry.Pod{UID: uidB, Starts: unknown})
	c.remove(sandbox)
	c.container(pod, "sandbox-2", "pause")
	c.container(pod, "main-2", "sh")
	w.untilStates(runs(uidA, 1), telemetry.Pod{UID: uidB, Starts: unknown})
	w.stall(func() { c.churn(filepath.Join(c.root, "kubepods", "pod-churn"), queueLength(t)) })
	w.untilStates(runs(uidA, unknown), telemetry.Pod{UID: uidB, Starts: unknown})
}

// The cgroup of a pod may linger in one class while the pod runs in another.
func TestPodWithTwoCgroups(t *testing.T) {
	c := newCgroups(t)
	old, now := c.dir("kubepods", "besteffort", "pod"+uidA), c.dir("kubepods", "burstable", "pod"+uidA)
	w := c.watch(telemetry.CgroupConfig{})
	w.untilStates(pending(uidA))
	a := c.container(old, "a", "sh")
	w.untilStates(runs(uidA, 1))
	c.container(now, "s", "pause")
	b := c.container(now, "b", "sh")
	c.remove(a)
	w.untilStates(runs(uidA, 1))
	c.remove(b)
	w.untilStates(stopped(uidA, 1))
	c.remove(now)
	w.untilStates(stopped(uidA, 1)) // the other lingers
	c.remove(old)
	w.untilStates()
}

// Without a sandbox the pod ends with its cgroup.
func TestPodWithoutSandboxEnds(t *testing.T) {
	c := newCgroups(t)
	pod := c.dir("kubepods", "pod"+uidA)
	w := c.watch(telemetry.CgroupConfig{})
	w.untilStates(pending(uidA))
	c.remove(c.container(pod, "crio-init.scope", "sh"))
	w.untilStates(stopped(uidA, 1))
	main := c.container(pod, "crio-main.scope", "sh")
	w.untilStates(runs(uidA, 2))
	c.remove(main)
	w.untilStates(stopped(uidA, 2))
	c.remove(pod)
	w.untilStates()
}
