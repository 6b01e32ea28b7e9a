package spazioctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/sim/report/live"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// display are the flags of commands that show something once, or again and again.
type display struct {
	output
	watch    bool
	interval time.Duration
}

func (d *display) flags(f *pflag.FlagSet) {
	d.output.flags(f)
	f.BoolVarP(&d.watch, "watch", "w", false, "show it again and again: on a terminal as a view that keeps its place, until q")
	f.DurationVar(&d.interval, "interval", 2*time.Second, "time between two with --watch")
}

var errPositive = errors.New("must be positive")

func (d *display) validate() error {
	if d.interval <= 0 {
		return fmt.Errorf("--interval: %w", errPositive)
	}
	return d.output.validate()
}

// output are the flags that say how an answer is shown.
type output struct {
	format string
	wide   bool
}

func (o *output) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.format, "output", "o", "table", "table or json")
	o.wideFlag(f)
}

func (o *output) wideFlag(f *pflag.FlagSet) {
	f.BoolVar(&o.wide, "wide", false, "lines of a table as long as they are, instead of at most 120 columns")
}

func (o output) validate() error {
	if o.format != "table" && o.format != "json" {
		return fmt.Errorf("--output: %q is neither table nor json", o.format)
	}
	return nil
}

// width is that of tables; 0 is no bound.
func (o output) width() int {
	if o.wide {
		return 0
	}
	return text.Terminal
}

// lines writes words, each of their lines broken where tables end.
func (o output) lines(out io.Writer, words string) error {
	_, err := fmt.Fprintln(out, text.Fold(words, o.width()))
	return err
}

// sight is something that is shown: words and tables below them.
type sight struct {
	words  string
	sheets []live.Sheet
}

// shown is what a command asks for and how it shows it.
type shown[T any] struct {
	ask   func(context.Context) (T, error)
	sight func(T) sight
	// detail describes a row of a sheet; nil means that there are no details.
	detail func(ctx context.Context, sheet int, row string) (string, error)
}

// run asks and shows, once or until ctx ends; on a terminal that is watched, as a view.
// While it watches, an error is printed and the question repeated: the program may be restarting.
func (s shown[T]) run(ctx context.Context, d display, in io.Reader, out, errs io.Writer) error {
	if terminal, ok := live.Open(in, out); ok && d.watch && d.format == "table" {
		return terminal.Run(ctx, live.Config{Period: d.interval, Ask: s.frame, Detail: s.detail})
	}
	for {
		answer, err := s.ask(ctx)
		switch {
		case d.watch && ctx.Err() != nil:
			return nil
		case err != nil && !d.watch:
			return err
		case err != nil:
			fmt.Fprintln(errs, command.OneLine(err))
		default:
			if err := s.show(out, d, answer); err != nil || !d.watch {
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

func (s shown[T]) frame(ctx context.Context) (live.Frame, error) {
	answer, err := s.ask(ctx)
	if err != nil {
		return live.Frame{}, err
	}
	v := s.sight(answer)
	frame := live.Frame{Sheets: v.sheets}
	if v.words != "" {
		frame.Head = strings.Split(v.words, "\n")
	}
	return frame, nil
}

func (s shown[T]) show(out io.Writer, d display, answer T) error {
	if d.format == "json" {
		return encode(out, answer, d.watch)
	}
	if d.watch {
		fmt.Fprintln(out) // apart from the one before it
	}
	v := s.sight(answer)
	if v.words != "" {
		if err := d.lines(out, v.words); err != nil {
			return err
		}
	}
	for _, sheet := range v.sheets {
		if err := sheet.WriteText(out, d.width()); err != nil {
			return err
		}
	}
	return nil
}

// encode writes JSON, one line for each with compact.
func encode(out io.Writer, what any, compact bool) error {
	encoder := json.NewEncoder(out)
	if !compact {
		encoder.SetIndent("", "  ")
	}
	return encoder.Encode(what)
}
