package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/report/table"
)

// ErrFlag is a flag with a value out of range; match it with errors.Is.
var ErrFlag = errors.New("out of range")

// output are the flags of what is printed.
type output struct {
	format string
	wide   bool
}

func (o *output) bind(set *pflag.FlagSet) {
	set.StringVarP(&o.format, "output", "o", "table", "table, json or csv")
	set.BoolVar(&o.wide, "wide", false, fmt.Sprintf("tables with all columns, wider than %d letters if need be", table.Terminal))
}

func (o *output) validate() error {
	if o.format != "table" && o.format != "json" && o.format != "csv" {
		return fmt.Errorf("--output %s, want table, json or csv: %w", o.format, ErrFlag)
	}
	return nil
}

// width is that of tables, 0 without bound.
func (o *output) width() int {
	if o.wide {
		return 0
	}
	return table.Terminal
}

// write prints rows for a machine, as JSON or CSV, or the tables for a person.
func (o *output) write(out io.Writer, rows any, asCSV table.Table, tables ...table.Table) error {
	switch o.format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", " ")
		return encoder.Encode(rows)
	case "csv":
		return asCSV.WriteCSV(out)
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
	return nil
}
