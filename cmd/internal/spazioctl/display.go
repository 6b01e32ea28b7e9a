package spazioctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// display are the flags of commands that show something once, or again and again.
type display struct {
	output   string
	watch    bool
	interval time.Duration
}

func (d *display) flags(f *pflag.FlagSet) {
	outputFlag(f, &d.output)
	f.BoolVarP(&d.watch, "watch", "w", false, "show it again and again until interrupted")
	f.DurationVar(&d.interval, "interval", 2*time.Second, "time between two with --watch")
}

var errPositive = errors.New("must be positive")

func (d *display) validate() error {
	if d.interval <= 0 {
		return fmt.Errorf("--interval: %w", errPositive)
	}
	return checkOutput(d.output)
}

func outputFlag(f *pflag.FlagSet, output *string) {
	f.StringVarP(output, "output", "o", "table", "table or json")
}

func checkOutput(output string) error {
	if output != "table" && output != "json" {
		return fmt.Errorf("--output: %q is neither table nor json", output)
	}
	return nil
}

// repeat asks and shows, once or until ctx ends. While it watches, an answer that
// fails is told and asked for again: who is asked may be restarting.
func repeat[T any](ctx context.Context, d display, out, errs io.Writer, ask func() (T, error), table func(io.Writer, T) error) error {
	for {
		answer, err := ask()
		switch {
		case err != nil && (!d.watch || ctx.Err() != nil):
			return err
		case err != nil:
			fmt.Fprintln(errs, err)
		default:
			if err := show(out, d, answer, table); err != nil || !d.watch {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d.interval):
		}
	}
}

func show[T any](out io.Writer, d display, answer T, table func(io.Writer, T) error) error {
	if d.output == "json" {
		return encode(out, answer, d.watch)
	}
	if d.watch {
		before(out)
	}
	return table(out, answer)
}

// before separates a table from the one before it: a terminal is cleared.
func before(out io.Writer) {
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(out, "\x1b[H\x1b[2J")
		return
	}
	fmt.Fprintln(out)
}

// encode writes JSON, one line for each with compact.
func encode(out io.Writer, what any, compact bool) error {
	encoder := json.NewEncoder(out)
	if !compact {
		encoder.SetIndent("", "  ")
	}
	return encoder.Encode(what)
}
