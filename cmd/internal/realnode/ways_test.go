//go:build realnode && linux

package realnode

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// A way is a way to install Spazio, and to remove it.
type way struct {
	name            string
	install, remove func(*testing.T)
}

var ways = []way{
	{"manifests by kubectl apply --server-side", func(t *testing.T) {
		printed := filepath.Join(t.TempDir(), "printed.yaml")
		manifests := command(t, append([]string{"install", "--registry", deploy.NoRegistry, "--dry-run", "--output", "yaml"}, components()...)...)
		if err := os.WriteFile(printed, []byte(manifests), 0o600); err != nil {
			t.Fatal(err)
		}
		kubectl(t, "apply", "--server-side", "-f", printed)
	}, removeByCommand},
	{"helm install", func(t *testing.T) {
		helm(t, "install", "spazio", filepath.Join(repository, "cmd/deploy/chart"), "--namespace", "kube-system", "--set", fmt.Sprintf("agent.hostPID=%v", !unified()))
	}, func(t *testing.T) { helm(t, "uninstall", "spazio", "--namespace", "kube-system", "--wait") }},
	// The last, since it removes the other images.
	{"spazio install, pulled by digest", installPulled, removeByCommand},
}

// For every way to install Spazio, a pod of its profile runs, and after the removal the API has only
// the objects from before. (This is the last test, by the order of the files.)
func TestWays(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			if installed {
				uninstall(t)
			}
			installBy(t, func() { way.install(t) })
			hasten(t)
			quiet(t)
			t.Run("pod", func(t *testing.T) {
				create(t, worker("first", spazio, "-cpu=100ms"))
				succeeds(t, "first")
			})
			uninstallBy(t, way.remove)
		})
	}
}

// components returns this machine's components as arguments of the command.
func components() []string {
	if unified() {
		return nil
	}
	return []string{"--component", "cgroup-v1"}
}

// installPulled makes the node pull each image by its digest from a registry, after our images were
// removed.
func installPulled(t *testing.T) {
	t.Helper()
	r := openRegistry(t, filepath.Join(made(node.work), "images", "spazio.tar"))
	forget(t, r)
	digests := map[string]string{}
	for _, program := range deploy.Programs() {
		if digest := r.images[program]; digest != "" {
			digests[program] = digest
		}
	}
	text, err := json.Marshal(digests)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "digests.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, append([]string{"install", "--registry", r.serve(t) + "/spazio", "--digests", file}, components()...)...)
	for _, program := range []string{"spazio-agent", "spazio-aggregator", "spazio-certs", "spazio-scheduler"} {
		if fetched, of := r.fetched(t, program); fetched < of {
			t.Errorf("%s: got %d of %d fetched blobs", program, fetched, of)
		}
	}
}

// forget removes the images of a registry's programs from the node, under any name, and those of other
// releases, which share layers with them. containerd keeps a layer, and does not fetch it again, until
// the last image with it and the last container made of it are gone.
func forget(t *testing.T, r *registry) {
	t.Helper()
	images := listed(t, "images")
	targets := map[string]bool{}
	for _, fields := range images {
		program, _, _ := strings.Cut(path.Base(fields[0]), ":")
		program = strings.TrimSuffix(program, "@sha256")
		if _, ours := r.images[program]; ours && len(fields) > 2 {
			targets[fields[2]] = true
		}
	}
	names := map[string]bool{}
	for _, fields := range images {
		if len(fields) > 2 && targets[fields[2]] {
			names[fields[0]] = true
		}
	}
	if len(names) == 0 {
		t.Fatal("the node has none of the images")
	}
	eventually(t, "no container is left of the images", func(context.Context) error {
		for _, fields := range listed(t, "containers") {
			if len(fields) > 1 && names[fields[1]] {
				return fmt.Errorf("container %s of %s", fields[0], fields[1])
			}
		}
		return nil
	})
	remove := slices.AppendSeq([]string{"images", "rm", "--sync"}, maps.Keys(names))
	if err := node.ctr(t.Context(), remove...); err != nil {
		t.Fatal(err)
	}
}

// listed returns the fields of containerd's list of a kind, by line.
func listed(t *testing.T, kind string) (lines [][]string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(node.work, "ctr"), "--address", node.socket(), "--namespace", "k8s.io", kind, "ls").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			lines = append(lines, fields)
		}
	}
	return lines
}

func removeByCommand(t *testing.T) { command(t, "uninstall") }

// kubectl returns the output of kubectl run as the cluster's administrator.
func kubectl(t *testing.T, arguments ...string) string {
	t.Helper()
	return administer(t, "kubectl", arguments...)
}

// helm does the same for Helm.
func helm(t *testing.T, arguments ...string) string {
	t.Helper()
	return administer(t, "helm", arguments...)
}

// administer runs a program, and fails the test if it fails.
func administer(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(node.work, name), arguments...)
	c.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig(node.work, "admin"), "HOME="+t.TempDir())
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	t.Logf("%s %s:\n%.2000s%s", name, strings.Join(arguments, " "), out, errs.String())
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
