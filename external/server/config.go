package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is what every field.Error of this package wraps.
var ErrInvalid = errors.New("invalid configuration")

// Config is what a Server is made of.
type Config struct {
	// Store, Authenticator and Authorizer are required.
	Store         Store
	Authenticator Authenticator
	Authorizer    Authorizer
	// Hosts are the names, without a port, by which the server may be addressed, beside
	// localhost and any IP address; without Hosts every name will do.
	Hosts []string
	// Origins are those of the server's pages, SCHEME://HOST[:PORT], where it is known by
	// another name than requests arrive with, as behind a proxy. Pages from elsewhere get
	// nothing even so: no answer lets a browser show it to them.
	Origins []string
	// SeedPaths serves the paths of L. Schwerdtfeger's thesis (see package testbed), too, for
	// programs that were written for its author's: they know no namespaces and get
	// DefaultNamespace ("default").
	SeedPaths        bool
	DefaultNamespace string
	// UI makes what answers at /ui/, without authentication: its pages ask for a token and
	// exchange it for a session. It is given the server, for requests of its own with the
	// cookie of a page's. Nil is no UI.
	UI     func(api http.Handler) http.Handler
	Limits Limits
	Watch  WatchConfig
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// Registerer gets the metrics, if it is not nil.
	Registerer prometheus.Registerer
}

// Limits bound what callers may use. Zero fields have the defaults.
type Limits struct {
	// Body is the longest body of a request in bytes (1 MiB), External that of what
	// outside programs keep in a job (64 KiB).
	Body     int64
	External int
	// Page is the greatest and the default number of objects of a page (500).
	Page int
	// Rate is how many requests a second a caller may make (100), Burst how many at once
	// (200).
	Rate  float64
	Burst int
	// Timeout is how long an answer may take (30 s); sending a request, and reading the
	// answer, may take twice as long.
	Timeout time.Duration
	// Connections is how many watches may be open at a time (1,000), CallerConnections how
	// many of them one caller's (250), Subscriptions how many a watch may have (32), and
	// Message the longest message that a client may send on one, in bytes (16 KiB).
	Connections       int
	CallerConnections int
	Subscriptions     int
	Message           int64
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Body, 1<<20)
	setDefault(&l.External, 64<<10)
	setDefault(&l.Page, 500)
	setDefault(&l.Rate, 100)
	setDefault(&l.Burst, 200)
	setDefault(&l.Timeout, 30*time.Second)
	setDefault(&l.Connections, 1000)
	setDefault(&l.CallerConnections, 250)
	setDefault(&l.Subscriptions, 32)
	setDefault(&l.Message, 16<<10)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) withDefaults() Config {
	setDefault(&c.DefaultNamespace, "default")
	c.Limits = c.Limits.withDefaults()
	hosts := make([]string, len(c.Hosts))
	for i, host := range c.Hosts {
		hosts[i] = strings.ToLower(host)
	}
	c.Hosts = hosts
	c.Watch = c.Watch.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c *Config) validate() error {
	switch {
	case c.Store == nil:
		return required("Store")
	case c.Authenticator == nil:
		return required("Authenticator")
	case c.Authorizer == nil:
		return required("Authorizer")
	case !wire.ValidNamespace(c.DefaultNamespace):
		return refuse("DefaultNamespace", c.DefaultNamespace, "a namespace's name")
	}
	for _, host := range c.Hosts {
		if host == "" || strings.ContainsAny(host, ":/ ") {
			return refuse("Hosts", host, "a host's name, without a port")
		}
	}
	if err := c.Watch.validate(); err != nil {
		return err
	}
	return c.Limits.validate()
}

func (l *Limits) validate() error {
	for _, f := range []struct {
		field string
		value float64
	}{
		{"Body", float64(l.Body)}, {"External", float64(l.External)}, {"Page", float64(l.Page)},
		{"Rate", l.Rate}, {"Burst", float64(l.Burst)}, {"Timeout", float64(l.Timeout)},
		{"Connections", float64(l.Connections)}, {"CallerConnections", float64(l.CallerConnections)},
		{"Subscriptions", float64(l.Subscriptions)}, {"Message", float64(l.Message)},
	} {
		if !(f.value > 0) {
			return refuse("Limits."+f.field, f.value, "positive")
		}
	}
	return nil
}

func required(name string) error { return refuse(name, nil, "given") }

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "server", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}
