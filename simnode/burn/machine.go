package burn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/simnode"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// ErrStopped is returned for a pod given to a machine that has stopped.
var ErrStopped = errors.New("burn: machine has stopped")

// Machine runs each pod as a child process. It is a [simnode.Machine] and safe
// for concurrent use.
type Machine struct {
	name    string
	command []string
	feed    *simnode.PodFeed
	starts  chan simnode.Pod

	mu       sync.Mutex
	stopped  bool
	children map[string]*child
}

// child is a pod's process; cmd is nil until it is started.
type child struct {
	cmd             *exec.Cmd
	running, killed bool
}

// NewMachine returns a machine whose children run the given command, followed by
// --cpu-seconds and --memory with their values.
func NewMachine(name string, command []string) *Machine {
	return &Machine{
		name:     name,
		command:  command,
		feed:     simnode.NewPodFeed(time.Now()),
		starts:   make(chan simnode.Pod, simnode.MaxPods),
		children: make(map[string]*child),
	}
}

// Name returns the node's name.
func (m *Machine) Name() string { return m.name }

// Pods returns the machine as a source of pod events.
func (m *Machine) Pods() telemetry.PodSource { return m.feed }

// Bind starts a pod. Its start-up latency is the machine's own, not the pod's.
func (m *Machine) Bind(p simnode.Pod) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.stopped:
		return ErrStopped
	case m.children[p.UID] != nil:
		return fmt.Errorf("%w: %s", simnode.ErrDuplicatePod, p.UID)
	}
	select {
	case m.starts <- p:
	default:
		return fmt.Errorf("%w: more than %d at once", simnode.ErrBadPod, simnode.MaxPods)
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
	cmd := exec.Command(m.command[0], append(m.command[1:len(m.command):len(m.command)],
		"--cpu-seconds", simnode.FormatSeconds(p.Work),
		"--memory", strconv.FormatInt(int64(p.Memory), 10))...)
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
