package web

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is wrapped by what New says of a Config.
var ErrInvalid = errors.New("invalid")

// Config is what a Server needs. The zero value of a field but Source is its default.
type Config struct {
	// Source knows what is shown. It is required.
	Source Source
	// Hosts are names and addresses, without ports, by which the page may be asked for besides
	// those of the loopback. What asks for another is refused: a stranger's page in the same
	// browser may have its own name lead here.
	Hosts []string
	// AnyHost takes whatever name is asked for. It is for servers that know their callers by
	// something that a stranger's page hasn't, such as a certificate or a token.
	AnyHost bool
	// Interval is how often State is asked and a frame made, 1 s.
	Interval time.Duration
	// Readers is how many may look at a time, 32.
	Readers int
	// WriteTimeout bounds the sending of a frame, 10 s: who takes longer is let go.
	WriteTimeout time.Duration
	// AskTimeout bounds what the Source may take for one answer, 10 s.
	AskTimeout time.Duration
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field   *time.Duration
		instead time.Duration
	}{{&c.Interval, time.Second}, {&c.WriteTimeout, 10 * time.Second}, {&c.AskTimeout, 10 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.instead
		}
	}
	if c.Readers == 0 {
		c.Readers = 32
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate returns a *field.Error for what can't be.
func (c Config) Validate() error {
	if c.Source == nil {
		return &field.Error{Package: "web", Field: "Source", Value: nil, Err: ErrInvalid}
	}
	for _, host := range c.Hosts {
		if nameOf(host) == "" || strings.ContainsAny(host, "/ ") {
			return &field.Error{Package: "web", Field: "Hosts", Value: host, Err: ErrInvalid}
		}
	}
	if c.Readers < 0 {
		return &field.Error{Package: "web", Field: "Readers", Value: c.Readers, Err: ErrInvalid}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Interval", c.Interval}, {"WriteTimeout", c.WriteTimeout}, {"AskTimeout", c.AskTimeout}} {
		if d.value < 0 {
			return &field.Error{Package: "web", Field: d.name, Value: d.value, Err: ErrInvalid}
		}
	}
	return nil
}
