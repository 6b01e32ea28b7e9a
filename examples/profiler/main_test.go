package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// start has the jobs a and b, of which it is known what they take beside each other, a
// Testbed of one node, and somebody who carries schedulings out: a takes 4 s, b takes 6.
func start(t *testing.T) *servertest.Bench {
	bench, node := servertest.Start(t, nil), 0
	bed := wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "bed"}, Ready: true}
	for i, id := range []string{"n/0", "n/1"} {
		bed.Slots = append(bed.Slots, wire.Slot{ID: id, Index: i, Node: "n", NodeID: &node, Position: i, State: slot.Free})
	}
	bench.Store.PutTestbed(bed)
	bench.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "a"}, External: json.RawMessage(`{"profiler":{"b":"4 (1)"}}`)})
	bench.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "b"}, External: json.RawMessage(`{"profiler":{"a":"6 (1)"}}`)})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		_ = bench.Store.Follow(ctx, func(c server.Change) {
			if s, ok := c.Object.(wire.Scheduling); ok && c.Type == wire.Added {
				carry(t, bench.Store, s)
			}
		}, func() {})
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return bench
}

// carry is what a cluster does with a scheduling of both jobs.
func carry(t *testing.T, store *servertest.Store, s wire.Scheduling) {
	for name, seconds := range map[string]time.Duration{"a": 4 * time.Second, "b": 6 * time.Second} {
		job, err := store.Job(t.Context(), "team", name)
		if err != nil {
			t.Error(err)
			return
		}
		end := s.Created.Add(seconds)
		job.Runs = append(job.Runs, wire.Run{Scheduling: "team/" + s.Name, Submitted: s.Created, Started: s.Created, Finished: &end, Outcome: "Succeeded"})
		store.PutJob(job)
		s.Jobs = append(s.Jobs, wire.SchedulingJob{Job: "team/" + name})
	}
	s.State = "Completed"
	store.PutScheduling(s)
}

func TestRun(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(servertest.Team+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "a with b\nthe longest run is expected to take 6.0 s; 0 run times are not known\nall were done after 6.0 s\n"
	for _, plan := range []string{"exact", "greedy"} {
		var out bytes.Buffer
		args := []string{"--url", start(t).URL, "--token-file", token, "--namespace", "team", "--profiling", "bed", "--target", "bed", "--plan", plan}
		if err := run(t.Context(), args, strings.NewReader(""), &out); err != nil || out.String() != want {
			t.Errorf("%s: printed %q, error %v", plan, out.String(), err)
		}
	}
}

// Without an end it carries a plan out for each line, while it goes on learning.
func TestForever(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(servertest.Team), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, tell := io.Pipe()
	hear, out := io.Pipe()
	ended := make(chan error, 1)
	args := []string{"--url", start(t).URL, "--token-file", token, "--namespace", "team", "--profiling", "bed", "--target", "bed", "--samples", "0"}
	go func() { ended <- run(ctx, args, in, out) }()
	for range 2 {
		if _, err := io.WriteString(tell, "\n"); err != nil {
			t.Fatal(err)
		}
		heard := make([]byte, 4096)
		for text := ""; !strings.Contains(text, "all were done after 6.0 s"); {
			n, err := hear.Read(heard)
			if err != nil {
				t.Fatal(err)
			}
			text += string(heard[:n])
		}
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
	tell.Close()
}

// What is not understood is said before anything is asked.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ want, args string }{
		{"--plan best: must be exact or greedy", "--plan best"},
		{"Profiling", "--url http://127.0.0.1:1"},
		{"Jobs", "--profiling small --jobs a,a"},
		{"URL", "--url here --profiling small"},
		{"no such file", "--ca missing --profiling small"},
		{"no certificate", "--ca main.go --profiling small"},
	} {
		err := run(t.Context(), strings.Fields(test.args), strings.NewReader(""), io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.args, err, test.want)
		}
	}
}
