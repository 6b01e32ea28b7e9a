package slice

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// MachineConfig describes a Machine. Name, CPUs, Group and Child are required.
type MachineConfig struct {
	// Name is the node's name.
	Name string
	// CPUs are the CPUs of this host that the machine owns.
	CPUs []int
	// Memory is the node's capacity in bytes; default 1 GiB.
	Memory float64
	// Group starts the pods' processes. It must not be closed before Run has returned.
	Group *children.Group
	// Child returns how to start a pod's process. The process writes a line once it is ready; if
	// that is an IP:PORT, it is the pod's address. An error refuses the pod.
	Child func(simnode.Pod) (children.Spec, error)
	// Observer, if set, is called for each event of a process, in order for one pod, before the
	// API server is updated. Calls come from several goroutines.
	Observer func(Event)
}

// Event is a change of a pod's process.
type Event struct {
	Node, UID string
	Process   *children.Process
	// Ready is the line that the process wrote when it was ready; empty for its start and its end.
	Ready string
	// Ended reports whether the process has ended.
	Ended bool
}

// Machine runs each pod as a child process on its own CPUs. It is a [simnode.Machine] and safe for
// concurrent use; Run is called once.
type Machine struct {
	config MachineConfig
	starts chan *pod

	mu      sync.Mutex
	stopped bool
	pods    map[string]*pod // by UID, from Bind to the end of the process
}

// pod is a pod that waits for its process or runs. Machine.mu guards it.
type pod struct {
	uid     string
	spec    children.Spec
	process *children.Process // nil until it is started
	killed  bool
}

func (p *pod) kill() {
	p.killed = true
	if p.process != nil {
		p.process.Kill()
	}
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
	return &Machine{config: c, starts: make(chan *pod, simnode.MaxPods), pods: map[string]*pod{}}, nil
}

// Spec implements [simnode.Machine].
func (m *Machine) Spec() simnode.NodeSpec {
	return simnode.NodeSpec{Name: m.config.Name, Cores: len(m.config.CPUs), Memory: m.config.Memory}
}

// Bind starts a pod. Its start-up latency is the machine's own, not the pod's.
func (m *Machine) Bind(p simnode.Pod) error {
	spec, err := m.config.Child(p)
	if err != nil {
		return fmt.Errorf("slice: %w", err)
	}
	spec.CPUs = m.config.CPUs
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.stopped:
		return fmt.Errorf("slice: %w", simnode.ErrStopped)
	case m.pods[p.UID] != nil:
		return fmt.Errorf("slice: %w: %s", simnode.ErrDuplicatePod, p.UID)
	}
	next := &pod{uid: p.UID, spec: spec}
	select {
	case m.starts <- next:
	default:
		return fmt.Errorf("slice: %w: %d wait to be started", simnode.ErrBadPod, simnode.MaxPods)
	}
	m.pods[p.UID] = next
	return nil
}

// Kill ends a pod's process, if there is one, and prevents the start of one that waits.
func (m *Machine) Kill(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.pods[uid]; p != nil {
		p.kill()
	}
}

// Pods returns the number of pods on the machine.
func (m *Machine) Pods() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.pods)
}

// Run starts and follows the processes until ctx ends. It returns when the last of them has ended.
func (m *Machine) Run(ctx context.Context, emit func(simnode.Transition)) error {
	var following sync.WaitGroup
	defer following.Wait()
	for {
		select {
		case <-ctx.Done():
			m.stop()
			return nil
		case p := <-m.starts:
			following.Go(func() { m.runPod(p, emit) })
		}
	}
}

// stop kills all pods; from then on Bind refuses new ones.
func (m *Machine) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	for _, p := range m.pods {
		p.kill()
	}
}

// runPod runs a pod from start to end.
func (m *Machine) runPod(p *pod, emit func(simnode.Transition)) {
	process, err := m.start(p)
	if process != nil {
		event := Event{Node: m.config.Name, UID: p.uid, Process: process}
		m.config.Observer(event)
		if line, err := process.Line(context.Background()); err == nil {
			event.Ready = line
			m.config.Observer(event)
			emit(simnode.Transition{At: time.Now(), UID: p.uid, Phase: simnode.Running, IP: ipOf(line)})
		}
		<-process.Done()
		m.config.Observer(Event{Node: m.config.Name, UID: p.uid, Process: process, Ended: true})
		err = process.Err()
	}
	emit(simnode.Transition{At: time.Now(), UID: p.uid, Phase: m.end(p, err)})
}

// ipOf returns the address of a process whose line is an IP:PORT, else "".
func ipOf(line string) string {
	at, err := netip.ParseAddrPort(line)
	if err != nil {
		return ""
	}
	return at.Addr().String()
}

// start starts a pod's process. It returns nil after an error and for a pod that has been killed.
func (m *Machine) start(p *pod) (process *children.Process, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !p.killed {
		p.process, err = m.config.Group.Start(p.spec)
	}
	return p.process, err
}

// end removes a pod and returns its last phase, given the error of its process or of its start.
func (m *Machine) end(p *pod, err error) simnode.Phase {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pods, p.uid)
	switch {
	case p.killed:
		return simnode.Killed
	case err != nil:
		return simnode.Failed
	}
	return simnode.Succeeded
}
