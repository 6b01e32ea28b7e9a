package kube_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/sourcetest"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/kube"
)

const node = "worker-1.example"

func uid(name string) types.UID { return types.UID("uid-" + name) }

func run(t *testing.T, a *apiserver, logger *slog.Logger) *sourcetest.Recorder {
	t.Helper()
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	source, err := kube.New(kube.Config{
		REST: a.config(), Node: node, Logger: logger,
	}.WithBackoff(time.Millisecond, 20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	return sourcetest.Run(t, source)
}

func TestPodsFollowStatuses(t *testing.T) {
	a := newAPIServer(t)
	a.set("a", true)
	a.set("b", false, false)
	for i := range 5 {
		a.set(fmt.Sprintf("c%d", i)) // more than a page
	}
	r := run(t, a, nil)
	r.Until("uid-a")
	churns := r.Churns()
	a.set("d") // bound
	r.UntilChurn(churns)
	churns = r.Churns()
	a.set("b", false, true)
	r.Until("uid-a", "uid-b")
	r.UntilChurn(churns)
	churns = r.Churns()
	a.set("b", true, true)
	r.UntilChurn(churns)
	a.set("b", true, false)
	a.set("a", false)
	r.Until("uid-b")
	a.set("a", true) // the same pod runs again
	r.Until("uid-a", "uid-b")
	a.delete("a")
	a.delete("b")
	r.Until()
}

// The kubelet's statuses alone show a pod with a sidecar, an init container that fails once, and
// two containers, of which one crashes.
func TestPodStates(t *testing.T) {
	waiting := func(restarts int32) corev1.ContainerStatus {
		s := corev1.ContainerStatus{RestartCount: restarts}
		s.State.Waiting = &corev1.ContainerStateWaiting{}
		if restarts > 0 {
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		}
		return s
	}
	runs := func(restarts int32) corev1.ContainerStatus {
		s := corev1.ContainerStatus{RestartCount: restarts}
		s.State.Running = &corev1.ContainerStateRunning{}
		return s
	}
	var done corev1.ContainerStatus
	done.State.Terminated = &corev1.ContainerStateTerminated{}
	status := func(phase corev1.PodPhase, inits, main []corev1.ContainerStatus) corev1.PodStatus {
		return corev1.PodStatus{Phase: phase, InitContainerStatuses: inits, ContainerStatuses: main}
	}
	type list = []corev1.ContainerStatus
	later := list{waiting(0), waiting(0)}
	const pending, running, stopped = telemetry.PodPending, telemetry.PodRunning, telemetry.PodStopped

	a := newAPIServer(t)
	r := run(t, a, nil)
	r.UntilStates()
	for i, step := range []struct {
		status corev1.PodStatus
		state  telemetry.PodState
		starts int
	}{
		{status(corev1.PodPending, nil, nil), pending, 0}, // bound
		{status(corev1.PodPending, list{runs(0), waiting(0)}, later), pending, 1},
		{status(corev1.PodPending, list{runs(0), runs(0)}, later), pending, 2},
		{status(corev1.PodPending, list{runs(0), waiting(1)}, later), pending, 2},
		{status(corev1.PodPending, list{waiting(1), done}, later), pending, 2},
		{status(corev1.PodRunning, list{runs(1), done}, list{runs(0), waiting(0)}), running, 3},
		{status(corev1.PodRunning, list{runs(1), done}, list{runs(0), runs(0)}), running, 4},
		{status(corev1.PodRunning, list{done, done}, list{waiting(1), done}), stopped, 4},
		{status(corev1.PodRunning, list{runs(2), done}, list{waiting(1), done}), running, 4},
		{status(corev1.PodRunning, list{done, done}, list{done, done}), stopped, 4},
	} {
		a.putStatus("a", nil, step.status)
		t.Logf("step %d", i)
		r.UntilStates(telemetry.Pod{UID: "uid-a", State: step.state, Starts: step.starts})
	}
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		a.putStatus("b", nil, status(corev1.PodRunning, nil, list{runs(0)}))
		r.UntilPresent("uid-a", "uid-b")
		a.putStatus("b", nil, status(phase, nil, list{done}))
		r.UntilPresent("uid-a")
	}
	debugged := status(corev1.PodRunning, nil, list{waiting(3)})
	debugged.EphemeralContainerStatuses = list{runs(0)}
	a.putStatus("a", nil, debugged)
	r.UntilStates(telemetry.Pod{UID: "uid-a", State: running, Starts: 2, Namespace: "default", Name: "a"})
	a.delete("a")
	r.UntilStates()
}

// A change that affects no container is no churn.
func TestOtherChanges(t *testing.T) {
	a := newAPIServer(t)
	a.set("a", true)
	r := run(t, a, nil)
	r.Until("uid-a")
	before := r.Churns()
	a.put("a", map[string]string{"x": "y"}, true)
	a.bookmark()
	a.put("b", map[string]string{corev1.MirrorPodAnnotationKey: "static-uid"}, true)
	r.Until("static-uid", "uid-a")
	if got := r.Churns(); got != before+1 {
		t.Errorf("%d times churn, want 1", got-before)
	}
}

// A pod that claims to be another's mirror takes neither its name nor its state.
func TestMirrorOfAnotherPod(t *testing.T) {
	a := newAPIServer(t)
	a.set("before", false)
	r := run(t, a, nil)
	r.UntilPresent("uid-before")
	for _, victim := range []string{"before", "after"} {
		a.put("forged-"+victim, map[string]string{corev1.MirrorPodAnnotationKey: "uid-" + victim}, true)
	}
	a.set("after", false)
	pending := func(name string) telemetry.Pod {
		return telemetry.Pod{UID: "uid-" + name, Namespace: "default", Name: name}
	}
	r.UntilStates(pending("after"), pending("before"))
}

// A broken watch resumes where it ended, without a list; one whose events are gone begins with a
// list.
func TestWatchLost(t *testing.T) {
	a := newAPIServer(t)
	a.set("a", true)
	var log bytes.Buffer
	r := run(t, a, slog.New(slog.NewTextHandler(&log, nil)))
	r.Until("uid-a")
	a.set("b", true)
	r.Until("uid-a", "uid-b") // by the watch
	lists := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.lists
	}
	listed := lists()
	a.disconnect()
	a.set("c", true)
	r.Until("uid-a", "uid-b", "uid-c")
	if got := lists(); got != listed {
		t.Errorf("listed %d times after a broken watch", got-listed)
	}
	away := func(down bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.down = down
	}
	away(true)
	a.disconnect()
	a.delete("b")
	a.set("d", true)
	a.compact()
	away(false)
	r.Until("uid-a", "uid-c", "uid-d")
	if lists() == listed {
		t.Error("not listed after events were gone")
	}
	r.Stop()
	if got := strings.Count(log.String(), "API server"); got > 20 {
		t.Errorf("%d lines in the log:\n%s", got, log.String())
	}
}

// A server that refuses every watch gets few lists, and its answers are reported.
func TestWatchRefused(t *testing.T) {
	a := newAPIServer(t)
	a.expired = true
	a.set("a", true)
	r := run(t, a, nil)
	r.Until("uid-a")
	a.set("b", true)
	r.Until("uid-a", "uid-b")
}

// Whichever events are lost, the final set is the server's.
func TestStorm(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		rnd := rand.New(rand.NewPCG(seed, 0))
		a := newAPIServer(t)
		r := run(t, a, nil)
		truth := map[string]bool{} // whether each pod runs
		for range 800 {
			name := fmt.Sprintf("p%02d", rnd.IntN(40))
			time.Sleep(time.Duration(rnd.IntN(500)) * time.Microsecond) // lest all be over before the first list
			switch x := rnd.IntN(100); {
			case x < 60:
				running := make([]bool, rnd.IntN(4))
				for i := range running {
					running[i] = rnd.IntN(2) == 0
				}
				a.set(name, running...)
				truth[string(uid(name))] = slices.Contains(running, true)
			case x < 85:
				a.delete(name)
				delete(truth, string(uid(name)))
			case x < 90:
				a.bookmark()
			case x < 95:
				a.disconnect()
			case x < 98:
				a.compact()
				a.disconnect()
			default:
				a.mu.Lock()
				a.down = !a.down
				a.mu.Unlock()
			}
		}
		a.mu.Lock()
		a.down = false
		a.mu.Unlock()
		present := slices.Sorted(maps.Keys(truth))
		maps.DeleteFunc(truth, func(_ string, counts bool) bool { return !counts })
		t.Logf("seed %d: %d pods", seed, len(truth))
		r.Until(slices.Sorted(maps.Keys(truth))...)
		r.UntilPresent(present...)
		r.Stop()
	}
}

func TestConfigErrors(t *testing.T) {
	ok := &rest.Config{Host: "http://127.0.0.1:1"}
	for field, c := range map[string]kube.Config{
		"REST": {Node: "n"},
		"Node": {REST: ok, Node: "a,b=c"},
	} {
		_, err := kube.New(c)
		var wrong *telemetry.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: err = %v, want *FieldError", field, err)
		}
	}
	for _, c := range []kube.Config{{REST: ok}, {REST: &rest.Config{Host: "://"}, Node: "n"}} {
		var wrong *telemetry.FieldError
		if _, err := kube.New(c); !errors.As(err, &wrong) {
			t.Errorf("%+v: err = %v, want *FieldError", c, err)
		}
	}
}
