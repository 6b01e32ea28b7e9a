// The program node makes what a Kubernetes node of its own takes, from Go modules
// alone: the programs of Kubernetes and containerd at the versions that go.mod and
// runtime/go.mod pin, and images of the tree's programs and of the one in work.
//
//	GOWORK=off go run -C tools/node . -to DIR
//
// DIR/bin gets the programs, DIR/images an archive of each image, ready for
// `ctr images import`, under the names that the manifests in deploy have.
// runc is not among them: it wants libseccomp, and Debian has it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// repository is the tree's root from here.
const repository = "../.."

func main() {
	to := flag.String("to", "", "the directory to fill")
	flag.Parse()
	if *to == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := fill(*to); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func fill(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	bin, archives := filepath.Join(dir, "bin"), filepath.Join(dir, "images")
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.MkdirAll(archives, 0o755)); err != nil {
		return err
	}
	var commands []string
	for _, i := range images {
		if i.ours {
			commands = append(commands, "./cmd/"+i.program)
		}
	}
	// runtime is a module of its own: containerd and CoreDNS want a newer
	// client-go than this Kubernetes.
	if err := errors.Join(
		build(repository, "", bin, commands...),
		build(".", "off", bin, "tool", "./work"),
		build("runtime", "off", bin, "tool", "./coredns"),
	); err != nil {
		return err
	}
	for _, i := range images {
		if err := i.write(bin, archives); err != nil {
			return err
		}
	}
	return nil
}

// build compiles packages, statically, from a directory and with a workspace or "off";
// those of the workspace as tools/images does, so that each is compiled once.
func build(dir, workspace, to string, packages ...string) error {
	command := exec.Command("go", append([]string{"build", "-trimpath=" + strconv.FormatBool(workspace != "off"), "-ldflags=-s -w", "-o", to + "/"}, packages...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK="+workspace)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s in %s: %w", strings.Join(command.Args, " "), dir, err)
	}
	return nil
}
