//go:build realnode && linux

package realnode

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stopTime is how long a program may take to end after SIGTERM.
const stopTime = 20 * time.Second

// A process is a program that the node runs, with its output in its own file.
type process struct {
	name    string
	log     string
	command *exec.Cmd
	done    chan struct{} // closed when it has ended and err is set
	err     error
}

// spawn starts a program.
func spawn(work, name, path string, env []string, arguments ...string) (*process, error) {
	c := exec.Command(path, arguments...)
	c.Env = append(os.Environ(), env...)
	return own(work, name, c)
}

// own starts a command and waits for its end.
func own(work, name string, c *exec.Cmd) (*process, error) {
	p := &process{name: name, log: filepath.Join(work, name+".log"), command: c, done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	p.command.Stdout, p.command.Stderr = out, out
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	go func() {
		defer close(p.done)
		p.err = errors.Join(p.command.Wait(), out.Close())
	}()
	return p, nil
}

// errExited is the error of a program that exited with success, which none should.
var errExited = errors.New("exit status 0")

// ended returns an error with the last output if the process has ended.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended: %w:\n%s", p.name, cmp.Or(p.err, errExited), p.tail())
	default:
		return nil
	}
}

// tail returns the end of its output.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// stop sends SIGTERM, kills it after a while, and returns when it has ended.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTime):
		return errors.Join(fmt.Errorf("%s did not end within %v", p.name, stopTime), p.kill())
	}
}

// kill kills it at once.
func (p *process) kill() error {
	err := p.command.Process.Kill()
	<-p.done
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
