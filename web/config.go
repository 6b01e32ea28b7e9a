package web

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// errInvalid is wrapped by New's error for a Config.
var errInvalid = errors.New("invalid")

// Config is what a Server needs. The zero value of each field except Source is its default.
type Config struct {
	// Source knows what is shown. It is required.
	Source Source
	// Hosts are names and addresses, without ports, by which the page may be requested besides
	// those of the loopback. Requests for another host are refused, because a foreign page in the
	// same browser may have its own name resolve to this server.
	Hosts []string
	// AnyHost accepts every host name. It is for servers that authenticate their callers by
	// something that a foreign page doesn't have, such as a certificate or a token.
	AnyHost bool
	// Interval is how often State is asked and a frame made, 1 s.
	Interval time.Duration
	// WriteTimeout bounds the sending of a frame, 10 s; a slower reader is disconnected.
	WriteTimeout time.Duration
	// Logger is slog.Default() if nil.
	Logger *slog.Logger

	// readers is how many may look at a time, and askTimeout bounds what the Source may take for
	// one answer.
	readers    int
	askTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.askTimeout = cmp.Or(c.askTimeout, 10*time.Second)
	c.readers = cmp.Or(c.readers, 32)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// validate returns a *field.Error for the first field out of its range.
func (c Config) validate() error {
	refuse := func(name string, value any) error {
		return &field.Error{Package: "web", Field: name, Value: value, Err: errInvalid}
	}
	if c.Source == nil {
		return refuse("Source", nil)
	}
	for _, host := range c.Hosts {
		if nameOf(host) == "" || strings.ContainsAny(host, "/ ") {
			return refuse("Hosts", host)
		}
	}
	switch {
	case c.Interval < 0:
		return refuse("Interval", c.Interval)
	case c.WriteTimeout < 0:
		return refuse("WriteTimeout", c.WriteTimeout)
	}
	return nil
}
