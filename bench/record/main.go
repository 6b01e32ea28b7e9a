package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/sim/report/figures/measured"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/burn"
)

func main() { program.Main(command()) }

func command() *cobra.Command {
	root := &cobra.Command{Use: "record", Short: "Record what a machine shows under a known load"}
	root.AddCommand(workCommand(), sweepCommand(), podsCommand(), mixesCommand())
	return root
}

// workCommand is what a worker runs.
func workCommand() *cobra.Command {
	var memory int64
	var limit time.Duration
	c := &cobra.Command{
		Use: "work LOAD", Hidden: true, Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: slices.Sorted(maps.Keys(loads)),
		RunE: func(c *cobra.Command, args []string) error {
			load := loads[args[0]]
			runtime.GOMAXPROCS(1)
			ctx := c.Context()
			if limit > 0 { // in a container nobody holds standard input
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			} else {
				ctx = burn.WithParent(ctx, c.InOrStdin())
			}
			err := load(ctx, memory)
			if ctx.Err() != nil { // as it was told
				return nil
			}
			return err
		},
	}
	c.Flags().Int64Var(&memory, "memory", 0, "bytes to hold")
	c.Flags().DurationVar(&limit, "limit", 0, "end by then; 0 ends with standard input")
	return c
}

func sweepCommand() *cobra.Command {
	var out string
	var most int
	c := &cobra.Command{
		Use: "sweep", Short: "Record loads of 1 to 12 workers",
		Args: program.Valid(func() error {
			if most < 1 || most > 100 {
				return fmt.Errorf("--workers: %d is not in 1 to 100", most)
			}
			return nil
		}),
		RunE: func(c *cobra.Command, _ []string) error {
			return record(out, "", func(r *recorder) error { return r.sweep(c.Context(), most) }, c.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&out, "out", "sweep.json.gz", "file to write")
	c.Flags().IntVar(&most, "workers", 12, "the most workers at once")
	return c
}

// record measures by measure and writes the file.
func record(out, runtimeName string, measure func(*recorder) error, progress io.Writer) error {
	r, err := newRecorder(progress)
	if err != nil {
		return err
	}
	defer r.close()
	r.recording.Machine.Runtime = runtimeName
	if err := measure(r); err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := measured.Write(file, r.recording); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
