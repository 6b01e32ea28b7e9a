package simnode_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// Changes between two looks of a busy machine are one event: a pod that takes longer then causes more.
func TestNodeNotifiesItsAgent(t *testing.T) {
	const longest = 1000 * time.Second // ten of real time
	want := []telemetry.PodEvent{
		{Changed: true},
		{Churn: true},
		{Churn: true, Changed: true, Pods: telemetry.RunningPods("a")},
		{Churn: true, Changed: true},
	}
	for span := time.Second; ; span *= 10 {
		diff := cmp.Diff(want, podEvents(t, span, len(want)))
		if diff == "" {
			return
		}
		if span == longest {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
	}
}

// podEvents returns the events of a node with a pod that starts and runs for a span, at most so many,
// and none after the pod's end.
func podEvents(t *testing.T, span time.Duration, most int) (got []telemetry.PodEvent) {
	t.Helper()
	clock := simnode.NewClock(time.Now(), 100)
	node, err := simnode.NewNode(simnode.NodeConfig{Name: "n", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	events := make(chan telemetry.PodEvent, 10)
	running.Go(func() { _ = node.Pods().Run(ctx, func(e telemetry.PodEvent) { events <- e }) })
	running.Go(func() { _ = node.Run(ctx, func(simnode.Transition) {}) })
	if err := node.Bind(simnode.Pod{UID: "a", Work: span, Startup: span}); err != nil {
		t.Fatal(err)
	}
	for len(got) < most {
		e := <-events
		e.At = time.Time{}
		got = append(got, e)
		if ended := e.Churn && e.Changed && e.Pods == nil; ended {
			break
		}
	}
	return got
}

func TestNodeSamples(t *testing.T) {
	clock := simnode.NewClock(time.Now(), 1)
	node, err := simnode.NewNode(simnode.NodeConfig{Name: "n", Params: simnode.Params{Cores: 8, Memory: 1 << 30}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{8, 1 << 30}, node.SizesTo(nil)); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	now := clock.Now().Add(time.Second)
	sample, err := node.SampleTo(nil, now)
	if err != nil || len(sample) != len(node.Schema().Channels) {
		t.Fatalf("sample %v, error %v", sample, err)
	}
	if _, err := node.SampleTo(sample, now); !errors.Is(err, telemetry.ErrNoInterval) {
		t.Errorf("the same time again: got error %v", err)
	}
}

// Simulated and real nodes must form one fleet.
func TestNodeHasTheReadersSchema(t *testing.T) {
	reader, err := telemetry.NewReader(telemetry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	node, err := simnode.NewNode(simnode.NodeConfig{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	if !reader.Pressure() {
		return // the reader falls back to a schema of its own
	}
	if diff := cmp.Diff(reader.Schema(), node.Schema()); diff != "" {
		t.Errorf("schema (-reader +node):\n%s", diff)
	}
}
