package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
)

// errInvalid is what every field.Error of this package wraps.
var errInvalid = errors.New("invalid configuration")

// Config is what a Server is made of.
type Config struct {
	// Store, Authenticator and Authorizer are required.
	Store         Store
	Authenticator Authenticator
	Authorizer    Authorizer
	// Hosts are the names, without a port, by which the server may be addressed, beside
	// localhost and any IP address; without Hosts every name will do.
	Hosts []string
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
	// Rate is how many requests a second a caller may make (100), Burst how many at once
	// (200).
	Rate  float64
	Burst int
	// Timeout is how long an answer may take (30 s); sending a request, and reading the
	// answer, may take twice as long.
	Timeout time.Duration
	// Connections is how many watches may be open at a time (1,000).
	Connections int

	// callerConnections is how many of them may be one caller's, and subscriptions how many a
	// watch may have.
	callerConnections, subscriptions int
}

const (
	// mostBody is the longest body of a request in bytes, mostExternal that of what outside
	// programs keep in a job, and mostMessage the longest message of a client that watches.
	mostBody     = 1 << 20
	mostExternal = 64 << 10
	mostMessage  = 16 << 10
	// mostPage is the greatest and the default number of objects of a page.
	mostPage = 500
)

// WatchConfig has the intervals of watches. Zero fields have the defaults.
type WatchConfig struct {
	// Bookmark is how often a subscription is sent its cursor (10 s).
	Bookmark time.Duration
	// Ping is how often a client is pinged (10 s), Slow how long it may take to answer, or to
	// read what it is sent (30 s).
	Ping, Slow time.Duration
	// Recheck is how often the token and the rights are checked again (60 s); a client whose
	// rights cannot be checked five times in a row is disconnected.
	Recheck time.Duration
}

// complete returns the configuration with the defaults of fields that are zero. Its error is a
// *field.Error for a field that cannot be.
func (c Config) complete() (Config, error) {
	switch {
	case c.Store == nil:
		return c, refuse("Store", nil, "given")
	case c.Authenticator == nil:
		return c, refuse("Authenticator", nil, "given")
	case c.Authorizer == nil:
		return c, refuse("Authorizer", nil, "given")
	}
	if c.DefaultNamespace = cmp.Or(c.DefaultNamespace, "default"); !wire.ValidNamespace(c.DefaultNamespace) {
		return c, refuse("DefaultNamespace", c.DefaultNamespace, "a namespace's name")
	}
	c.Hosts = slices.Clone(c.Hosts)
	for i, host := range c.Hosts {
		if host == "" || strings.ContainsAny(host, ":/ ") {
			return c, refuse("Hosts", host, "a host's name, without a port")
		}
		c.Hosts[i] = strings.ToLower(host)
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	l, w := &c.Limits, &c.Watch
	l.callerConnections, l.subscriptions = cmp.Or(l.callerConnections, 250), cmp.Or(l.subscriptions, 32)
	err := cmp.Or(
		positive("Limits.Rate", &l.Rate, 100), positive("Limits.Burst", &l.Burst, 200), positive("Limits.Timeout", &l.Timeout, 30*time.Second),
		positive("Limits.Connections", &l.Connections, 1000),
		positive("Watch.Bookmark", &w.Bookmark, 10*time.Second), positive("Watch.Ping", &w.Ping, 10*time.Second),
		positive("Watch.Slow", &w.Slow, 30*time.Second), positive("Watch.Recheck", &w.Recheck, time.Minute),
	)
	return c, err
}

// positive gives a field that is zero its default, and refuses one that is not positive.
func positive[T int | float64 | time.Duration](name string, value *T, standard T) error {
	*value = cmp.Or(*value, standard)
	if !(*value > 0) { //nolint:staticcheck // what is not a number is refused, too
		return refuse(name, *value, "positive")
	}
	return nil
}

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "server", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", errInvalid, want)}
}
