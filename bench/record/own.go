package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// ownPods are the pods that this program starts, as an agent hears of them. It is safe
// for concurrent use.
type ownPods struct {
	events chan telemetry.PodEvent

	mu   sync.Mutex
	pods []telemetry.Pod
}

func newOwnPods() *ownPods { return &ownPods{events: make(chan telemetry.PodEvent, 1000)} }

// Run implements telemetry.PodSource.
func (p *ownPods) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	notify(telemetry.PodEvent{At: time.Now(), Changed: true})
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-p.events:
			notify(e)
		}
	}
}

// set tells of a pod's new state, or, gone, of its end.
func (p *ownPods) set(uid string, state telemetry.PodState, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, found := slices.BinarySearchFunc(p.pods, uid, func(q telemetry.Pod, uid string) int { return strings.Compare(q.UID, uid) })
	if !found {
		p.pods = slices.Insert(p.pods, i, telemetry.Pod{UID: uid})
	}
	if p.pods[i].State = state; state == telemetry.PodRunning {
		p.pods[i].Starts = 1
	}
	if gone {
		p.pods = slices.Delete(p.pods, i, i+1)
	}
	select {
	case p.events <- telemetry.PodEvent{At: time.Now(), Churn: !gone, Changed: true, Pods: slices.Clone(p.pods)}:
	default: // the agent has ended
	}
}

// starter runs pods, each a process of this program or a container that holds one.
type starter struct {
	self, runtime string
	running       sync.WaitGroup
	failed        chan error
}

// start runs a pod until it ends by itself, its limit is over or ctx ends.
func (s *starter) start(ctx context.Context, pods *ownPods, number int, load string, limit time.Duration) {
	s.running.Go(func() {
		uid := fmt.Sprintf("%08d-%d", number, os.Getpid())
		pods.set(uid, telemetry.PodPending, false)
		defer pods.set(uid, telemetry.PodStopped, true)
		args := []string{"work", load, "--limit", limit.String()}
		run := s.process
		if s.runtime != "" {
			run = s.container
		}
		err := run(ctx, uid, args, func() { pods.set(uid, telemetry.PodRunning, false) })
		pods.set(uid, telemetry.PodStopped, false)
		if err != nil && ctx.Err() == nil {
			select {
			case s.failed <- fmt.Errorf("pod %v: %w", args, err):
			default:
			}
		}
	})
}

func (s *starter) process(ctx context.Context, _ string, args []string, started func()) error {
	cmd := exec.CommandContext(ctx, s.self, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	started()
	return cmd.Wait()
}

// container has the runtime make a container of nothing but this program.
func (s *starter) container(ctx context.Context, uid string, args []string, started func()) error {
	bundle, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bundle)
	for _, dir := range []string{"proc", "tmp"} {
		if err := os.MkdirAll(filepath.Join(bundle, "rootfs", dir), 0o755); err != nil {
			return err
		}
	}
	text, err := json.Marshal(s.bundle(uid, args))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o600); err != nil {
		return err
	}
	pid := filepath.Join(bundle, "pid")
	cmd := exec.Command(s.runtime, "run", "--bundle", bundle, "--pid-file", pid, uid)
	if err := cmd.Start(); err != nil {
		return err
	}
	// By its runtime, so that nothing stays behind.
	stop := context.AfterFunc(ctx, func() { _ = exec.Command(s.runtime, "kill", uid, "KILL").Run() })
	defer stop()
	for range 500 {
		if _, err := os.Stat(pid); err == nil {
			started()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return cmd.Wait()
}

// bundle is the configuration of a container of the OCI runtime specification.
func (s *starter) bundle(uid string, args []string) map[string]any {
	type object = map[string]any
	var namespaces []object
	for _, kind := range []string{"pid", "ipc", "uts", "mount"} {
		namespaces = append(namespaces, object{"type": kind})
	}
	return object{
		"ociVersion": "1.0.2",
		"process": object{
			"args": append([]string{mounted}, args...), "cwd": "/", "user": object{"uid": 0, "gid": 0},
		},
		"root": object{"path": "rootfs"},
		"mounts": []object{
			{"destination": "/proc", "type": "proc", "source": "proc"},
			{"destination": mounted, "type": "bind", "source": s.self, "options": []string{"bind", "ro"}},
		},
		"linux": object{"namespaces": namespaces, "cgroupsPath": "/spazio-record/" + uid},
	}
}
