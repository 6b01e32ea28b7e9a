package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/energy/share/fakeguest"
)

// TestMain lets the test binary be guests.
func TestMain(m *testing.M) {
	fakeguest.Main()
	os.Exit(m.Run())
}

// TestRun: guests that are processes are published, and nothing is left behind.
func TestRun(t *testing.T) {
	left := func() (names []string) {
		dir := memory()
		if dir == "" {
			dir = os.TempDir()
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), fmt.Sprintf("spazio-guestpower-%d-", os.Getpid())) {
				names = append(names, e.Name())
			}
		}
		return names
	}
	var stdout, stderr bytes.Buffer
	if code := program.Run(t.Context(), command(), []string{"--counts", "1,2", "--duration", "5s", "-o", "json"}, &stdout, &stderr); code != program.OK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var r result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if len(r.Guests) != 2 {
		t.Fatalf("%+v", r)
	}
	for i, g := range r.Guests {
		if g.Count != i+1 || g.Intervals < 1 || !(g.Mean > .1 && g.P1 <= g.P99 && g.P99 <= g.Max) || g.Millicores < 0 || g.PeakMiB < 1 {
			t.Errorf("%+v", g)
		}
	}
	if names := left(); len(names) > 0 {
		t.Error("left behind:", names)
	}
}

// TestWatch: what is seen several times is one publication; the guest that is farthest from a
// period counts.
func TestWatch(t *testing.T) {
	w := newWatch("dir", []string{"a", "b"})
	at := func(i int, sampled, published time.Duration) {
		epoch := time.Unix(0, 0)
		w.see(i, stamp{epoch.Add(sampled), epoch.Add(published)})
	}
	const s, ms = time.Second, time.Millisecond
	at(0, s, s+ms)
	at(0, s, s+ms)
	at(0, 2*s, 2*s+2*ms)
	at(0, 3*s, 3*s+ms)
	at(1, s, s)
	if _, err := w.row(); err == nil || !strings.Contains(err.Error(), "dir/b/") {
		t.Error("a guest that was published once:", err)
	}
	at(1, 2*s, 2*s)
	at(1, 3300*ms, 3300*ms)
	got, err := w.row()
	want := row{Count: 2, Intervals: 4, Mean: 1.15, P1: .999, P99: 1.3, Max: 1.3, Late: .002}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestMissed(t *testing.T) {
	good := row{Count: 20, Intervals: 600, Mean: 1.019, Max: 1.25, Millicores: 5}
	if missed := (result{Guests: []row{good}}).missed(); len(missed) > 0 {
		t.Error(missed)
	}
	for part, change := range map[string]func(*row){
		"publications are": func(r *row) { r.Mean = .979 },
		"two publications": func(r *row) { r.Max = 1.251 },
		"millicores":       func(r *row) { r.Millicores = 5.1 },
	} {
		bad := good
		change(&bad)
		if missed := (result{Guests: []row{good, bad}}).missed(); len(missed) != 1 || !strings.Contains(errors.Join(missed...).Error(), part) {
			t.Errorf("%s: %v", part, missed)
		}
	}
	more := good
	more.Count, more.Millicores = 100, 20
	if missed := (result{Guests: []row{more}}).missed(); len(missed) > 0 {
		t.Error(missed)
	}
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{{"--counts", "0"}, {"--counts", "1025"}, {"--duration", "1s"}, {"--cores", "-1"}, {"--cores", "NaN"}, {"-o", "xml"}, {"word"}} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Usage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := (result{Guests: []row{{Count: 20, Intervals: 600, Mean: 1, Max: 1.006, Millicores: 1.99}}}).write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1.006", "1.99", "1.25"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
