package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/node/endpoint"
)

func TestMeasure(t *testing.T) {
	aggregator, err := program.Build(t.Context(), "spazio-aggregator", t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"--aggregator", aggregator, "--nodes", "30", "--connections", "4", "--rate", "20", "--warm-up", "1s", "--duration", "2s", "-o", "json"}
	if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.OK || stderr.Len() > 0 {
		t.Fatalf("exit code %d, stderr %q", code, &stderr)
	}
	var r result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	if r.Nodes != 30 || r.Connections != 4 || r.Known != 30 || r.Seconds < 2 || !(r.Answered > 0) || r.Failed > 0 || r.Failure != "" {
		t.Errorf("result %+v", r)
	}
	if r.Call.P50 <= 0 || r.Call.P99 < r.Call.P50 || r.Call.Max < r.Call.P99 || r.Due.Max < r.Call.Max {
		t.Errorf("latency %v, from due %v", r.Call, r.Due)
	}
	if !(r.ResidentMiB > 1 && r.HeapMiB > 0 && r.Handler.P99 < math.MaxInt64) {
		t.Errorf("the aggregator takes %v and %v MiB, %v", r.ResidentMiB, r.HeapMiB, r.Handler)
	}
}

func TestTable(t *testing.T) {
	r := result{
		Nodes: 30, Rate: 20, Channels: 4, Connections: 4, Seconds: 2, Answered: 599.6, Failed: 3, Failure: "gone",
		Call: quantiles{P50: time.Millisecond, Max: 2 * time.Second}, Handler: bounds{P50: 16 * time.Microsecond, P99: time.Millisecond},
		Cores: .5, ResidentMiB: 32.14, Known: 30,
	}
	var out bytes.Buffer
	if err := r.write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`30 nodes at 20/s, d=4, over 4 connections for 2 s`, `pushes answered +600/s, 3 failed`, `last failure +gone`, `latency +p50 1ms, .*max 2s`, `handler +p50 < 16µs, p99 < 1ms`, `aggregator +0\.50 cores, 32\.1 MiB .*, 30 nodes`} {
		if !regexp.MustCompile(part).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", part, &out)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--nodes", "0"}, {"--connections", "0"}, {"--channels", "65"}, {"--rate", "NaN"}, {"--duration", "-1s"}, {"--warm-up", "-1s"},
		{"-o", "xml"}, {"--nonsense"}, {"word"},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Usage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q, stdout %q", args, code, &stderr, &stdout)
		}
	}
	// What is no aggregator and says nothing ends the run.
	var stdout, stderr bytes.Buffer
	args := []string{"--aggregator", os.DevNull}
	if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Failure || stdout.Len() > 0 {
		t.Errorf("no program: exit code %d, stderr %q", code, &stderr)
	}
}

func TestQuantileOfABucket(t *testing.T) {
	all, err := endpoint.ParseMetrics(strings.NewReader(`# HELP x seconds
x_bucket{le="0.001"} 50
x_bucket{le="0.002"} 98
x_bucket{le="0.004"} 100
x_bucket{le="+Inf"} 100
x_sum 1
x_count 100
`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := bucketed(all)
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[float64]time.Duration{.5: time.Millisecond, .51: 2 * time.Millisecond, .99: 4 * time.Millisecond} {
		if got := s.quantile("x", q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}
