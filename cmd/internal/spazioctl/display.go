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
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// display are the flags of commands that show something once, or again and again.
type display struct {
	output
	// watch is the time between two, 0 to show it once.
	watch time.Duration
}

func (d *display) flags(f *pflag.FlagSet) {
	d.output.flags(f)
	f.DurationVarP(&d.watch, "watch", "w", 0, "show it again and again, on a terminal in its place, until Ctrl-C: every two seconds, or as --watch=10s says; 0 shows it once")
	f.Lookup("watch").NoOptDefVal = "2s"
}

var errPositive = errors.New("must be positive")

func (d *display) validate() error {
	if d.watch < 0 {
		return fmt.Errorf("--watch: %w", errPositive)
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
	tables []text.Table
}

// write prints the sight in lines of at most width columns; 0 is no bound.
func (v sight) write(out io.Writer, width int) error {
	if v.words != "" {
		if _, err := fmt.Fprintln(out, text.Fold(v.words, width)); err != nil {
			return err
		}
	}
	for _, table := range v.tables {
		if err := table.WriteText(out, width); err != nil {
			return err
		}
	}
	return nil
}

// shown is what a command asks for and how it shows it.
type shown[T any] struct {
	ask   func(context.Context) (T, error)
	sight func(T) sight
}

// run asks and shows, once or until ctx ends; what is watched on a terminal is drawn in its place.
// While it watches, an error is shown and the question repeated: the program may be restarting.
func (s shown[T]) run(ctx context.Context, d display, out, errs io.Writer) error {
	if d.watch == 0 {
		answer, err := s.ask(ctx)
		if err != nil {
			return err
		}
		return s.print(out, d, answer)
	}
	screen := text.NewScreen(out)
	defer screen.Release()
	inPlace := screen.Terminal() && d.format == "table"
	var last sight
	for {
		answer, err := s.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case inPlace:
			state := time.Now().Format(time.TimeOnly)
			if err != nil {
				state += "  no answer: " + command.OneLine(err)
			} else {
				last = s.sight(answer)
			}
			err := screen.Draw(func(width, _ int) []string { return append([]string{state}, last.lines(d, width)...) })
			if err != nil {
				return err
			}
		case err != nil:
			fmt.Fprintln(errs, command.OneLine(err))
		default:
			if err := s.print(out, d, answer); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d.watch):
		}
	}
}

// lines are the sight's on a terminal of that width.
func (v sight) lines(d display, width int) []string {
	if d.wide {
		width = 0
	}
	var b strings.Builder
	_ = v.write(&b, width) // a Builder takes everything
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func (s shown[T]) print(out io.Writer, d display, answer T) error {
	if d.format == "json" {
		return encode(out, answer, d.watch > 0)
	}
	if d.watch > 0 {
		fmt.Fprintln(out) // apart from the one before it
	}
	return s.sight(answer).write(out, d.width())
}

// encode writes JSON, one line for each with compact.
func encode(out io.Writer, what any, compact bool) error {
	encoder := json.NewEncoder(out)
	if !compact {
		encoder.SetIndent("", "  ")
	}
	return encoder.Encode(what)
}
