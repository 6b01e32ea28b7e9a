package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/containerd"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	parent     = "/kubepods/besteffort"
	mounted    = "/record" // this program within a container
	starts     = 6         // pods recorded alone, of each kind
	crowd      = 10        // pods of a batch
	life       = 2 * time.Second
)

func podsCommand() *cobra.Command {
	var out, endpoint, image string
	c := &cobra.Command{
		Use: "pods", Short: "Record the start and the end of pods", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			conn, err := grpc.NewClient("unix://"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				return err
			}
			defer conn.Close()
			k := &kubelet{cri: cri.NewRuntimeServiceClient(conn), endpoint: endpoint, image: image}
			version, err := k.cri.Version(c.Context(), &cri.VersionRequest{})
			if err != nil {
				return fmt.Errorf("ask for the runtime's version: %w", err)
			}
			name := version.RuntimeName + " " + version.RuntimeVersion
			return record(out, name, func(r *recorder) error { k.recorder = r; return k.record(c.Context()) }, c.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&out, "out", "pods.json.gz", "file to write")
	c.Flags().StringVar(&endpoint, "endpoint", containerd.DefaultEndpoint, "containerd's socket")
	c.Flags().StringVar(&image, "image", "local/pause:1", "an image that containerd has")
	return c
}

// kubelet starts and ends pods as a kubelet does.
type kubelet struct {
	*recorder
	cri             cri.RuntimeServiceClient
	endpoint, image string

	mu   sync.Mutex
	made int // pods, for their UIDs
}

func (k *kubelet) record(ctx context.Context) error {
	for i := range 2 * starts {
		load := []string{"idle", "busy"}[i%2]
		err := k.during(ctx, load, 1, finePeriod, func(ctx context.Context, c *clock) error {
			// The start falls anywhere between two samples at 10 Hz.
			return k.alone(ctx, c, load, before+time.Duration(i)*17*time.Millisecond)
		})
		if err != nil {
			return err
		}
	}
	return k.during(ctx, "batches", crowd, period, k.batches)
}

// alone runs one pod and notes what each source of events tells of it.
func (k *kubelet) alone(ctx context.Context, c *clock, load string, wait time.Duration) error {
	listening, stop := context.WithCancel(ctx)
	var sources sync.WaitGroup
	defer sources.Wait()
	defer stop()
	fromCgroups, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{})
	if err != nil {
		return err
	}
	fromRuntime, err := containerd.New(containerd.Config{Endpoint: k.endpoint})
	if err != nil {
		return err
	}
	for name, source := range map[string]telemetry.PodSource{"cgroup event": fromCgroups, "containerd event": fromRuntime} {
		sources.Go(func() {
			_ = source.Run(listening, func(e telemetry.PodEvent) {
				if e.Churn {
					c.mark(name, 0, e.At)
				}
			})
		})
	}
	if err := program.Sleep(ctx, wait); err != nil {
		return err
	}
	if err := k.pod(ctx, c, 0, life, load); err != nil {
		return err
	}
	return program.Sleep(ctx, after)
}

// batches are: one pod that does nothing, ten of them, ten that compute π, two
// that do.
func (k *kubelet) batches(ctx context.Context, c *clock) error {
	pod := 0
	for _, b := range []struct {
		load  string
		pods  int
		pause time.Duration
	}{{"idle", 1, 8 * time.Second}, {"idle", crowd, 10 * time.Second}, {"pi", crowd, 12 * time.Second}, {"pi", 2, 8 * time.Second}} {
		if err := program.Sleep(ctx, before); err != nil {
			return err
		}
		c.mark(fmt.Sprintf("%d × %s", b.pods, b.load), -1, time.Now())
		var pods sync.WaitGroup
		failed := make([]error, b.pods)
		for i := range b.pods {
			pods.Go(func() { failed[i] = k.pod(ctx, c, pod+i, life, b.load) })
		}
		pods.Wait()
		pod += b.pods
		if err := errors.Join(failed...); err != nil {
			return err
		}
		if err := program.Sleep(ctx, b.pause); err != nil {
			return err
		}
	}
	return nil
}

// pod runs one pod from the kubelet's first act to its last.
func (k *kubelet) pod(ctx context.Context, c *clock, number int, limit time.Duration, load string) error {
	k.mu.Lock()
	k.made++
	uid := fmt.Sprintf("%08x-0000-4000-8000-%012x", os.Getpid(), k.made)
	k.mu.Unlock()
	group := parent + "/pod" + uid
	c.mark("bound", number, time.Now())
	if err := makeCgroups(group); err != nil {
		return err
	}
	defer removeCgroups(group)
	c.mark("pod cgroup", number, time.Now())

	config := k.sandbox(uid, group)
	sandbox, err := k.cri.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config})
	if err != nil {
		return fmt.Errorf("run a sandbox: %w", err)
	}
	c.mark("sandbox", number, time.Now())
	defer func() {
		// Without ctx, so that nothing stays behind.
		id := sandbox.PodSandboxId
		_, _ = k.cri.StopPodSandbox(context.WithoutCancel(ctx), &cri.StopPodSandboxRequest{PodSandboxId: id})
		_, _ = k.cri.RemovePodSandbox(context.WithoutCancel(ctx), &cri.RemovePodSandboxRequest{PodSandboxId: id})
		c.mark("removed", number, time.Now())
	}()
	args := []string{"work", load, "--limit", limit.String()}
	if load == "pi" { // ends by itself
		args[3] = time.Minute.String()
	}
	return k.container(ctx, c, number, sandbox.PodSandboxId, config, args)
}

func (k *kubelet) sandbox(uid, group string) *cri.PodSandboxConfig {
	return &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: "pod-" + uid, Uid: uid, Namespace: "default"},
		Labels:   map[string]string{"io.kubernetes.pod.uid": uid, "io.kubernetes.pod.name": "pod-" + uid, "io.kubernetes.pod.namespace": "default"},
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent: group,
			SecurityContext: &cri.LinuxSandboxSecurityContext{
				// The host's network needs no plugin.
				NamespaceOptions: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE},
			},
		},
	}
}

// container runs one and waits for its end.
func (k *kubelet) container(ctx context.Context, c *clock, number int, sandbox string, config *cri.PodSandboxConfig, args []string) error {
	created, err := k.cri.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId: sandbox, SandboxConfig: config,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "work"},
			Image:    &cri.ImageSpec{Image: k.image},
			Command:  []string{mounted}, Args: args,
			Mounts: []*cri.Mount{{ContainerPath: mounted, HostPath: k.self, Readonly: true}},
			Labels: config.Labels,
			Linux:  &cri.LinuxContainerConfig{},
		},
	})
	if err != nil {
		return fmt.Errorf("create a container: %w", err)
	}
	c.mark("created", number, time.Now())
	if _, err := k.cri.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: created.ContainerId}); err != nil {
		return fmt.Errorf("start a container: %w", err)
	}
	c.mark("started", number, time.Now())
	for {
		status, err := k.cri.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: created.ContainerId})
		if err != nil {
			return fmt.Errorf("look at a container: %w", err)
		}
		if s := status.Status; s.State == cri.ContainerState_CONTAINER_EXITED {
			c.mark("exited", number, time.Unix(0, s.FinishedAt))
			if s.ExitCode != 0 {
				return fmt.Errorf("container %v exits with %d: %s", args, s.ExitCode, s.Message)
			}
			return nil
		}
		if err := program.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// makeCgroups makes a group in every hierarchy of cgroup v1, or the one of v2.
func makeCgroups(group string) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := os.MkdirAll(filepath.Join(root, group), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroups removes a group and its parents as far as they are empty.
func removeCgroups(group string) {
	roots, err := cgroupRoots()
	if err != nil {
		return
	}
	for _, root := range roots {
		for g := group; g != "/"; g = filepath.Dir(g) {
			// A parent may hold other pods still.
			if err := os.Remove(filepath.Join(root, g)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
	}
}

func cgroupRoots() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{cgroupRoot}, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, e := range entries {
		if e.IsDir() {
			roots = append(roots, filepath.Join(cgroupRoot, e.Name()))
		}
	}
	return roots, nil
}
