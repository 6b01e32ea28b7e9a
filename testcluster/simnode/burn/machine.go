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

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/internal/processes"
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
	spec simnode.NodeSpec
	path string // of the children's program
	args []string
	feed *simnode.PodFeed
	pods *processes.Pods

	mu      sync.Mutex
	running map[string]struct{} // by UID
}

// NewMachine returns a machine of this one's size.
func NewMachine(c Config) (*Machine, error) {
	m := &Machine{
		feed:    simnode.NewPodFeed(time.Now()),
		pods:    processes.New(),
		running: make(map[string]struct{}),
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
	switch {
	case p.Idle:
		return &field.Error{Package: "burn", Field: "Idle", Value: p.Idle, Err: fmt.Errorf("%w: a child burns", simnode.ErrBadPod)}
	case p.Cores > 1:
		return &field.Error{Package: "burn", Field: "Cores", Value: p.Cores, Err: fmt.Errorf("%w: a child has one thread", simnode.ErrBadPod)}
	}
	if err := m.pods.Bind(p); err != nil {
		return fmt.Errorf("burn: %w", err)
	}
	return nil
}

// Kill ends a pod's process, if it is there.
func (m *Machine) Kill(uid string) { m.pods.Kill(uid) }

// Run starts and follows the children until ctx ends; it returns when the last
// of them is gone.
func (m *Machine) Run(ctx context.Context, emit func(simnode.Transition)) error {
	// The kernel ties a child to the life of the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var children sync.WaitGroup
	defer children.Wait()
	m.pods.Run(ctx, func(p simnode.Pod) { m.start(p, emit, &children) })
	return nil
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
	started, err := m.pods.Start(p.UID, func() (func(), error) {
		if err := errors.Join(errIn, errOut); err != nil {
			return nil, err
		}
		return func() { _ = killGroup(cmd.Process.Pid) }, cmd.Start()
	})
	if !started {
		closeAll(in, out)
		m.ended(p.UID, err, emit)
		return
	}
	children.Go(func() {
		defer closeAll(in)
		m.follow(p.UID, cmd, out, emit)
	})
}

// follow waits until the child burns, then until it ends.
func (m *Machine) follow(uid string, cmd *exec.Cmd, out io.Reader, emit func(simnode.Transition)) {
	reader := bufio.NewReader(out)
	if _, err := reader.ReadString('\n'); err == nil {
		m.changed(func() { m.running[uid] = struct{}{} })
		emit(simnode.Transition{At: time.Now(), UID: uid, Phase: simnode.Running})
	}
	_, _ = io.Copy(io.Discard, reader)
	err := cmd.Wait()
	m.changed(func() { delete(m.running, uid) })
	m.ended(uid, err, emit)
}

// changed applies a change to those that run and tells the agent.
func (m *Machine) changed(apply func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	apply()
	m.feed.Changed(time.Now(), slices.Collect(maps.Keys(m.running)))
}

// ended forgets a pod and tells how it ended.
func (m *Machine) ended(uid string, err error, emit func(simnode.Transition)) {
	emit(simnode.Transition{At: time.Now(), UID: uid, Phase: m.pods.End(uid, err)})
}

func closeAll(closers ...io.Closer) {
	for _, c := range closers {
		if c != nil {
			_ = c.Close()
		}
	}
}
