package endpoint

import (
	"net/http"
	"net/url"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spazio-scheduler/spazio/api/transport"
)

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
