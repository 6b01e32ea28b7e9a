package embedded_test

import (
	"os"
	"os/exec"
	"testing"
)

// aloneVariable names the test that a process was started for.
const aloneVariable = "SPAZIO_EMBEDDED_TEST"

// alone reports whether this process runs the calling test only, since a process can run one control
// plane; otherwise it runs the test in a new process and returns false.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		return true
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	out, err := child.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	return false
}
