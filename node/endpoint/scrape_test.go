package endpoint_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/node/endpoint"
)

func TestParseMetrics(t *testing.T) {
	got, err := endpoint.ParseMetrics(strings.NewReader(`# HELP a counts 7
# TYPE a counter
a 12
b{state="fresh"} 1.5e+02
b{state="long gone"} -3

c_bucket{le="+Inf"} +Inf
torn
d word
`))
	want := endpoint.Metrics{"a": 12, `b{state="fresh"}`: 150, `b{state="long gone"}`: -3, `c_bucket{le="+Inf"}`: math.Inf(1)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := endpoint.ParseMetrics(iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncated response: got error %v", err)
	}
}

// TestScraper reads metrics of a server of this package, and of one that requires a token.
func TestScraper(t *testing.T) {
	registry := prometheus.NewRegistry()
	nodes := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "nodes"}, []string{"state"})
	registry.MustRegister(nodes)
	nodes.WithLabelValues("fresh").Set(3)
	shown, err := endpoint.NewDebug(t.Context(), endpoint.Config{Addr: "127.0.0.1:0", Gatherer: registry})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- shown.Run(t.Context()) }()
	t.Cleanup(func() { <-ended })
	s := endpoint.Scraper{URL: "http://" + shown.Addr().String()}
	if got, err := s.Value(t.Context(), `nodes{state="fresh"}`); err != nil || got != 3 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := s.Value(t.Context(), `nodes{state="stale"}`); !errors.Is(err, endpoint.ErrNoMetric) {
		t.Errorf("missing metric: got error %v", err)
	}
	asks := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/metrics" {
			http.Error(w, "token required", http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "x 1\n")
	}))
	defer asks.Close()
	s = endpoint.Scraper{URL: asks.URL, Token: "secret", Client: asks.Client()}
	if got, err := s.Scrape(t.Context()); err != nil || !cmp.Equal(got, endpoint.Metrics{"x": 1}) {
		t.Errorf("%v, %v", got, err)
	}
	s.Token = ""
	if _, err := s.Value(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a token: got error %v", err)
	}
	s.Client = nil // the default client does not trust the server's certificate
	if _, err := s.Scrape(t.Context()); err == nil {
		t.Error("an untrusted certificate was accepted")
	}
}

// FuzzParseMetrics: each parsed series is a line of the text, and parsing the result again gives the
// same.
func FuzzParseMetrics(f *testing.F) {
	f.Add("a 1\n# a 2\nb{c=\"d e\"} 3.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := endpoint.ParseMetrics(strings.NewReader(text))
		if err != nil {
			return // the line is too long
		}
		for series := range got {
			if !strings.Contains(text, series+" ") || strings.HasPrefix(series, "#") {
				t.Errorf("%q is not in %q", series, text)
			}
		}
	})
}
