package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// TestMain is the profiler that --days runs, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agedName {
		program.Main(command())
		return
	}
	os.Exit(m.Run())
}

func TestMeasure(t *testing.T) {
	profiler, err := program.Build(t.Context(), "spazio-profiler", t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--nodes", "20", "--pods", "100", "--workloads", "10", "--warm-up", "15s", "--duration", "5s"}
	ways := map[string][]string{"in plaintext": {"--profiler", profiler}, "by TLS, with tokens": {"--profiler", profiler, "--tls"}, "in plaintext, after 1 days": {"--days", "1"}}
	for by, more := range ways {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := program.Run(t.Context(), command(), slices.Concat(args, more), &stdout, &stderr); code != program.OK {
				t.Fatalf("exit code %d, stderr %q", code, &stderr)
			}
			for _, part := range []string{
				`20 nodes, 100 pods, 10 workloads for 5 s, ` + by, `batches +[1-9].* accepted, 0 others in all`, `(?s)profiler +0\.\d+ cores, \d\d.*;\s+10\s+workloads,\s+100\s+pods`,
			} {
				if !regexp.MustCompile(part).MatchString(stdout.String()) {
					t.Errorf("no %q in\n%s", part, &stdout)
				}
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--nodes", "0"}, {"--pods", "1"}, {"--workloads", "0"}, {"--duration", "0s"}, {"--warm-up", "-1s"}, {"--nonsense"}, {"word"},
		{"--days", "-1"}, {"--days", "1", "--tls"}, {"--days", "1", "--profiler", os.DevNull}, {"--days", "1", "--argument", "--slots=1"},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Usage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q, stdout %q", args, code, &stderr, &stdout)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := program.Run(t.Context(), command(), []string{"--profiler", os.DevNull}, &stdout, &stderr); code != program.Failure || stdout.Len() > 0 {
		t.Errorf("no program: exit code %d, stderr %q", code, &stderr)
	}
}

// What agents complain of is counted, and the last is told.
func TestComplaints(t *testing.T) {
	c := &complaints{}
	log := slog.New(c).With("profiler", "127.0.0.1:1")
	log.Info("profiler is there")
	log.Warn("profiler is away", "error", errors.New("no route"))
	log.Error("profiler refuses a batch", "windows", 2, "error", errors.New("too long"))
	var stdout bytes.Buffer
	r := result{}
	r.write(&stdout)
	if strings.Contains(stdout.String(), "outages") {
		t.Errorf("outages where nobody complains:\n%s", &stdout)
	}
	r.complaints, r.complaint = c.heard()
	r.write(&stdout)
	if want := "agents' outages   2 from the beginning on, the last: profiler refuses a batch: too long\n"; !strings.HasSuffix(stdout.String(), want) {
		t.Errorf("no %q at the end of\n%s", want, &stdout)
	}
}
