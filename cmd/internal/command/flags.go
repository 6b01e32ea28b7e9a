package command

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// Log configures the log of a command. The zero value is level info as text.
type Log struct {
	// level is debug, info, warn or error; format is text or json.
	level, format string
}

// LogFlags binds the fields of l to --log-level and --log-format.
func LogFlags(flags *pflag.FlagSet, l *Log) {
	flags.StringVar(&l.level, "log-level", orDefault(l.level, "info"), "debug, info, warn or error")
	flags.StringVar(&l.format, "log-format", orDefault(l.format, "text"), "text or json")
}

// Logger returns a logger that writes to w. An unknown level or format is a
// usage error.
func (l Log) Logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(orDefault(l.level, "info"))); err != nil {
		return nil, Usage(fmt.Errorf("--log-level: %w", err))
	}
	options := &slog.HandlerOptions{Level: level}
	switch orDefault(l.format, "text") {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, Usage(fmt.Errorf("--log-format: %q is neither text nor json", l.format))
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
