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

// asCommand makes the test binary act as the command, under a context that no signal
// ends.
const asCommand = "SPAZIO_SCHEDULERD_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(schedulerd.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestSignalIsNoFailure: kube-scheduler hears signals by itself. It may have ended
// before the command's context has, as on a busy machine.
func TestSignalIsNoFailure(t *testing.T) {
	process := exec.Command(os.Args[0], "--kubeconfig="+transporttest.Unreachable(t), "--leader-elect=false", "--secure-port=0",
		"--signal-listen=127.0.0.1:0", "--debug-listen=")
	process.Env = append(os.Environ(), asCommand+"=1")
	output, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill() })
	var said []string
	for lines := bufio.NewScanner(output); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "Golang settings") { // it runs
			if err := process.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := process.Wait(); err != nil {
		t.Errorf("%v; it said:\n%s", err, strings.Join(said, "\n"))
	}
}
