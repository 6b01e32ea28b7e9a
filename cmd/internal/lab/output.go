package lab

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// errFlag is a flag with a value out of range.
var errFlag = errors.New("out of range")

// output are the flags of what is printed.
type output struct {
	format string
}

func (o *output) bind(set *pflag.FlagSet) {
	set.StringVarP(&o.format, "output", "o", "table", fmt.Sprintf("table, json, csv, or wide: tables with all columns, wider than %d letters if need be", text.Terminal))
}

func (o *output) validate() error {
	if !slices.Contains([]string{"table", "wide", "json", "csv"}, o.format) {
		return fmt.Errorf("--output %s, want table, wide, json or csv: %w", o.format, errFlag)
	}
	return nil
}

// width is that of tables, 0 without bound.
func (o *output) width() int {
	if o.format == "wide" {
		return 0
	}
	return text.Terminal
}

// revision is the build whose output this is.
func revision() string { return build.Version() }

// made is rows with the build that made them, as JSON.
type made struct {
	Revision string `json:"revision"`
	Rows     any    `json:"rows"`
}

// withRevision is the table with the build that made it in a column at its end.
func withRevision(t text.Table) text.Table {
	of := text.Table{Title: t.Title, Header: append(slices.Clip(t.Header), "revision")}
	for _, row := range t.Rows {
		of.Add(append(slices.Clip(row), revision())...)
	}
	return of
}

// writeRevision ends what is for a person to read with the build that made it.
func writeRevision(out io.Writer) error {
	_, err := fmt.Fprintf(out, "\nspazio-lab %s\n", revision())
	return err
}

// write prints rows for a machine, as JSON or CSV, or the tables for a person; each
// with the build that made them.
func (o *output) write(out io.Writer, rows any, asCSV text.Table, tables ...text.Table) error {
	switch o.format {
	case "json":
		return text.JSON(out, made{revision(), rows})
	case "csv":
		return withRevision(asCSV).WriteCSV(out)
	}
	for i, t := range tables {
		if i > 0 {
			if _, err := io.WriteString(out, "\n"); err != nil {
				return err
			}
		}
		if err := t.WriteText(out, o.width()); err != nil {
			return err
		}
	}
	return writeRevision(out)
}
