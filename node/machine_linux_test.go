package node_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// watchMachine runs an agent on the real /proc.
func watchMachine(t *testing.T) *node.Agent {
	t.Helper()
	reader, err := telemetry.NewReader(telemetry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := node.New(node.Config{Name: "here", Meter: reader, Pods: telemetry.StaticPods(nil)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		reader.Close()
	})
	return a
}

// burnCPU keeps every core busy until the returned function is called.
func burnCPU(t *testing.T) (stop func()) {
	t.Helper()
	var stops []func()
	for range runtime.NumCPU() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"=burn", "GOMAXPROCS=2")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stops = append(stops, func() { in.Close(); _ = cmd.Wait() })
	}
	stop = func() {
		for _, s := range stops {
			s()
		}
		stops = nil
	}
	t.Cleanup(stop)
	return stop
}

// awaitReport reports whether a report that matches arrives in time.
func awaitReport(t *testing.T, a *node.Agent, patience time.Duration, matches func(agent.Report) bool) bool {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		r, ok := a.Report()
		if ok && !r.Flags.WarmingUp && matches(r) {
			t.Logf("avail %.2f, signal %.2f, cpu %.2f", r.Avail, r.K, r.Channels[0].Usage)
			return true
		}
		if time.Now().After(end) {
			t.Logf("after %v: %+v", patience, r) // with no channels before the first
			return false
		}
	}
}

// awaitRoom reports whether a report offers at least so much room. A node may offer nothing only while
// other processes keep the CPUs busy, which the loop checks every two seconds so that a loaded machine
// does not stall the test.
func awaitRoom(t *testing.T, a *node.Agent, room float64) bool {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		before := cpuTimes(t)
		if awaitReport(t, a, 2*time.Second, func(r agent.Report) bool { return r.Avail >= room }) {
			return true
		}
		after := cpuTimes(t)
		busy := float64(after.Busy - before.Busy)
		share := busy / (busy + float64(after.Idle-before.Idle))
		if share >= .5 {
			t.Logf("other processes keep the CPUs %.0f %% busy", 100*share)
			return false
		}
		if time.Now().After(end) {
			t.Fatalf("no room reported, although the CPUs are %.0f %% idle", 100*(1-share))
		}
	}
}

func cpuTimes(t *testing.T) telemetry.CPUTimes {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	times, err := telemetry.ParseStat(text)
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// The room of this machine falls when every core is busy, vanishes when work waits for a core, and
// recovers. Other processes, such as the tests of other packages, may leave the machine no room before
// or after; the test then checks that the CPUs are indeed busy.
func TestRealLoadMovesAvail(t *testing.T) {
	a := watchMachine(t)
	const room = .5
	before := room
	if awaitRoom(t, a, room) {
		r, _ := a.Report()
		before = r.Avail
	}
	stopOne := burnCPU(t)
	// Utilisation is half of the usage: full cores with an empty run queue are 0.5.
	falls := func(r agent.Report) bool { return r.Channels[0].Usage > .45 && r.Avail < before }
	if !awaitReport(t, a, time.Minute, falls) {
		t.Fatal("avail did not fall while every core was busy")
	}
	stopTwo := burnCPU(t)
	if !awaitReport(t, a, time.Minute, func(r agent.Report) bool { return r.Avail < room/2 }) {
		t.Fatal("avail did not fall to zero with twice as many busy threads as cores")
	}
	stopOne()
	stopTwo()
	awaitRoom(t, a, room)
}
