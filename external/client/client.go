package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is what every field.Error of this package wraps.
var ErrInvalid = errors.New("invalid configuration or argument")

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "client", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// Config is the address of the interface and the caller's token.
type Config struct {
	// URL is http[s]://HOST:PORT, without a path.
	URL string
	// Replicas are the URLs of other servers of the same objects: Watch goes on at the next
	// when it loses one.
	Replicas []string
	// Token returns the token to send. Nil sends none.
	Token TokenSource
	// HTTP makes the connections: its Transport has the TLS. Nil is http.DefaultClient.
	HTTP *http.Client
	// Attempts is how often a request that is safe to repeat is made at most, the first time
	// included, while it fails for a moment; 0 is 5. Between two attempts it waits as long as the
	// server asks for (Retry-After), 10 s at most.
	Attempts int

	// pause is the time before the second attempt, unless the server names another
	// (Retry-After), and doubles with each further one; 0 is 200 ms. maxPause bounds it,
	// the server's too; 0 is 10 s.
	pause, maxPause time.Duration
}

// Client makes requests. It is safe for concurrent use.
type Client struct {
	bases  []*url.URL // of URL and of Replicas
	config Config
}

// New makes a client; it connects to nothing yet. The error is a *field.Error.
func New(config Config) (*Client, error) {
	var bases []*url.URL
	for i, text := range append([]string{config.URL}, config.Replicas...) {
		field := "URL"
		if i > 0 {
			field = "Replicas"
		}
		base, err := parseURL(field, text)
		if err != nil {
			return nil, err
		}
		bases = append(bases, base)
	}
	config.HTTP = cmp.Or(config.HTTP, http.DefaultClient)
	if config.Attempts < 0 {
		return nil, refuse("Attempts", config.Attempts, "positive")
	}
	config.Attempts = cmp.Or(config.Attempts, 5)
	config.pause, config.maxPause = cmp.Or(config.pause, 200*time.Millisecond), cmp.Or(config.maxPause, 10*time.Second)
	return &Client{bases: bases, config: config}, nil
}

func parseURL(field, text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.User != nil {
		return nil, refuse(field, text, "http[s]://HOST:PORT")
	}
	base.Path, base.Fragment = "", ""
	return base, nil
}

// TokenSource returns the token to show. It is asked for each request, and must be safe for
// concurrent use.
type TokenSource func(ctx context.Context) (string, error)

// StaticToken is always the same token.
func StaticToken(token string) TokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// TokenFile reads the token from a file each time, as a kubelet replaces it before it ends.
func TokenFile(path string) TokenSource {
	return func(context.Context) (string, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("client: token: %w", err)
		}
		return strings.TrimSpace(string(data)), nil
	}
}
