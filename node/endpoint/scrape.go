package endpoint

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spazio-scheduler/spazio/api/transport"
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

// TargetsPath has the list of the Targets, as Prometheus reads it by http_sd_configs.
const TargetsPath = "/targets"

// Targets are the metrics of several programs that run in one process, each at a path of
// its own: their series have the same names. The zero value has none. It is safe for
// concurrent use.
type Targets struct {
	mu  sync.Mutex
	all []target
}

// target is one program: its series get the labels job and instance.
type target struct {
	job, instance string
	metrics       http.Handler
}

func (t target) path() string {
	return "/metrics/" + url.PathEscape(t.job) + "/" + url.PathEscape(t.instance)
}

// Add adds a program's metrics, whose series Prometheus is to give these labels.
func (t *Targets) Add(job, instance string, g prometheus.Gatherer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, target{job, instance, promhttp.HandlerFor(g, promhttp.HandlerOpts{DisableCompression: true})})
}

// Handlers are what a Config serves of them, also of those that are added later.
func (t *Targets) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"GET " + TargetsPath:               http.HandlerFunc(t.list),
		"GET /metrics/{job}/{instance...}": http.HandlerFunc(t.show),
	}
}

func (t *Targets) list(w http.ResponseWriter, r *http.Request) {
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := []group{}
	for _, one := range t.known() {
		groups = append(groups, group{[]string{r.Host}, map[string]string{
			"job": one.job, "instance": one.instance, "__metrics_path__": one.path(),
		}})
	}
	_ = transport.AnswerJSON(w, groups) // strings alone
}

func (t *Targets) show(w http.ResponseWriter, r *http.Request) {
	for _, one := range t.known() {
		if one.job == r.PathValue("job") && one.instance == r.PathValue("instance") {
			one.metrics.ServeHTTP(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

func (t *Targets) known() []target {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[:len(t.all):len(t.all)]
}
