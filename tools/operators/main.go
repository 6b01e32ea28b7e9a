// Command operators copies the definition of SparkApplication out of the Spark operator's
// module, for the tests of cmd/internal/e2e/testbeds:
//
//	GOWORK=off go run -C tools/operators .
//
// The module is outside the workspace because what the operator's module requires is
// nobody else's business. Its tests decode what operator/workload makes by the operator's
// own types, strictly, and compare the states that we know with its own.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Where the definition is and goes, and what it is.
const (
	module = "github.com/kubeflow/spark-operator/v2"
	source = "config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml"
	target = "../../cmd/internal/e2e/testbeds/testdata/sparkapplications.yaml"
	digest = "ecd9c14fcadb9d5f8ced4c4ee31920548ea53a892e0a69c3e43aa758bfca6d94"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := definition()
	if err != nil {
		return err
	}
	return os.WriteFile(target, text, 0o644)
}

var errDigest = errors.New("not the definition that was looked at")

// read reads a file of the module.
func read(file string) ([]byte, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", module, err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), file))
}

// definition reads the definition, which is as it was when somebody looked at it.
func definition() ([]byte, error) {
	text, err := read(source)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); got != digest {
		return nil, fmt.Errorf("%w: sha256 %s, want %s", errDigest, got, digest)
	}
	return text, nil
}
