package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/internal/aggregatord"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// The test binary is the aggregator when it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(serve.ExitFailure)
		}()
		serve.Main(aggregatord.Main)
	}
	os.Exit(m.Run())
}

func TestMeasure(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-nodes", "30", "-connections", "4", "-rate", "20", "-warm-up", "1s", "-duration", "2s"}, &stdout, &stderr)
	if code != 0 || stderr.Len() > 0 {
		t.Fatalf("exit code %d, stderr %q", code, &stderr)
	}
	for _, part := range []string{`30 nodes at 20/s, d=4, over 4 connections`, `pushes answered +[1-9]\d*/s, 0 failed`, `latency +p50 .*s, p90`, `from due +p50`, `handler +p50 < `, `aggregator +\d+\.\d\d cores, .* nodes`} {
		if !regexp.MustCompile(part).MatchString(stdout.String()) {
			t.Errorf("the report lacks %q:\n%s", part, &stdout)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-nodes", "0"}, {"-channels", "65"}, {"-rate", "NaN"}, {"-duration", "-1s"}, {"-nonsense"}, {"word"}} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != serve.ExitUsage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q, stdout %q", args, code, &stderr, &stdout)
		}
	}
}

func TestQuantileOfABucket(t *testing.T) {
	s, err := parse(strings.NewReader(`# HELP x seconds
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
	for q, want := range map[float64]time.Duration{.5: time.Millisecond, .51: 2 * time.Millisecond, .99: 4 * time.Millisecond} {
		if got := s.quantile("x", q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}
