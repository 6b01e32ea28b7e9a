package deploy

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

// scheduler is the only program that is not built: it takes long to link, and the test's binary can act
// as it.
const scheduler = "spazio-scheduler"

// build builds the images' programs, all except the scheduler, into a directory that is removed with
// the control plane.
var build = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(planeDir, "programs")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	mains, err := filepath.Glob(root + "/cmd/spazio-*/main.go")
	if err != nil {
		return "", err
	}
	args := []string{"build", "-o", dir}
	for _, main := range mains {
		switch name := path.Base(filepath.Dir(main)); name {
		case scheduler, "spazio-demo", "spazio-lab":
		default:
			args = append(args, "./"+name)
		}
	}
	command := exec.Command("go", args...)
	command.Dir, command.Stderr = root+"/cmd", os.Stderr
	return dir, command.Run()
})

// planeDir is the control plane's directory, once it exists.
var planeDir string

// command returns the program of a container's image with arguments.
func command(t *testing.T, c corev1.Container, args ...string) *cluster.Command {
	t.Helper()
	planeDir = cluster.Plane(t).Dir()
	name, _, found := strings.Cut(strings.TrimPrefix(c.Image, "registry.invalid/spazio/"), ":dev")
	if !found || strings.Contains(name, "/") {
		t.Fatalf("the image %s is not ours", c.Image)
	}
	if name == scheduler {
		return &cluster.Command{Role: "scheduler", Args: args}
	}
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return &cluster.Command{Program: filepath.Join(dir, name), Args: args}
}

// Every program accepts the flags in the manifests.
func TestFlags(t *testing.T) {
	tried := map[string]bool{}
	for _, name := range variants(t) {
		for _, w := range workloads(t, variant(t, name)) {
			for _, c := range w.template.Spec.Containers {
				key := c.Image + strings.Join(c.Args, " ")
				if len(c.Args) == 0 || len(c.Command) > 0 {
					t.Errorf("%s, %s: the image's program with arguments is wanted, not %q %q", name, w.name, c.Command, c.Args)
				}
				if tried[key] {
					continue
				}
				tried[key] = true
				// Flags are parsed before the help is printed.
				if output, err := command(t, c, append(c.Args, "--help")...).Run(t); err != nil {
					t.Errorf("%s, %s: %v\n%s", name, w.name, err, output)
				}
				if _, err := command(t, c, append(c.Args, "--nonsense", "--help")...).Run(t); err == nil {
					t.Errorf("%s, %s: an unknown flag was accepted", name, w.name)
				}
			}
		}
	}
}
