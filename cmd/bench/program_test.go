package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// fake is a benchmark with a given result.
type fake struct {
	pods  int
	rows  []bench.Row
	fails error
	dir   string // of its group, when it ran
}

func (f *fake) Flags(set *pflag.FlagSet) { set.IntVar(&f.pods, "pods", 1, "") }

func (f *fake) Validate(args []string) error {
	return bench.Positive(args, map[string]int{"pods": f.pods})
}

func (f *fake) Measure(_ context.Context, r *bench.Result, g *children.Group, _ io.Writer) error {
	f.dir = g.Dir()
	r.Add(f.rows...)
	return f.fails
}

func commandOf(f *fake) *cobra.Command {
	return bench.Command("tool", "", f.Flags, f.Validate, f.Measure)
}

func TestExitCodes(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		args   []string
		fails  error
		code   int
		stderr string
	}{
		{"success", t.Context(), nil, nil, command.ExitOK, ""},
		{"help", t.Context(), []string{"--help"}, errors.New("ran"), command.ExitOK, ""},
		{"failure", t.Context(), nil, errors.New("disk full"), command.ExitFailure, "tool: disk full\n"},
		{"unknown flag", t.Context(), []string{"--no-such"}, nil, command.ExitUsage, "tool: unknown flag: --no-such\n"},
		{"argument", t.Context(), []string{"word"}, nil, command.ExitUsage, "tool: unexpected argument \"word\"\n"},
		{"a flag's value", t.Context(), []string{"--pods=-1"}, nil, command.ExitUsage, "tool: --pods: -1 is not positive\n"},
		{"a form that is none", t.Context(), []string{"-o", "xml"}, nil, command.ExitUsage, "tool: --output: \"xml\" is neither table nor json\n"},
		{"of a subcommand", t.Context(), []string{"sub", "more"}, nil, command.ExitUsage, "tool: unknown command \"more\" for \"tool sub\"\n"},
		{"interrupted", interrupted, nil, fmt.Errorf("wait: %w", context.Canceled), command.ExitFailure, "tool: interrupted\n"},
		{"cancelled by itself", t.Context(), nil, context.Canceled, command.ExitFailure, "tool: context canceled\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := commandOf(&fake{fails: tt.fails})
			c.AddCommand(&cobra.Command{Use: "sub", Args: cobra.NoArgs, RunE: c.RunE})
			var stdout, stderr bytes.Buffer
			if code := command.Execute(tt.ctx, c, tt.args, &stdout, &stderr); code != tt.code || stderr.String() != tt.stderr {
				t.Errorf("exit code %d, stderr %q, want %d, %q", code, &stderr, tt.code, tt.stderr)
			}
		})
	}
}

// A result is shown and stored, even of an interrupted run, and a missed bar is a failure.
func TestResult(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kept.json")
	f := &fake{fails: errors.New("interrupted"), rows: []bench.Row{
		{What: "time", Value: 7, Unit: "s", Bar: bench.AtMost(60), Of: []float64{3, 7}},
		{What: "a ratio", Value: .5, Unit: "ratio", Bar: bench.AtLeast(.8), Interval: []float64{.41, .625}},
		{What: "bytes", Value: 123456, Unit: "B"},
	}}
	var stdout, stderr bytes.Buffer
	if code := command.Execute(t.Context(), commandOf(f), []string{"--out", file}, &stdout, &stderr); code != command.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	if want := "tool: interrupted; a ratio: 0.5 ratio misses 0.8\n"; stderr.String() != want {
		t.Errorf("stderr %q, want %q", &stderr, want)
	}
	var shown []string
	for line := range strings.Lines(stdout.String()) {
		shown = append(shown, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"WHAT VALUE UNIT BAR VERDICT", "time 7 s ≤ 60 ok", "a ratio 0.5 (0.41 to 0.625) ratio ≥ 0.8 MISSED", "bytes 123456 B"}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var kept bench.Result
	text, err := os.ReadFile(file)
	if err := errors.Join(err, json.Unmarshal(text, &kept)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.rows, kept.Rows); diff != "" || kept.Date == "" || kept.Go == "" || kept.Cores < 1 || kept.Command == "" {
		t.Errorf("%+v (-want +got):\n%s", kept, diff)
	}
	if _, err := os.Stat(f.dir); f.dir == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory %q: %v", f.dir, err)
	}
	stdout.Reset()
	stderr.Reset()
	f.fails = nil
	if code := command.Execute(t.Context(), commandOf(f), []string{"-o", "json"}, &stdout, &stderr); code != command.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	var printed bench.Result
	if err := json.Unmarshal(stdout.Bytes(), &printed); err != nil || !cmp.Equal(f.rows, printed.Rows) {
		t.Errorf("%v, error %v", printed, err)
	}
	stdout.Reset()
	f.rows, f.fails = nil, errors.New("nothing works")
	if code := command.Execute(t.Context(), commandOf(f), nil, &stdout, &stderr); code != command.ExitFailure || stdout.Len() > 0 {
		t.Errorf("exit code %d, stdout %q", code, &stdout)
	}
}

func TestQuantiles(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, .2: 1, .21: 2, .5: 3, .99: 5, 1: 5} {
		if got := bench.Quantile(values, q); got != want {
			t.Errorf("quantile %v = %v, want %v", q, got, want)
		}
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
	if got := bench.Median(nil); got == got {
		t.Error("of nothing there is a median")
	}
}

func TestTiming(t *testing.T) {
	for timing, want := range map[bench.Timing]string{
		{Duration: time.Second}:                            "",
		{WarmUp: -time.Second, Duration: time.Second}:      "--warm-up",
		{WarmUp: time.Second}:                              "--duration",
		{WarmUp: time.Second, Duration: -time.Millisecond}: "--duration",
	} {
		err := timing.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", timing, err)
		}
	}
}
