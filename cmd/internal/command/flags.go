package command

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// Log configures the log of a command, which is JSON. The zero value is level info.
type Log struct{ level string }

// LogFlags binds l to --log-level.
func LogFlags(flags *pflag.FlagSet, l *Log) {
	flags.StringVar(&l.level, "log-level", "info", "debug, info, warn or error")
}

// Logger returns a logger that writes to w. An unknown level is a usage error.
func (l Log) Logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cmp.Or(l.level, "info"))); err != nil {
		return nil, Usage(fmt.Errorf("--log-level: %w", err))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: readable})), nil
}

// readable has durations, addresses, reasons and whatever else can be written for people logged in that
// form. JSON would have their numbers or fields. An error is a Stringer too, now and then, and stays one.
func readable(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case json.Marshaler, encoding.TextMarshaler, error:
	case fmt.Stringer:
		a.Value = slog.StringValue(fmt.Sprint(v)) // Sprint survives the String of a nil pointer
	}
	return a
}
