package documents

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Every program prints its version and exits, whatever flags the libraries declare. The toolchain does
// not record the Kubernetes version of a test's program.
func TestProgramsPrintTheirVersion(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range programs {
		cmd := exec.CommandContext(t.Context(), self, "--version")
		cmd.Env = append(os.Environ(), asProgram+"="+name)
		output, err := cmd.CombinedOutput()
		shown := strings.Replace(name, "kubectl-", "kubectl ", 1)
		if want := " version (devel), " + runtime.Version() + "\n"; err != nil || string(output) != shown+want {
			t.Errorf("%s: %v: %q, want %q", name, err, output, shown+want)
		}
	}
}
