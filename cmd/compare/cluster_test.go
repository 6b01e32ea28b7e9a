package compare

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/field"
)

// A node's power is what its agent counted between two reports, over the time: 30 J in 3 s of one
// and 100 J in 4 s of the other are 35 W, which in 10 s are 350 J. A run in which an agent
// restarted, fell silent or changed its source has none.
func TestBetween(t *testing.T) {
	began := time.Unix(1000, 0)
	from := map[string]power{"a": {1, began, 100, "measured"}, "b": {2, began, 5, "shared"}}
	to := map[string]power{"a": {1, began.Add(3 * time.Second), 130, "measured"}, "b": {2, began.Add(4 * time.Second), 105, "shared"}}
	if got, err := between(from, to, 10); err != nil || math.Abs(got-350) > 1e-9 {
		t.Errorf("%v J, error %v, want 350", got, err)
	}
	for name, p := range map[string]power{
		"another life": {3, began.Add(time.Second), 500, "measured"}, "silence": {1, began, 100, "measured"},
		"another source": {1, began.Add(time.Second), 120, "modelled"}, "backwards": {1, began.Add(time.Second), 99, "measured"},
		"gone": {},
	} {
		to["a"] = p
		if _, err := between(from, to, 10); !errors.Is(err, errAgent) || !strings.HasPrefix(err.Error(), "a: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A missing prerequisite of a cluster is refused by its name.
func TestClusterRefuses(t *testing.T) {
	good := ClusterConfig{Config: DefaultConfig(), Rest: &rest.Config{Host: "https://127.0.0.1:1"}, Image: "spazio-testapp"}
	if _, err := newFleet(good, nil); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ClusterConfig){
		"Rest": func(c *ClusterConfig) { c.Rest = nil }, "Image": func(c *ClusterConfig) { c.Image = "" },
		"Runs": func(c *ClusterConfig) { c.Runs = -1 },
	} {
		c := good
		change(&c)
		var refused *field.Error
		if _, err := Cluster(t.Context(), c, nil); !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Pods are numbered by age, deleted ones do not count, and a late watch event is not taken for a
// binding.
func TestDeployed(t *testing.T) {
	a := &deployed{fleet: &fleet{nodes: []string{"n1", "n2"}}, placed: newPlaced(), pods: map[string]*corev1.Pod{}}
	at := time.Unix(1000, 0)
	pod := func(name, tier, node, ip string, age time.Duration) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: tierLabels(tier), CreationTimestamp: metav1.NewTime(at.Add(-age))},
			Spec:       corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{PodIP: ip},
		}
	}
	young, old := pod("young", "post", "n1", "10.0.0.1", 0), pod("old", "post", "n2", "10.0.0.2", time.Minute)
	young.UID, old.UID = "1", "2"
	a.seen(young)
	a.seen(old)
	if got := []string{a.name(replica{"post", 0}), a.name(replica{"post", 1}), a.name(replica{"post", 2}), a.name(replica{"text", 0})}; !cmp.Equal(got, []string{"old", "young", "old", ""}) {
		t.Errorf("names %v", got)
	}
	if n, _ := a.bindings(); n != 0 {
		t.Errorf("%d bindings of pods that were bound when they were first seen", n)
	}
	next := pod("next", "front", "", "", 0)
	next.UID = "3"
	a.seen(next)
	bound := next.DeepCopy()
	bound.Spec.NodeName, bound.Status.PodIP = "n1", "fd00::1"
	a.seen(bound)
	if n, mean := a.bindings(); n != 1 || mean < 0 {
		t.Errorf("%d bindings in %v, want 1", n, mean)
	}
	if got := a.front(); !cmp.Equal(got, []string{"[fd00::1]:9710"}) {
		t.Errorf("front %v", got)
	}
	if diff := cmp.Diff(map[string]float64{"n1": 2, "n2": 1}, a.count()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	going := old.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: at}
	a.seen(going)
	if got := a.name(replica{"post", 0}); got != "young" {
		t.Errorf("with one that goes %q", got)
	}
	a.gone(going)
	if diff := cmp.Diff(map[string]float64{"n1": 2, "n2": 0}, a.count()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// Kills happen when they are due, and the pods of each node are counted on average; a pod that
// cannot be killed ends the run.
func TestHold(t *testing.T) {
	c := Config{Duration: 2500 * time.Millisecond, Kill: 2, KillEvery: time.Second, Replicas: 1, Seed: 3}
	var killed []replica
	pods, err := c.hold(t.Context(), time.Now(), 0, func() map[string]float64 { return map[string]float64{"n": 4} },
		func(_ context.Context, r replica) error { killed = append(killed, r); return nil })
	if err != nil || math.Abs(pods["n"]-4) > 1e-9 {
		t.Errorf("pods %v, error %v", pods, err)
	}
	var want []replica
	for _, k := range c.kills(0) {
		want = append(want, k.replicas...)
	}
	if diff := cmp.Diff(want, killed, cmp.AllowUnexported(replica{})); diff != "" || len(want) != 4 {
		t.Errorf("killed (-want +got):\n%s", diff)
	}
	immortal := errors.New("immortal")
	c.Duration = time.Hour
	_, err = c.hold(t.Context(), time.Now(), 0, func() map[string]float64 { return nil }, func(context.Context, replica) error { return immortal })
	if !errors.Is(err, immortal) {
		t.Errorf("error %v", err)
	}
}

// Nodes of another operating system, cordoned ones and those with taints take no pods; one with a
// PreferNoSchedule taint does.
func TestOpen(t *testing.T) {
	node := func(name, system string, closed bool, effects ...corev1.TaintEffect) *corev1.Node {
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: system}},
			Spec:       corev1.NodeSpec{Unschedulable: closed},
		}
		for _, e := range effects {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "k", Effect: e})
		}
		return n
	}
	f := &fleet{client: fake.NewClientset(
		node("worker", "linux", false), node("avoided", "linux", false, corev1.TaintEffectPreferNoSchedule), node("windows", "windows", false),
		node("cordoned", "linux", true), node("control-plane", "linux", false, corev1.TaintEffectNoSchedule), node("lost", "linux", false, corev1.TaintEffectNoExecute),
	)}
	got, err := f.open(t.Context())
	if diff := cmp.Diff([]string{"avoided", "worker"}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
