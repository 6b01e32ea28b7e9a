package cluster

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// Command is a role run as a process of its own, or a program if that is given.
type Command struct {
	Role, Program string
	Args          []string
	// Env is added to this process's environment.
	Env []string

	process *exec.Cmd
	output  *transporttest.Output
}

// Start starts the process, which the end of the test kills.
func (c *Command) Start(t *testing.T) {
	t.Helper()
	binary := c.Program
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	process, output := exec.Command(binary, c.Args...), &transporttest.Output{}
	process.Env = append(append(os.Environ(), c.Env...), roleVariable+"="+c.Role)
	process.Stdout, process.Stderr = output, output
	if _, err := process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	c.process, c.output = process, output
	t.Cleanup(func() {
		if process.ProcessState == nil {
			_ = process.Process.Kill()
			_ = process.Wait()
		}
		if t.Failed() {
			t.Logf("%s%s said:\n%s", c.Role, c.Program, output)
		}
	})
}

// Run starts the process and waits for its end. The error is its own.
func (c *Command) Run(t *testing.T) (output string, err error) {
	t.Helper()
	c.Start(t)
	err = c.process.Wait()
	return c.output.String(), err
}

// Said is what the process has written so far.
func (c *Command) Said() string { return c.output.String() }

// Kill sends SIGKILL to the process and waits for its end.
func (c *Command) Kill(t *testing.T) {
	t.Helper()
	if err := c.process.Process.Kill(); err != nil {
		t.Fatalf("kill the %s: %v", c.Role, err)
	}
	_ = c.process.Wait() // it was killed
}

// Interrupt sends SIGINT to the process, which must end with success.
func (c *Command) Interrupt(t *testing.T) {
	t.Helper()
	if err := c.process.Process.Signal(os.Interrupt); err != nil {
		t.Fatalf("interrupt the %s: %v", c.Role, err)
	}
	if err := c.process.Wait(); err != nil || c.process.ProcessState.ExitCode() != command.ExitOK {
		t.Errorf("%s after an interrupt: %v", c.Role, err)
	}
}

// NewScraper returns a scraper of the URL, with a bearer token unless that is
// empty.
func NewScraper(url, token string) endpoint.Scraper {
	// The scheduler issues its own certificate.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	return endpoint.Scraper{URL: url, Token: token, Client: &http.Client{Transport: transport}}
}

// WaitMetric waits until the metric has the value.
func WaitMetric(t *testing.T, s endpoint.Scraper, metric string, want float64) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s is %v", metric, want), func() (bool, any) {
		got, err := s.Value(t.Context(), metric)
		return err == nil && got == want, fmt.Sprint(got, err)
	})
}
