package demo

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/slice"
)

// podRole names the role of a process that is a pod of this machine.
const podRole = "demo-pod"

// Roles returns the roles of the demo's child processes, for children.Init.
func Roles() map[string]children.Role { return map[string]children.Role{podRole: burn} }

// burn is the role of a pod of this machine: it holds memory and burns CPU time in one thread, at the
// lowest priority. It writes a line once it begins to burn.
func burn(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet(podRole, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	work := flags.Duration("cpu", 0, "CPU time to burn")
	memory := flags.Int64("memory", 0, "memory to hold, in bytes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// A child leads a process group. The priority of the process would be that of one thread.
	if err := syscall.Setpriority(syscall.PRIO_PGRP, 0, 19); err != nil {
		return fmt.Errorf("set the niceness: %w", err)
	}
	runtime.GOMAXPROCS(1)
	held := make([]byte, *memory)
	for i := 0; i < len(held); i += os.Getpagesize() {
		held[i] = 1 // pages are resident once they are written to
	}
	defer runtime.KeepAlive(held)
	fmt.Fprintln(out, "burning")
	began, err := children.OwnCPUTime()
	for now := began; err == nil && now-began < *work && ctx.Err() == nil; now, err = children.OwnCPUTime() {
		for range 1 << 20 { // about a millisecond
			sink = sink*6364136223846793005 + 1442695040888963407
		}
	}
	return err
}

// sink keeps the compiler from dropping the work.
var sink uint64

// startMachine returns this machine as a node whose pods are child processes, and what its agent needs.
func (d *demo) startMachine() (simnode.Machine, member, error) {
	reader, err := telemetry.NewReader(telemetry.Config{})
	if err != nil {
		return nil, member{}, err
	}
	cpus, err := children.CPUs()
	if err != nil {
		return nil, member{}, err
	}
	group, err := children.NewGroup()
	if err != nil {
		return nil, member{}, err
	}
	d.services.OnStop(func() {
		if err := group.Close(); err != nil {
			d.screen.Printf("%v", err)
		}
	})
	feed := simnode.NewPodFeed(time.Now())
	machine, err := slice.NewMachine(slice.MachineConfig{
		Name: realNodeName, Labels: map[string]string{realNodeLabel: "true"},
		CPUs: cpus, Memory: reader.Sizes()[1], Group: group, Child: burner, Observer: feedProcesses(feed),
	})
	return machine, member{name: realNodeName, meter: reader, pods: feed}, err
}

// burner returns how to start the process of a pod.
func burner(p simnode.Pod) (children.Spec, error) {
	if p.Idle || p.Cores > 1 {
		return children.Spec{}, fmt.Errorf("%w: a pod of %s works in one thread", simnode.ErrBadPod, realNodeName)
	}
	return children.Spec{Role: podRole, Args: []string{"--cpu", p.Work.String(), "--memory", strconv.FormatInt(int64(p.Memory), 10)}}, nil
}

// feedProcesses returns an observer that reports to the agent which pods run.
func feedProcesses(feed *simnode.PodFeed) func(slice.Event) {
	var mu sync.Mutex
	running := map[string]bool{}
	return func(e slice.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case e.Ended:
			delete(running, e.UID)
		case e.Ready != "":
			running[e.UID] = true
		default:
			feed.Churn(time.Now())
			return
		}
		feed.Changed(time.Now(), slices.Collect(maps.Keys(running)))
	}
}
