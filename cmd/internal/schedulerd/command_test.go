package schedulerd_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
)

// asCommand makes the test binary act as the command, with a context that no signal ends.
const asCommand = "SPAZIO_SCHEDULERD_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(schedulerd.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestSignalIsNoFailure: kube-scheduler handles signals itself. It may end before the command's context
// does, as on a loaded machine.
func TestSignalIsNoFailure(t *testing.T) {
	process := exec.Command(os.Args[0], "--kubeconfig="+transporttest.Unreachable(t), "--leader-elect=false", "--secure-port=0",
		"--signal-listen=127.0.0.1:0", "--debug-listen=")
	process.Env = append(os.Environ(), asCommand+"=1")
	stderr, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill() })
	var output []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		output = append(output, lines.Text())
		if strings.Contains(lines.Text(), "Golang settings") { // it runs
			if err := process.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := process.Wait(); err != nil {
		t.Errorf("got %v, output:\n%s", err, strings.Join(output, "\n"))
	}
}
