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
	"github.com/spazio-scheduler/spazio/profile"
)

// errAnswer reports that the server's answer is not what the API promises.
var errAnswer = errors.New("not an answer to the query")

// queryError names the query that failed.
func queryError(query string, err error) error {
	return fmt.Errorf("prometheus: query %q: %w", query, err)
}

// Config of a History. The zero value of a field but Address is its default. It is a
// plain value, safe for concurrent reading.
type Config struct {
	// Address is the server's URL.
	Address string
	// CAFile holds the PEM authorities that the server's certificate must come from;
	// by default the system's. TokenFile holds a bearer token, read for each query.
	CAFile, TokenFile string
	// Back is how far is looked back, default 14 days.
	Back time.Duration

	// pods is how many pods are enough, default 32: the confidence does not grow with more.
	pods int
}

const (
	// chunk is the span of a query, step that between samples.
	chunk, step = time.Hour, time.Minute
	// atOnce bounds the queries under way.
	atOnce = 4
	// matchers select the pods of a query; $namespace and $pods stand for the namespace and
	// for a regular expression of the pods' names.
	matchers = `namespace="$namespace",pod=~"$pods",`
)

// The queries sum the containers of a pod. A cAdvisor may count each CPU apart.
var (
	cpuQuery    = containers("pod", "sum without (cpu) (rate(container_cpu_usage_seconds_total{%s}[5m]))", matchers)
	memoryQuery = containers("pod", "container_memory_working_set_bytes{%s}", matchers)
)

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
	c.pods = cmp.Or(c.pods, 32)
	return c
}

// Validate returns a *field.Error.
func (c Config) Validate() error {
	c = c.withDefaults()
	refuse := func(name string, value any, want string) error {
		return &field.Error{Package: "prometheus", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", profile.ErrInvalid, want)}
	}
	u, err := url.Parse(c.Address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return refuse("Address", c.Address, "an http or https URL")
	case c.TokenFile != "" && u.Scheme != "https":
		return refuse("TokenFile", c.TokenFile, "empty without TLS")
	case c.Back < chunk:
		return refuse("Back", c.Back, "at least 1h")
	}
	return nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 32 << 20

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
			return nil, &field.Error{Package: "prometheus", Field: "CAFile", Value: c.CAFile, Err: fmt.Errorf("%w: no PEM certificate in it", profile.ErrInvalid)}
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
