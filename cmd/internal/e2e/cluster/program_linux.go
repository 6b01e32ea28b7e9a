package cluster

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

// programVariable makes the test binary act as the program of RunProgram.
const programVariable = "SPAZIO_COMMAND_TEST"

// RunProgram runs the program in the processes that StartProgram starts, and returns in others. It must
// be the first call of TestMain.
func RunProgram(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	if os.Getenv(programVariable) != "" {
		command.Main(run)
	}
}

// program is a program in a process of its own, with its own temporary directory.
type program struct {
	Stdout bytes.Buffer // whole once End has returned

	cmd   *exec.Cmd
	lines *bufio.Scanner // of stderr
	said  strings.Builder
	temp  string
}

// StartProgram starts the program. The end of the test kills it.
func StartProgram(t testing.TB, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], args...), temp: t.TempDir()}
	// Children inherit the directory or have one in it, by which they are recognized.
	p.cmd.Env = append(os.Environ(), programVariable+"=1", "TMPDIR="+p.temp)
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

// Said returns what the program has written to stderr, up to the line that was last waited for.
func (p *program) Said() string { return p.said.String() }

// WaitFor reads stderr up to a line that holds the text.
func (p *program) WaitFor(t testing.TB, text string) (line string) {
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
func (p *program) next() bool {
	if !p.lines.Scan() {
		return false
	}
	p.said.WriteString(p.lines.Text() + "\n")
	return true
}

// Signal sends the process a signal.
func (p *program) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// End waits for the process and returns its exit code.
func (p *program) End(t testing.TB) int {
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

// Ended reports whether the process has ended; End still has to be called.
func (p *program) Ended(t testing.TB) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name is in parentheses
	return strings.HasPrefix(after, "Z")
}

// Left returns the program's temporary files and processes that exist, its own process included.
func (p *program) Left(t testing.TB) (left []string) {
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

// CheckNothingLeft fails the test for each file and process that the program left behind.
func (p *program) CheckNothingLeft(t testing.TB) {
	t.Helper()
	for _, l := range p.Left(t) {
		t.Errorf("left behind: %s", l)
	}
}
