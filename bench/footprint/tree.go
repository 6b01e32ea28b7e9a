package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// What a pod start looks like to the cgroups, from the pod's cgroup on, measured
// with containerd on Linux 6.18; the pod's own cgroup outlives its containers by
// some three seconds.
const (
	sandboxCreated   = 98 * time.Millisecond
	sandboxStarted   = 159 * time.Millisecond
	containerCreated = 214 * time.Millisecond
	containerStarted = 240 * time.Millisecond
	podRemoved       = 3 * time.Second
)

// pauseName is the command name by which a source tells sandboxes.
const pauseName = "pause"

// pause ends with the process that started it.
func pause(in io.Reader) { _, _ = io.Copy(io.Discard, in) }

// startPause runs this program under the sandbox's name.
func startPause(ctx context.Context, dir string) (pid int, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, nil, err
	}
	link := filepath.Join(dir, pauseName)
	if err := os.Symlink(self, link); err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(ctx, link)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	return cmd.Process.Pid, func() { in.Close(); _ = cmd.Wait() }, nil
}

// tree makes the cgroups of a kubelet in a directory. The processes in them are
// a pause for every sandbox and this one for every container.
type tree struct {
	root string
	// usage: a pod's cgroup has the files that tell what it takes, which lead to those
	// of this process's own cgroups, so that the kernel makes them up at each reading.
	usage   []usageLink
	class   string // the directory of best-effort pods
	sandbox []byte // content of cgroup.procs
	work    []byte

	started, ended, running atomic.Int64
	pods                    sync.WaitGroup
	failed                  chan error
}

func newTree(root string, pausePID int, usage bool) (*tree, error) {
	t := &tree{
		root:    root,
		class:   filepath.Join(root, "kubepods", "besteffort"),
		sandbox: []byte(strconv.Itoa(pausePID) + "\n"),
		work:    []byte(strconv.Itoa(os.Getpid()) + "\n"),
		failed:  make(chan error, 1),
	}
	if usage {
		var err error
		if t.usage, err = usageLinks("/sys/fs/cgroup"); err != nil {
			return nil, err
		}
		for _, l := range t.usage { // cgroup v1 has a tree a controller; containers are in the CPU's
			if l.name == "cpu.stat" && l.hierarchy != "" {
				t.class = filepath.Join(root, l.hierarchy, "kubepods", "besteffort")
			}
		}
		if err := t.link(func(hierarchy string) string { return filepath.Join(root, hierarchy, "kubepods") }); err != nil {
			return nil, err
		}
	}
	return t, os.MkdirAll(t.class, 0o755)
}

// churn keeps count pods, of which the oldest ends whenever a new one starts,
// rate times a second, until ctx ends; full is called once all have started.
func (t *tree) churn(ctx context.Context, count int, rate float64, full func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer t.pods.Wait()
	defer cancel()
	var ends []chan struct{}
	for range count {
		ends = append(ends, t.start(ctx))
	}
	for t.running.Load() < int64(count) {
		if program.Sleep(ctx, 10*time.Millisecond) != nil {
			return t.failure()
		}
	}
	full()
	if rate == 0 {
		<-ctx.Done()
		return t.failure()
	}
	ticker := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return t.failure()
		case err := <-t.failed:
			return err
		case <-ticker.C:
			close(ends[0])
			ends = append(ends[1:], t.start(ctx))
		}
	}
}

func (t *tree) failure() error {
	select {
	case err := <-t.failed:
		return err
	default:
		return nil
	}
}

func (t *tree) start(ctx context.Context) (end chan struct{}) {
	end = make(chan struct{})
	t.pods.Go(func() {
		if err := t.pod(ctx, end); err != nil {
			select {
			case t.failed <- fmt.Errorf("cgroup of a pod: %w", err):
			default:
			}
		}
	})
	return end
}

// pod goes through the life of one pod; it leaves its directories behind when
// ctx ends.
func (t *tree) pod(ctx context.Context, end <-chan struct{}) error {
	dir := filepath.Join(t.class, "pod"+uuid.NewString())
	sandbox, container := filepath.Join(dir, uuid.NewString()), filepath.Join(dir, uuid.NewString())
	began := time.Now()
	for _, step := range []struct {
		after time.Duration
		do    func() error
	}{
		{0, func() error { return t.makePod(dir) }},
		{sandboxCreated, func() error { return os.Mkdir(sandbox, 0o755) }},
		{sandboxStarted, func() error { return os.WriteFile(filepath.Join(sandbox, "cgroup.procs"), t.sandbox, 0o644) }},
		{containerCreated, func() error { return os.Mkdir(container, 0o755) }},
		{containerStarted, func() error { return os.WriteFile(filepath.Join(container, "cgroup.procs"), t.work, 0o644) }},
	} {
		if program.Sleep(ctx, time.Until(began.Add(step.after))) != nil {
			return nil
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	t.started.Add(1)
	t.running.Add(1)
	select {
	case <-ctx.Done():
		return nil
	case <-end:
	}
	t.running.Add(-1)
	t.ended.Add(1)
	if err := os.RemoveAll(container); err != nil {
		return err
	}
	if program.Sleep(ctx, podRemoved) != nil {
		return nil
	}
	if err := os.RemoveAll(sandbox); err != nil {
		return err
	}
	return t.removePod(dir)
}
