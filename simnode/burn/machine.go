package burn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/simnode"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Config describes a Machine. A zero field takes its default.
type Config struct {
	// Name is the node's; default the host's.
	Name   string
	Labels map[string]string
	// Command runs a child, followed by --cpu-seconds and --memory with their
	// values, which [Child] takes; default this program, see [Init].
	Command []string
}

// Machine runs each pod as a child process. It is a [simnode.Machine] and safe
// for concurrent use.
type Machine struct {
	spec   simnode.NodeSpec
	path   string // of the children's program
	args   []string
	feed   *simnode.PodFeed
	starts chan simnode.Pod

	mu       sync.Mutex
	stopped  bool
	children map[string]*child
}

// child is a pod's process; cmd is nil until it is started.
type child struct {
	cmd             *exec.Cmd
	running, killed bool
}

// NewMachine returns a machine of this one's size.
func NewMachine(c Config) (*Machine, error) {
	m := &Machine{
		feed:     simnode.NewPodFeed(time.Now()),
		starts:   make(chan simnode.Pod, simnode.MaxPods),
		children: make(map[string]*child),
	}
	if err := m.describe(c); err != nil {
		return nil, err
	}
	if len(c.Command) > 0 {
		m.path, m.args = c.Command[0], slices.Clone(c.Command)
		return m, nil
	}
	if !initialised.Load() {
		return nil, ErrNoInit
	}
	var err error
	if m.path, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("burn: find this program's file: %w", err)
	}
	m.args = []string{childName}
	return m, nil
}

// describe sets the specification.
func (m *Machine) describe(c Config) (err error) {
	m.spec.Name, m.spec.Labels = c.Name, maps.Clone(c.Labels)
	if m.spec.Name == "" {
		if m.spec.Name, err = os.Hostname(); err != nil {
			return fmt.Errorf("burn: %w", err)
		}
	}
	reader, err := telemetry.NewReader(telemetry.Config{})
	if err != nil {
		return fmt.Errorf("burn: this machine's size: %w", err)
	}
	sizes := reader.Sizes()
	m.spec.Cores, m.spec.Memory = int(sizes[0]), sizes[1]
	return reader.Close()
}

// Spec implements [simnode.Machine].
func (m *Machine) Spec() simnode.NodeSpec {
	spec := m.spec
	spec.Labels = maps.Clone(spec.Labels)
	return spec
}

// Pods returns the machine as a source of pod events.
func (m *Machine) Pods() telemetry.PodSource { return m.feed }

// Bind starts a pod. Its start-up latency is the machine's own, not the pod's.
func (m *Machine) Bind(p simnode.Pod) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.stopped:
		return ErrStopped
	case p.Idle:
		return &FieldError{"Idle", p.Idle, fmt.Errorf("%w: a child burns", simnode.ErrBadPod)}
	case p.Cores > 1:
		return &FieldError{"Cores", p.Cores, fmt.Errorf("%w: a child has one thread", simnode.ErrBadPod)}
	case m.children[p.UID] != nil:
		return fmt.Errorf("%w: %s", simnode.ErrDuplicatePod, p.UID)
	}
	select {
	case m.starts <- p:
	default:
		return fmt.Errorf("burn: %w: %d wait to be started", simnode.ErrBadPod, simnode.MaxPods)
	}
	m.children[p.UID] = &child{}
	return nil
}

// Kill ends a pod's process, if it is there.
func (m *Machine) Kill(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.children[uid]; c != nil {
		c.kill()
	}
}

func (c *child) kill() {
	c.killed = true
	if c.cmd != nil {
		// The process may have ended already.
		_ = killGroup(c.cmd.Process.Pid)
	}
}

// Run starts and follows the children until ctx ends; it returns when the last
// of them is gone.
func (m *Machine) Run(ctx context.Context, emit func(simnode.Transition)) error {
	// The kernel ties a child to the life of the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var children sync.WaitGroup
	defer children.Wait()
	defer m.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-m.starts:
			m.start(p, emit, &children)
		}
	}
}

func (m *Machine) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	for _, c := range m.children {
		c.kill()
	}
}

func (m *Machine) start(p simnode.Pod, emit func(simnode.Transition), children *sync.WaitGroup) {
	m.feed.Churn(time.Now())
	cmd := exec.Command(m.path)
	cmd.Args = slices.Concat(m.args, []string{
		"--cpu-seconds", simnode.FormatSeconds(p.Work),
		"--memory", strconv.FormatInt(int64(p.Memory), 10),
	})
	cmd.SysProcAttr = childAttr()
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	err := errors.Join(errIn, errOut)
	m.mu.Lock()
	c := m.children[p.UID]
	if err == nil && !c.killed {
		err = cmd.Start()
	}
	if err != nil || c.killed {
		delete(m.children, p.UID)
		m.mu.Unlock()
		closeAll(in, out)
		emit(simnode.Transition{At: time.Now(), UID: p.UID, Phase: endOf(c, err)})
		return
	}
	c.cmd = cmd
	m.mu.Unlock()
	children.Go(func() {
		defer closeAll(in)
		m.follow(p.UID, c, out, emit)
	})
}

// follow waits until the child burns, then until it ends.
func (m *Machine) follow(uid string, c *child, out io.Reader, emit func(simnode.Transition)) {
	reader := bufio.NewReader(out)
	if _, err := reader.ReadString('\n'); err == nil {
		m.changed(func() { c.running = true })
		emit(simnode.Transition{At: time.Now(), UID: uid, Phase: simnode.Running})
	}
	_, _ = io.Copy(io.Discard, reader)
	err := c.cmd.Wait()
	m.changed(func() { delete(m.children, uid) })
	emit(simnode.Transition{At: time.Now(), UID: uid, Phase: endOf(c, err)})
}

// changed applies a change to the children and tells the agent.
func (m *Machine) changed(apply func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	apply()
	pods := make([]string, 0, len(m.children))
	for uid, c := range m.children {
		if c.running {
			pods = append(pods, uid)
		}
	}
	m.feed.Changed(time.Now(), pods)
}

func endOf(c *child, err error) simnode.Phase {
	switch {
	case c.killed:
		return simnode.Killed
	case err != nil:
		return simnode.Failed
	default:
		return simnode.Succeeded
	}
}

func closeAll(closers ...io.Closer) {
	for _, c := range closers {
		if c != nil {
			_ = c.Close()
		}
	}
}
