package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// asked is a source that reports the pods that a test sends.
type asked struct {
	events chan []telemetry.Pod
	health error
}

func (a *asked) Health() error { return a.health }

func (a *asked) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case pods := <-a.events:
			notify(telemetry.PodEvent{At: time.Now(), Changed: true, Pods: pods})
		}
	}
}

// lines counts log lines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// healthBecomes waits until a source's health is, or wraps, an error.
func healthBecomes(t *testing.T, source telemetry.PodSource, want error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got := telemetry.PodSourceHealth(source)
		if errors.Is(got, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the health is %v, want %v", got, want)
		}
	}
}

// A source that reports no pod, as with a wrong socket, namespace or node name, is unhealthy while
// the cgroups hold containers of pods, and logs it once; it is healthy when it reports a pod, or
// there are none.
func TestSourceOfNoPodIsUnhealthy(t *testing.T) {
	root := t.TempDir()
	pod := filepath.Join(root, "kubepods/burstable/pod0b8f6f8e-1c1d-4c0a-9f55-0d6d3e1f2a3b")
	container := filepath.Join(pod, strings.Repeat("3f2a9c1d", 8))
	if err := os.MkdirAll(container, 0o755); err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	source := &asked{events: make(chan []telemetry.Pod)}
	checked, err := telemetry.CheckPods(source, telemetry.CgroupConfig{Root: root, Rescan: time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := telemetry.PodSourceHealth(checked); err != nil {
		t.Errorf("before Run: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, events := make(chan error, 1), make(chan telemetry.PodEvent, 10)
	go func() { ended <- checked.Run(ctx, func(e telemetry.PodEvent) { events <- e }) }()

	source.events <- nil
	healthBecomes(t, checked, telemetry.ErrNoPods)
	source.events <- telemetry.RunningPods("a")
	healthBecomes(t, checked, nil)
	source.events <- nil
	healthBecomes(t, checked, telemetry.ErrNoPods)
	if err := os.Remove(container); err != nil { // a cgroup of a pod that is left over
		t.Fatal(err)
	}
	healthBecomes(t, checked, nil)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if len(events) != 3 {
		t.Errorf("%d events, want all 3 of the source", len(events))
	}
	if n := log.count("pods of the node are not seen"); n < 1 || n > 2 {
		t.Errorf("%d lines, want one each time", n)
	}
}

// The source's own error comes first; an invalid config is refused.
func TestCheckedPodsPassOn(t *testing.T) {
	away := errors.New("the runtime is away")
	checked, err := telemetry.CheckPods(&asked{health: away}, telemetry.CgroupConfig{})
	if got := telemetry.PodSourceHealth(checked); err != nil || !errors.Is(got, away) {
		t.Errorf("%v, %v", got, err)
	}
	var bad *telemetry.FieldError
	if _, err := telemetry.CheckPods(&asked{}, telemetry.CgroupConfig{Rescan: -1}); !errors.As(err, &bad) {
		t.Errorf("a negative Rescan: %v", err)
	}
}
