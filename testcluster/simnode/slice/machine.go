package slice

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/internal/processes"
)

// MachineConfig describes a Machine. Name, CPUs, Group and Child are required.
type MachineConfig struct {
	// Name is the node's.
	Name   string
	Labels map[string]string
	// CPUs are those that it owns, of this machine's.
	CPUs []int
	// Memory is what the node says it has, in bytes; default 1 GiB.
	Memory float64
	// Group starts the pods' processes. It must not be closed before Run has returned.
	Group *children.Group
	// Child says what a pod's process is. It says a line once it is ready; an IP:PORT there
	// is the pod's address.
	Child func(simnode.Pod) (children.Spec, error)
	// Observer, if set, hears of each process, in order for one pod, before the API
	// server does. It is called from several goroutines.
	Observer func(Event)
}

// Event is a change of a pod's process.
type Event struct {
	Node, UID string
	Process   *children.Process
	// Ready is what the process said when it was ready; empty for its start and its end.
	Ready string
	// Ended says that it has ended.
	Ended bool
}

// Machine runs each pod as a child process on its own CPUs. It is a [simnode.Machine] and
// safe for concurrent use.
type Machine struct {
	config MachineConfig
	pods   *processes.Pods
}

// NewMachine returns a machine without pods.
func NewMachine(c MachineConfig) (*Machine, error) {
	switch {
	case c.Name == "":
		return nil, refuse("Name", c.Name, "set")
	case len(c.CPUs) == 0:
		return nil, refuse("CPUs", c.CPUs, "some of this machine's")
	case c.Group == nil || c.Child == nil:
		return nil, refuse("Group", nil, "set, as Child")
	case c.Memory < 0:
		return nil, refuse("Memory", c.Memory, "at least 0")
	}
	if c.Memory == 0 {
		c.Memory = 1 << 30
	}
	if c.Observer == nil {
		c.Observer = func(Event) {}
	}
	return &Machine{config: c, pods: processes.New()}, nil
}

// Spec implements [simnode.Machine].
func (m *Machine) Spec() simnode.NodeSpec {
	return simnode.NodeSpec{Name: m.config.Name, Cores: len(m.config.CPUs), Memory: m.config.Memory, Labels: maps.Clone(m.config.Labels)}
}

// Bind starts a pod. Its start-up latency is the machine's own, not the pod's.
func (m *Machine) Bind(p simnode.Pod) error {
	if err := m.pods.Bind(p); err != nil {
		return fmt.Errorf("slice: %w", err)
	}
	return nil
}

// Kill ends a pod's process, if it is there.
func (m *Machine) Kill(uid string) { m.pods.Kill(uid) }

// Pods is how many pods the machine has.
func (m *Machine) Pods() int { return m.pods.Len() }

// Run starts and follows the processes until ctx ends; it returns when the last of them is
// gone.
func (m *Machine) Run(ctx context.Context, emit func(simnode.Transition)) error {
	var following sync.WaitGroup
	defer following.Wait()
	m.pods.Run(ctx, func(p simnode.Pod) { following.Go(func() { m.runPod(p, emit) }) })
	return nil
}

// runPod runs a pod from start to end.
func (m *Machine) runPod(p simnode.Pod, emit func(simnode.Transition)) {
	process, err := m.start(p)
	if process == nil {
		m.ended(p.UID, err, emit)
		return
	}
	event := Event{Node: m.config.Name, UID: p.UID, Process: process}
	m.config.Observer(event)
	if line, err := process.Line(context.Background()); err == nil {
		event.Ready = line
		m.config.Observer(event)
		emit(simnode.Transition{At: time.Now(), UID: p.UID, Phase: simnode.Running, IP: ipOf(line)})
	}
	<-process.Done()
	m.config.Observer(Event{Node: m.config.Name, UID: p.UID, Process: process, Ended: true})
	m.ended(p.UID, process.Err(), emit)
}

// ipOf is the address of a process that says where it serves, else empty.
func ipOf(line string) string {
	at, err := netip.ParseAddrPort(line)
	if err != nil {
		return ""
	}
	return at.Addr().String()
}

// start starts a pod's process, unless the pod has been killed: then it is nil, as after
// an error.
func (m *Machine) start(p simnode.Pod) (*children.Process, error) {
	spec, err := m.config.Child(p)
	if err != nil {
		return nil, err
	}
	spec.CPUs = m.config.CPUs
	var process *children.Process
	_, err = m.pods.Start(p.UID, func() (func(), error) {
		if process, err = m.config.Group.Start(spec); err != nil {
			return nil, err
		}
		return process.Kill, nil
	})
	return process, err
}

// ended forgets a pod and tells how it ended.
func (m *Machine) ended(uid string, err error, emit func(simnode.Transition)) {
	emit(simnode.Transition{At: time.Now(), UID: uid, Phase: m.pods.End(uid, err)})
}
