package children

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// Group are children of this process. It is safe for concurrent use.
type Group struct {
	path   string // of this program
	dir    string
	keeper *exec.Cmd
	alive  *os.File // its other end is the keeper's input; every child has it
	starts chan start
	ended  chan struct{} // the starter has

	mu      sync.Mutex
	closed  bool
	running map[*Process]bool
	count   int

	followers sync.WaitGroup // two a child
	closeOnce sync.Once
	closeErr  error
}

// start is a child to be started on the starter's thread.
type start struct {
	cmd  *exec.Cmd
	cpus []int
	err  chan error
}

// NewGroup makes a group with a directory of its own below os.TempDir. The caller must
// Close it.
func NewGroup() (*Group, error) {
	if !initialised.Load() {
		return nil, errNoInit
	}
	if !supported {
		return nil, errUnsupported
	}
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("children: find this program's file: %w", err)
	}
	g := &Group{path: path, starts: make(chan start), ended: make(chan struct{}), running: map[*Process]bool{}}
	if g.dir, err = os.MkdirTemp("", "spazio-"); err != nil {
		return nil, fmt.Errorf("children: %w", err)
	}
	if err := g.startKeeper(); err != nil {
		return nil, errors.Join(fmt.Errorf("children: start the keeper: %w", err), os.RemoveAll(g.dir))
	}
	go g.startAll()
	return g, nil
}

func (g *Group) startKeeper() error {
	in, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	g.keeper = exec.Command(g.path)
	g.keeper.Args = []string{childName, keeperRole, g.dir}
	g.keeper.Stdin, g.keeper.SysProcAttr = in, apart()
	err = g.keeper.Start()
	if closed := in.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return errors.Join(err, alive.Close())
	}
	g.alive = alive
	return nil
}

// startAll is the one thread that starts children: the kernel ties them to its life, and
// they begin with its CPUs.
func (g *Group) startAll() {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	defer close(g.ended)
	all, err := CPUs()
	for s := range g.starts {
		if err == nil && len(s.cpus) > 0 {
			if failed := pin(s.cpus); failed != nil {
				s.err <- failed
				continue
			}
		}
		failed := errors.Join(err, s.cmd.Start())
		if err == nil && len(s.cpus) > 0 {
			err = pin(all)
		}
		s.err <- failed
	}
}

// Dir is the directory of the group, which every child has as its TMPDIR. It is gone when
// the group is.
func (g *Group) Dir() string { return g.dir }

// Spec says what a child does.
type Spec struct {
	// Role is one of those given to Init.
	Role string
	Args []string
	// CPUs are those that it may run on; none means all of this process.
	CPUs []int
}

// Start starts a child.
func (g *Group) Start(s Spec) (*Process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errClosed
	}
	g.count++
	p := &Process{
		role: s.Role, log: filepath.Join(g.dir, fmt.Sprintf("%s-%d.log", s.Role, g.count)),
		lines: make(chan string, mostLines), done: make(chan struct{}),
	}
	cmd := exec.Command(g.path)
	cmd.Args = slices.Concat([]string{childName, s.Role}, s.Args)
	cmd.Env = append(os.Environ(), "TMPDIR="+g.dir)
	cmd.ExtraFiles = []*os.File{g.alive}
	cmd.SysProcAttr = bound()
	out, err := g.begin(p, cmd, s.CPUs)
	if err != nil {
		return nil, fmt.Errorf("children: start %s: %w", s.Role, err)
	}
	g.running[p] = true
	g.followers.Go(func() { p.listen(out) })
	g.followers.Go(func() {
		p.follow()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.running, p)
	})
	return p, nil
}

// begin opens the child's files and has it started.
func (g *Group) begin(p *Process, cmd *exec.Cmd, cpus []int) (out io.ReadCloser, err error) {
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	cmd.Stderr = log
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, errors.Join(err, p.in.Close())
	}
	s := start{cmd, cpus, make(chan error)}
	g.starts <- s
	if err := <-s.err; err != nil {
		return nil, errors.Join(err, closeAll(p.in, out))
	}
	p.cmd = cmd
	return out, nil
}

func closeAll(closers ...io.Closer) (err error) {
	for _, c := range closers {
		if failed := c.Close(); failed != nil && !errors.Is(failed, os.ErrClosed) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Close kills the children, waits for them and removes the directory. Further calls
// return the first one's result.
func (g *Group) Close() error {
	g.closeOnce.Do(func() {
		g.mu.Lock()
		g.closed = true
		left := make([]*Process, 0, len(g.running))
		for p := range g.running {
			left = append(left, p)
		}
		g.mu.Unlock()
		for _, p := range left {
			p.Kill()
		}
		g.followers.Wait()
		close(g.starts)
		<-g.ended
		g.closeErr = errors.Join(g.alive.Close(), g.keeper.Wait())
	})
	return g.closeErr
}
