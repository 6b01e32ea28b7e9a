package children

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a child. It is safe for concurrent use, except that Line and Write are each
// for one goroutine at a time.
type Process struct {
	role, log string
	cmd       *exec.Cmd
	in        io.WriteCloser
	lines     chan string // closed with its output

	done chan struct{} // closed after err and cpu are set
	err  error
	cpu  time.Duration
}

// mostLines is the number of lines that are buffered for Line. The child blocks on the next one, and
// lines that are not read by its end are lost.
const mostLines = 64

// listen reads the child's output until that ends.
func (p *Process) listen(out io.ReadCloser) {
	defer out.Close()
	defer close(p.lines)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		select {
		case p.lines <- lines.Text():
			continue
		default:
		}
		select {
		case p.lines <- lines.Text():
		case <-p.done:
			return
		}
	}
}

// follow waits for the child's end.
func (p *Process) follow() {
	state, err := p.cmd.Process.Wait()
	if state != nil {
		p.cpu = state.UserTime() + state.SystemTime()
		if !state.Success() {
			err = fmt.Errorf("%s: %s%s", p.role, state, p.said())
		}
	}
	p.err = err
	close(p.done)
	_ = p.in.Close()
}

// said returns the last line that the child wrote to its standard error.
func (p *Process) said() string {
	text, err := os.ReadFile(p.log)
	text = bytes.TrimSpace(text)
	if err != nil || len(text) == 0 {
		return ""
	}
	return ": " + string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// PID is the child's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Line waits for the next line of the child's output. The error wraps ErrEnded if there
// is none, or is ctx's.
func (p *Process) Line(ctx context.Context) (string, error) {
	select {
	case line, ok := <-p.lines:
		if ok {
			return line, nil
		}
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	<-p.done
	if p.err != nil {
		return "", fmt.Errorf("%w: %w", ErrEnded, p.err)
	}
	return "", fmt.Errorf("%w: %s", ErrEnded, p.role)
}

// Write writes to the child's input.
func (p *Process) Write(text []byte) (int, error) { return p.in.Write(text) }

// CPU is the processor time that the child has taken, all of it once it has ended.
func (p *Process) CPU() time.Duration {
	now, err := CPUTime(p.PID())
	select {
	case <-p.done:
		return p.cpu
	default:
	}
	if err != nil { // it ends just now
		<-p.done
		return p.cpu
	}
	return now
}

// Kill ends the child at once.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Stop asks the child to end, waits until it has, and kills it if ctx ends before. To end by the
// signal is no error.
func (p *Process) Stop(ctx context.Context) error {
	_ = p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		if p.err != nil && !strings.Contains(p.err.Error(), syscall.SIGTERM.String()) {
			return p.err
		}
		return nil
	case <-ctx.Done():
		p.Kill()
		<-p.done
		return context.Cause(ctx)
	}
}

// Done is closed when the child has ended; Err returns its error.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is nil until Done is closed, and after it where the child's exit code was 0.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}
