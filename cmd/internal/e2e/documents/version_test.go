package documents

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Every program tells what it is and ends, whatever flags of their own the libraries have. Of
// which Kubernetes a test's program is, the toolchain does not record.
func TestProgramsTellTheirVersion(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range programs {
		cmd := exec.CommandContext(t.Context(), self, "--version")
		cmd.Env = append(os.Environ(), asProgram+"="+name)
		said, err := cmd.CombinedOutput()
		shown := strings.Replace(name, "kubectl-", "kubectl ", 1)
		if want := " version (devel), " + runtime.Version() + "\n"; err != nil || string(said) != shown+want {
			t.Errorf("%s: %v: %q, want %q", name, err, said, shown+want)
		}
	}
}
