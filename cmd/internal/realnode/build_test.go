//go:build realnode && linux

package realnode

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// repository is the relative path of the repository's root.
const repository = "../../.."

// build puts the node's programs and all images into the work directory, and checks that the required
// programs exist.
func build(work string) error {
	for _, tool := range []string{"runc", "ip", "nft", "conntrack"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: see the package's documentation for what it takes", err)
		}
	}
	if dir := os.Getenv("REALNODE_DIR"); dir != "" {
		return os.Symlink(dir, made(work))
	}
	c := exec.Command("go", "run", ".", "-to", made(work))
	c.Dir, c.Stdout, c.Stderr = filepath.Join(repository, "tools/node"), os.Stderr, os.Stderr
	c.Env = append(os.Environ(), "GOWORK=off")
	if err := c.Run(); err != nil {
		return fmt.Errorf("make the node's programs: %w", err)
	}
	return nil
}

// made is where tools/node puts its output.
func made(work string) string { return filepath.Join(work, "made") }

// program returns the path of one of the node's programs.
func program(work, name string) string { return filepath.Join(made(work), "bin", name) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
