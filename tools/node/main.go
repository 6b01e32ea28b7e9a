// The program node makes what a Kubernetes node of its own takes, from Go modules
// alone: the programs of Kubernetes and containerd at the versions that go.mod and
// runtime/go.mod pin, the command spazio, and images: the tree's own by tools/images,
// and one of the program in work.
//
//	GOWORK=off go run -C tools/node . -to DIR
//
// DIR/bin gets the programs, kubectl and Helm among them; DIR/images archives of the
// images for `ctr images import`, under the names that the manifests in cmd/deploy have;
// DIR/parent the command spazio and the images of the parent commit (-parent).
// runc is not among them: it wants libseccomp, and Debian has it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	to := flag.String("to", "", "the directory to fill")
	of := flag.String("parent", "HEAD~1", "the commit of DIR/parent; empty leaves that out")
	flag.Parse()
	if *to == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := fill(*to, *of); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func fill(dir, revision string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	bin, archives := filepath.Join(dir, "bin"), filepath.Join(dir, "images")
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.MkdirAll(archives, 0o755)); err != nil {
		return err
	}
	for _, step := range []struct {
		dir, workspace string
		arguments      []string
	}{
		{"../images", "off", []string{"run", ".", "-to", "tar:" + filepath.Join(archives, "spazio.tar"),
			"-platforms", "linux/" + runtime.GOARCH}},
		{"../../cmd", "", build(bin, "./spazio")},
		{".", "off", build(bin, "tool", "./work")},
		// A module of its own: containerd and CoreDNS want a newer client-go than
		// this Kubernetes.
		{"runtime", "off", build(bin, "tool", "./coredns")},
	} {
		if err := command(step.dir, step.workspace, step.arguments); err != nil {
			return err
		}
	}
	for _, i := range images {
		if err := i.write(bin, archives); err != nil {
			return err
		}
	}
	if revision == "" {
		return nil
	}
	return parent(filepath.Join(dir, "parent"), revision)
}

// build are the go command's arguments to compile packages.
func build(to string, packages ...string) []string {
	return append([]string{"build", "-ldflags=-s -w", "-o", to + "/"}, packages...)
}

// command runs the go command in a directory, with the workspace named or "off".
func command(dir, workspace string, arguments []string) error {
	c := exec.Command("go", arguments...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK="+workspace)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s in %s: %w", strings.Join(c.Args, " "), dir, err)
	}
	return nil
}
