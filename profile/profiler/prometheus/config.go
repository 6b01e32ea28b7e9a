package prometheus

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Errors that a field.Error or a HistoryError wraps.
var (
	// ErrInvalid: a configuration is out of range.
	ErrInvalid = errors.New("invalid configuration or input")
	// ErrAnswer: the server's answer is not what the API promises.
	ErrAnswer = errors.New("not an answer to the query")
)

// HistoryError names a query that failed. It is a plain value, safe for concurrent
// reading.
type HistoryError struct {
	Query string
	Err   error
}

// Error implements error.
func (e *HistoryError) Error() string { return fmt.Sprintf("prometheus: query %q: %v", e.Query, e.Err) }

// Unwrap returns Err.
func (e *HistoryError) Unwrap() error { return e.Err }

// Config of a History. The zero value of a field but Address is its default. It is a
// plain value, safe for concurrent reading.
type Config struct {
	// Address is the server's URL.
	Address string
	// CAFile holds the PEM authorities that the server's certificate must come from;
	// by default the system's. TokenFile holds a bearer token, read for each query.
	CAFile, TokenFile string
	// Back is how far is looked back, default 14 days; Chunk the span of a query,
	// default one hour; Step that between samples, default one minute.
	Back, Chunk, Step time.Duration
	// AtOnce bounds the queries under way, default 4.
	AtOnce int
	// Pods is how many pods are enough, default 32: the confidence does not grow with more.
	Pods int
	// Queries are those of CPU, in cores, and of memory, in bytes, by the label pod;
	// the text $namespace and $pods stands for the namespace and for a regular
	// expression of the pods' names. Empty ones are the defaults.
	Queries Queries
}

// Queries are PromQL.
type Queries struct{ CPU, Memory string }

// DefaultQueries sum the containers of a pod. A cAdvisor may count each CPU apart.
var DefaultQueries = Queries{
	CPU:    containers("pod", "sum without (cpu) (rate(container_cpu_usage_seconds_total{%s}[5m]))", `namespace="$namespace",pod=~"$pods",`),
	Memory: containers("pod", "container_memory_working_set_bytes{%s}", `namespace="$namespace",pod=~"$pods",`),
}

// containers sums what a query, in which matchers are to be filled, says of the containers
// of pods. Of one container there may be several series: of the cgroup before a restart, of
// the same pod's predecessor, of groups within its own, of two scrapers or two replicas of
// the server; the largest is taken. A pod whose containers have no names, as with
// cri-dockerd, has the series of its own group.
func containers(by, query, matchers string) string {
	return "sum by (" + by + ") (max by (" + by + ", container) (" + fmt.Sprintf(query, matchers+`container!="",container!="POD"`) + "))" +
		" or max by (" + by + ") (" + fmt.Sprintf(query, matchers+`container="",pod!=""`) + ")"
}

func (c Config) withDefaults() Config {
	c.Back = cmp.Or(c.Back, 14*24*time.Hour)
	c.Chunk = cmp.Or(c.Chunk, time.Hour)
	c.Step = cmp.Or(c.Step, time.Minute)
	c.AtOnce = cmp.Or(c.AtOnce, 4)
	c.Pods = cmp.Or(c.Pods, 32)
	c.Queries.CPU = cmp.Or(c.Queries.CPU, DefaultQueries.CPU)
	c.Queries.Memory = cmp.Or(c.Queries.Memory, DefaultQueries.Memory)
	return c
}

// Validate returns a *field.Error.
func (c Config) Validate() error {
	c = c.withDefaults()
	refuse := func(name string, value any, want string) error {
		return &field.Error{Package: "prometheus", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
	}
	u, err := url.Parse(c.Address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return refuse("Address", c.Address, "an http or https URL")
	case c.TokenFile != "" && u.Scheme != "https":
		return refuse("TokenFile", c.TokenFile, "empty without TLS")
	case c.Step < time.Second || c.Step > c.Chunk:
		return refuse("Step", c.Step, "at least 1s, at most Chunk")
	case c.Chunk > 24*time.Hour || c.Chunk/c.Step > maxPoints:
		return refuse("Chunk", c.Chunk, "at most 24h, and 11,000 steps")
	case c.Back < c.Chunk:
		return refuse("Back", c.Back, "at least Chunk")
	case c.AtOnce < 1:
		return refuse("AtOnce", c.AtOnce, "above 0")
	case c.Pods < 1:
		return refuse("Pods", c.Pods, "above 0")
	}
	return nil
}

const (
	// maxPoints is Prometheus' own bound of a series in an answer.
	maxPoints = 11_000
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 32 << 20
)

// tripper shows the token and bounds answers.
type tripper struct {
	next      http.RoundTripper
	tokenFile string
}

func newTripper(c Config) (http.RoundTripper, error) {
	next := http.DefaultTransport.(*http.Transport).Clone()
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, &field.Error{Package: "prometheus", Field: "CAFile", Value: c.CAFile, Err: err}
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, &field.Error{Package: "prometheus", Field: "CAFile", Value: c.CAFile, Err: fmt.Errorf("%w: no PEM certificate in it", ErrInvalid)}
		}
		next.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &tripper{next, c.TokenFile}, nil
}

// RoundTrip implements http.RoundTripper.
func (t *tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.tokenFile != "" {
		token, err := os.ReadFile(t.tokenFile)
		if err != nil {
			return nil, &field.Error{Package: "prometheus", Field: "TokenFile", Value: t.tokenFile, Err: err}
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	response, err := t.next.RoundTrip(r)
	if err == nil {
		response.Body = bounded{io.LimitReader(response.Body, maxAnswer), response.Body}
	}
	return response, err
}

type bounded struct {
	io.Reader
	io.Closer
}
