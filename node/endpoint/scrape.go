package endpoint

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// errNoMetric is that the server does not show a metric.
var errNoMetric = errors.New("no such metric")

// Metrics are the values of the series that a server shows at /metrics, by their names
// with the labels, as they are written there: `spazio_nodes{state="fresh"}`.
type Metrics map[string]float64

// parseMetrics reads Prometheus's text format without timestamps. What is no number is
// left out.
func parseMetrics(text io.Reader) (Metrics, error) {
	all := Metrics{}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		line := lines.Text()
		end := strings.LastIndexByte(line, ' ') // values of labels may have blanks, too
		if end <= 0 || line[0] == '#' {
			continue
		}
		if value, err := strconv.ParseFloat(line[end+1:], 64); err == nil {
			all[line[:end]] = value
		}
	}
	return all, lines.Err()
}

// Scraper reads the metrics of a server. It is a plain value, safe for concurrent use.
type Scraper struct {
	// URL is the server's, without a path.
	URL string
	// Token, if set, is the bearer token that the server is shown.
	Token string
	// Client asks; nil means http.DefaultClient.
	Client *http.Client
}

// Scrape returns all metrics.
func (s Scraper) Scrape(ctx context.Context) (Metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	if s.Token != "" {
		request.Header.Set("Authorization", "Bearer "+s.Token)
	}
	response, err := cmp.Or(s.Client, http.DefaultClient).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	all, err := parseMetrics(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", request.URL, err)
	}
	return all, nil
}

// Value returns one of them; errNoMetric is wrapped where there is none.
func (s Scraper) Value(ctx context.Context, series string) (float64, error) {
	all, err := s.Scrape(ctx)
	if err != nil {
		return 0, err
	}
	value, ok := all[series]
	if !ok {
		return 0, fmt.Errorf("%s: %w", series, errNoMetric)
	}
	return value, nil
}
