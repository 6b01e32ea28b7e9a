package simnode_test

import (
	"math"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// usageOf returns the readings of a node's reader, ten a second for some seconds from now on.
func usageOf(t *testing.T, n *simnode.Node, usage *simnode.PodUsage, seconds int) (readings []telemetry.PodReading) {
	t.Helper()
	var read telemetry.Usage
	begin := time.Now()
	for i := range 10 * seconds {
		at := begin.Add(time.Duration(i) * 100 * time.Millisecond)
		if err := usage.ReadTo(&read, at); err != nil || !read.At.Equal(at) {
			t.Fatalf("got a reading at %v, want %v: %v", read.At, at, err)
		}
		readings = append(readings, read.Pods...)
	}
	return readings
}

// A pod of half a core is read at 1, 2, 5 and 10 s, and at its end, after 12 s: by then it has used six
// core-seconds.
func TestUsageOfAPod(t *testing.T) {
	n, err := simnode.NewNode(simnode.NodeConfig{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	usage := n.Usage()
	if err := n.Bind(simnode.Pod{UID: "a", Work: 6 * time.Second, Cores: .5, Memory: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	if err := n.Bind(simnode.Pod{UID: "idle", Idle: true, Work: time.Second}); err != nil {
		t.Fatal(err)
	}
	readings := usageOf(t, n, usage, 20)
	want := []float64{1, 2, 5, 10, 12}
	if len(readings) != len(want) {
		t.Fatalf("%d readings, want %d: %+v", len(readings), len(want), readings)
	}
	for i, r := range readings {
		age, cpu := r.Age.Seconds(), r.CPU.Seconds()
		if r.UID != "a" || age < want[i]-.01 || age > want[i]+.2 || math.Abs(cpu-age/2) > .01 || !r.Pressure || r.Stalled > 10*time.Millisecond {
			t.Errorf("reading %d, at %g s: %+v", i, want[i], r)
		}
		if r.Memory != 1<<30 || r.MemoryPeak != 1<<30 || r.OOMKills != 0 || r.Ended != (i == len(want)-1) {
			t.Errorf("reading %d: memory %d, peak %d, killed %d, ended %v", i, r.Memory, r.MemoryPeak, r.OOMKills, r.Ended)
		}
	}
}

// Two pods together exceed the node's 16 GiB: one is killed at once, which its last reading shows, and
// the other continues. A deleted pod has no last reading.
func TestUsageOfAKilledPod(t *testing.T) {
	n, err := simnode.NewNode(simnode.NodeConfig{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	usage := n.Usage()
	for _, uid := range []string{"a", "b"} {
		if err := n.Bind(simnode.Pod{UID: uid, Work: time.Hour, Memory: 10 << 30}); err != nil {
			t.Fatal(err)
		}
	}
	killed := 0
	for _, r := range usageOf(t, n, usage, 2) {
		if r.Ended {
			killed++
		}
		if r.Ended != (r.OOMKills == 1) || r.Memory != 10<<30 {
			t.Errorf("%+v", r)
		}
	}
	if killed != 1 {
		t.Errorf("got %d killed pods, want 1", killed)
	}
	n.Kill("a")
	n.Kill("b")
	var read telemetry.Usage
	if err := usage.ReadTo(&read, time.Now().Add(time.Minute)); err != nil || len(read.Pods) > 0 {
		t.Errorf("after all pods were deleted: got %+v, %v", read.Pods, err)
	}
}
