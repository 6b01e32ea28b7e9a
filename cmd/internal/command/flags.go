package command

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net"

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

// readable has addresses logged as host:port, and not by their fields.
func readable(_ []string, a slog.Attr) slog.Attr {
	if address, ok := a.Value.Any().(net.Addr); ok {
		a.Value = slog.StringValue(address.String())
	}
	return a
}
