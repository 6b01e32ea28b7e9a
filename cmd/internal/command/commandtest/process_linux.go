package commandtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// variable makes the test binary the command.
const variable = "SPAZIO_COMMAND_TEST"

// Main runs the command in the processes that Start starts, and returns in others: the first
// thing that TestMain does.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	if os.Getenv(variable) != "" {
		command.Main(run)
	}
}

// Process is a command in a process of its own, with a temporary directory of its own.
type Process struct {
	Stdout bytes.Buffer // whole once End has returned

	cmd   *exec.Cmd
	lines *bufio.Scanner // of stderr
	said  strings.Builder
	temp  string
}

// Start starts the command, which the end of the test kills.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(os.Args[0], args...), temp: t.TempDir()}
	// Children inherit the directory or have one in it, which tells them from those of others.
	p.cmd.Env = append(os.Environ(), variable+"=1", "TMPDIR="+p.temp)
	p.cmd.Stdout = &p.Stdout
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(stderr)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// Said is what the command has written to stderr, as far as it was waited for.
func (p *Process) Said() string { return p.said.String() }

// WaitFor reads stderr up to a line that holds the text.
func (p *Process) WaitFor(t testing.TB, text string) (line string) {
	t.Helper()
	for p.next() {
		if strings.Contains(p.lines.Text(), text) {
			return p.lines.Text()
		}
	}
	t.Fatalf("it ended before %q:\n%s", text, p.Said())
	return ""
}

// next reads a line.
func (p *Process) next() bool {
	if !p.lines.Scan() {
		return false
	}
	p.said.WriteString(p.lines.Text() + "\n")
	return true
}

// Signal sends the process a signal.
func (p *Process) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// End waits for the process and returns its exit code.
func (p *Process) End(t testing.TB) int {
	t.Helper()
	for p.next() {
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Ended says whether the process has ended, and waits for End.
func (p *Process) Ended(t testing.TB) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name is in parentheses
	return strings.HasPrefix(after, "Z")
}

// Left are the temporary files and the processes, its own among them, that are there of it.
func (p *Process) Left(t testing.TB) (left []string) {
	t.Helper()
	entries, err := os.ReadDir(p.temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	processes, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	itself, within := []byte("TMPDIR="+p.temp+"\x00"), []byte("TMPDIR="+p.temp+"/")
	for _, file := range processes {
		environment, err := os.ReadFile(file)
		if err == nil && (bytes.Contains(environment, itself) || bytes.Contains(environment, within)) {
			left = append(left, filepath.Dir(file))
		}
	}
	return left
}

// CheckNothingLeft fails the test for what the command left.
func (p *Process) CheckNothingLeft(t testing.TB) {
	t.Helper()
	for _, l := range p.Left(t) {
		t.Errorf("left behind: %s", l)
	}
}
