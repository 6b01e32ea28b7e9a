//go:build realnode && linux

package realnode

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

// A release is the command and the images of a commit.
type release struct{ program, tag string }

func (r release) arguments() []string {
	return append([]string{"install", "--registry", deploy.NoRegistry, "--tag", r.tag}, components()...)
}

// run runs the release's command.
func (r release) run(t *testing.T, arguments ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), r.program, arguments...)
	c.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig(node.work, "admin"))
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", r.program, strings.Join(arguments, " "), err, out, errs.String())
	}
	return string(out)
}

// half returns the release's objects in one of the namespaces.
func (r release) half(t *testing.T, namespace string) (objects []*unstructured.Unstructured) {
	t.Helper()
	flags := []string{"--dry-run", "--output", "yaml"}
	if strings.Contains(r.run(t, "install", "--help"), "--print") { // the parent commit predates yaml
		flags = []string{"--print"}
	}
	file := filepath.Join(t.TempDir(), "printed.yaml")
	if err := os.WriteFile(file, []byte(r.run(t, append(r.arguments(), flags...)...)), 0o600); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(cluster.ReadManifests(t, file), func(o *unstructured.Unstructured) bool { return o.GetNamespace() != namespace })
}

// While pods arrive, all programs are replaced by those of the next commit: first only the agents, then
// instead only the servers, then all. In each state pods are placed, each of them once, and none is
// lost.
func TestUpgrade(t *testing.T) {
	if installed {
		uninstall(t)
	}
	before := release{filepath.Join(made(node.work), "parent", "spazio"), "parent"}
	after := release{program(node.work, "spazio"), "dev"}
	if err := node.ctr(t.Context(), "images", "import", filepath.Join(made(node.work), "parent", "spazio.tar")); err != nil {
		t.Fatalf("%v (tools/node makes it of the parent commit, unless the clone ends before that)", err)
	}
	installBy(t, func() { before.run(t, before.arguments()...) })
	quiet(t)
	pods := arrive(t, "upgrade", 1500*time.Millisecond)
	places := func(state, servers, agents string) {
		t.Helper()
		eventually(t, state+" is ready", node.ready)
		hasten(t)
		eventually(t, state+" runs", func(context.Context) error {
			got := [][]string{tags(t, deploy.SystemNamespace), tags(t, deploy.AgentNamespace)}
			if !slices.Equal(got[0], []string{servers}) || !slices.Equal(got[1], []string{agents}) {
				return fmt.Errorf("servers and agents of %q", got)
			}
			return nil
		})
		from := time.Now()
		eventually(t, state+" places pods by a fresh signal", func(context.Context) error {
			s, err := top(t)
			if err == nil && (len(s.Nodes) != 1 || s.Nodes[0].Signal != "fresh") {
				err = fmt.Errorf("nodes %+v", s.Nodes)
			}
			if n := pods.boundSince(from); err == nil && n < 5 {
				err = fmt.Errorf("%d pods were placed", n)
			}
			return err
		})
		t.Logf("%s: %d pods placed within %.0f s", state, pods.boundSince(from), time.Since(from).Seconds())
	}
	places("the parent", "parent", "parent")
	applyAs(t, "spazio", after.half(t, deploy.AgentNamespace))
	places("new agents with old servers", "parent", "dev")
	applyAs(t, "spazio", append(before.half(t, deploy.AgentNamespace), after.half(t, deploy.SystemNamespace)...))
	places("old agents with new servers", "dev", "parent")
	after.run(t, after.arguments()...)
	places("the commit", "dev", "dev")
	before.run(t, before.arguments()...)
	places("back at the parent", "parent", "parent")
	after.run(t, after.arguments()...)
	hasten(t)

	made := pods.end()
	pods.wait(t, made)
	b := pods.figures(t)
	t.Logf("%d pods in %.0f s: mean queue %.1f s, run %.1f s, at most %d at once", made, b.Makespan, b.Queue, b.Run, b.AtOnce)
	if b.Pods != made {
		t.Errorf("got %d of %d succeeded pods", b.Pods, made)
	}
	pods.placedOnce(t)
	eventually(t, "nothing is in flight", func(context.Context) error {
		s, err := top(t)
		if err == nil && s.Ledger.Assumed+s.Ledger.Bound > 0 {
			err = fmt.Errorf("ledger %+v", s.Ledger)
		}
		return err
	})
	pods.remove()
	uninstall(t)
}

// tags returns the tags of the images that run in a namespace, sorted.
func tags(t *testing.T, namespace string) []string {
	t.Helper()
	list, err := node.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			image := pod.Spec.Containers[0].Image
			found[image[strings.LastIndexByte(image, ':')+1:]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// arrivals creates a pod per interval, until it is stopped.
type arrivals struct {
	*fates
	end    func() (made int)
	remove func()
}

// arrive starts arrivals.
func arrive(t *testing.T, label string, interval time.Duration) *arrivals {
	t.Helper()
	s := &arrivals{fates: newFates()}
	s.follow(t, label)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	n := 0
	go func() {
		defer close(done)
		for {
			pod := worker(label+"-"+strconv.Itoa(n), spazio, "-cpu=500ms")
			pod.Labels = map[string]string{"batch": label}
			s.mu.Lock()
			s.created[pod.Name] = time.Now()
			s.mu.Unlock()
			if _, err := node.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Errorf("pod %s: %v", pod.Name, err)
				return
			}
			n++
			select {
			case <-ctx.Done():
				return
			case <-time.After(interval):
			}
		}
	}()
	s.end = func() int { cancel(); <-done; return n }
	s.remove = func() { s.end(); removeBatch(t, label) }
	t.Cleanup(s.remove)
	return s
}

// boundSince returns how many pods were placed since then.
func (s *arrivals) boundSince(from time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.bound {
		if at.After(from) {
			n++
		}
	}
	return n
}

// placedOnce fails the test if a pod was placed twice, or its container started twice.
func (s *arrivals) placedOnce(t *testing.T) {
	t.Helper()
	events, err := node.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Scheduled"})
	if err != nil {
		t.Fatal(err)
	}
	placed := map[string]int{}
	for _, e := range events.Items {
		placed[e.InvolvedObject.Name] += max(1, int(e.Count))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, pod := range s.ended {
		if placed[name] != 1 {
			t.Errorf("%s: got %d placements", name, placed[name])
		}
		for _, c := range pod.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("%s: got %d starts", name, c.RestartCount+1)
			}
		}
	}
}
