package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func TestRefuses(t *testing.T) {
	for _, line := range []string{
		"--nodes 0", "--pods 1", "--pairs 1", "--width NaN", "-o xml", "word",
	} {
		var stdout, stderr bytes.Buffer
		var c comparison
		if code := command.Execute(t.Context(), bench.Command("scheduler", "", c.flags, c.validate, c.measure), strings.Fields(line), &stdout, &stderr); code != command.ExitUsage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stderr %q", line, code, &stderr)
		}
	}
}

// In both of two pairs the plugin doubles every time.
func TestTell(t *testing.T) {
	off := result{Pods: 11, Seconds: 1, Process: 4, Scheduler: 1, Server: 0, Beside: .1}
	on := result{Pods: 11, Seconds: 2, Process: 8, Scheduler: 2, Server: 1, Beside: .1}
	c := comparison{on: []result{on, on}, off: []result{off, off}}
	var r bench.Result
	c.report(&r)
	var rows []bench.Row
	for i := 0; i < len(r.Rows); i += 3 {
		rows = append(rows, r.Rows[i])
	}
	want := []bench.Row{
		{What: "throughput, with the plugin over without", Value: .5, Unit: "ratio", Interval: []float64{.5, .5}},
		{What: "CPU/pod, process, with the plugin over without", Value: 2, Unit: "ratio", Interval: []float64{2, 2}},
		{What: "CPU/pod, scheduler, with the plugin over without", Value: 2, Unit: "ratio", Interval: []float64{2, 2}},
		{What: "the same without the server, with the plugin over without", Value: 1, Unit: "ratio", Interval: []float64{1, 1}},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if throughput, cpu := r.Rows[1:3], r.Rows[4]; throughput[0].Value != 5 || throughput[1].Value != 10 || cpu.Value != 800 {
		t.Errorf("%+v, %+v", throughput, cpu)
	}
	r = bench.Result{}
	(&comparison{on: c.on[:1]}).report(&r)
	if len(r.Rows) > 0 {
		t.Errorf("without a pair: %+v", r.Rows)
	}
}

// The input of scheduler_perf is valid JSON, with as many pods before the measured ones as upstream has.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	top, err := workload{Nodes: 1000, Pods: 4}.write(dir, true)
	if err != nil || top != filepath.Join(dir, "workload.yaml") {
		t.Fatal(top, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var any any
		if err := json.Unmarshal(text, &any); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if file == top && !bytes.Contains(text, []byte(`"count":200,`)) {
			t.Errorf("no 200 pods first: %s", text)
		}
	}
}

// On a busy machine a profile may have few samples; then the next one is longer.
func TestSecondsByPart(t *testing.T) {
	x := 1.
	for work := 100 * time.Millisecond; work < time.Minute; work *= 2 {
		var text bytes.Buffer
		if err := pprof.StartCPUProfile(&text); err != nil {
			t.Fatal(err)
		}
		spin := func(context.Context) {
			for begin := time.Now(); time.Since(begin) < work; {
				x = math.Sqrt(x + 1)
			}
		}
		pprof.Do(t.Context(), pprof.Labels(labelKey, "first", "other", "x"), spin)
		pprof.Do(t.Context(), pprof.Labels(labelKey, "second"), spin)
		spin(t.Context())
		pprof.StopCPUProfile()
		seconds, err := secondsByPart(text.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for part := range seconds {
			if part != "first" && part != "second" && part != "" {
				t.Fatalf("unknown part %q in %v", part, seconds)
			}
		}
		if seconds["first"] > 0 && seconds["second"] > 0 && seconds[""] > 0 {
			return
		}
	}
	t.Error("no profile had samples of every part")
}

// The garbage collector's work in an allocating goroutine does not count as that goroutine's.
func TestSecondsByPartLeavesOutTheCollector(t *testing.T) {
	assist, own := &profile.Function{ID: 1, Name: "runtime.gcAssistAlloc"}, &profile.Function{ID: 2, Name: "main.run"}
	at := func(id uint64, f *profile.Function) *profile.Location {
		return &profile.Location{ID: id, Line: []profile.Line{{Function: f}}}
	}
	inAssist, inRun := at(1, assist), at(2, own)
	sample := func(ns int64, where ...*profile.Location) *profile.Sample {
		return &profile.Sample{Location: where, Value: []int64{1, ns}, Label: map[string][]string{labelKey: {partScheduler}}}
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{sample(2e9, inRun), sample(4e9, inAssist, inRun)},
		Location:   []*profile.Location{inAssist, inRun}, Function: []*profile.Function{assist, own},
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	if seconds, err := secondsByPart(text.Bytes()); err != nil || seconds[partScheduler] != 2 {
		t.Errorf("%v, error %v, want 2 s", seconds, err)
	}
}

func TestSecondsByPartRefuses(t *testing.T) {
	if _, err := secondsByPart([]byte("text")); err == nil {
		t.Error("text is a profile")
	}
}
