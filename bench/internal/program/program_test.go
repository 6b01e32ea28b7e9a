package program_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

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
		{"success", t.Context(), nil, nil, program.OK, ""},
		{"help", t.Context(), []string{"--help"}, errors.New("ran"), program.OK, ""},
		{"failure", t.Context(), nil, errors.New("disk full"), program.Failure, "tool: disk full\n"},
		{"unknown flag", t.Context(), []string{"--no-such"}, nil, program.Usage, "tool: unknown flag: --no-such\n"},
		{"argument", t.Context(), []string{"word"}, nil, program.Usage, "tool: unknown command \"word\" for \"tool\"\n"},
		{"a flag's value", t.Context(), []string{"--pods=-1"}, nil, program.Usage, "tool: --pods: -1 is negative\n"},
		{"of a subcommand", t.Context(), []string{"sub", "more"}, nil, program.Usage, "tool: unknown command \"more\" for \"tool sub\"\n"},
		{"interrupted", interrupted, nil, fmt.Errorf("wait: %w", context.Canceled), program.Failure, "tool: interrupted\n"},
		{"cancelled by itself", t.Context(), nil, context.Canceled, program.Failure, "tool: context canceled\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var pods int
			c := &cobra.Command{
				Use:  "tool",
				RunE: func(*cobra.Command, []string) error { return tt.fails },
				Args: program.Valid(func() error {
					if pods < 0 {
						return fmt.Errorf("--pods: %d is negative", pods)
					}
					return nil
				}),
			}
			c.Flags().IntVar(&pods, "pods", 0, "")
			c.AddCommand(&cobra.Command{Use: "sub", Args: cobra.NoArgs, RunE: c.RunE})
			var stdout, stderr bytes.Buffer
			if code := program.Run(tt.ctx, c, tt.args, &stdout, &stderr); code != tt.code || stderr.String() != tt.stderr {
				t.Errorf("exit code %d, stderr %q, want %d, %q", code, &stderr, tt.code, tt.stderr)
			}
		})
	}
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	var said bytes.Buffer
	if _, err := program.Build(t.Context(), "spazio-nothing", t.TempDir(), &said); err == nil || !bytes.Contains(said.Bytes(), []byte("spazio-nothing")) {
		t.Errorf("error %v after %q", err, &said)
	}
}

// Whoever tests bench alone gets programs of the workspace all the same.
func TestBuildLeavesTheModule(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	path, err := program.Build(t.Context(), "spazio-aggregator", dir, io.Discard)
	if err != nil || path != filepath.Join(dir, "spazio-aggregator") {
		t.Errorf("%q, error %v", path, err)
	}
}

func TestSleep(t *testing.T) {
	if err := program.Sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := program.Sleep(ended, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
