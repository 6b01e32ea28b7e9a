package observe

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// meant are alerts with a reason to be active for some instances: the demo of test beds runs no agents,
// so its scheduler gets no reports, and the one beside the demo gets none of one of four nodes.
var meant = map[string][]string{"SignalsStale": {"demo-1/", "beside"}}

// target is the metrics endpoint of a program, with the labels that its series get.
type target struct{ job, instance, url string }

// listed returns the targets of a list for Prometheus' http_sd_configs; the prefix distinguishes
// instances of different lists.
func listed(t *testing.T, list, prefix string) (all []target) {
	t.Helper()
	response, err := http.Get(list)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var groups []struct {
		Targets []string
		Labels  map[string]string
	}
	if err := json.NewDecoder(response.Body).Decode(&groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		all = append(all, target{g.Labels["job"], prefix + "/" + g.Labels["instance"], "http://" + g.Targets[0] + g.Labels["__metrics_path__"]})
	}
	return all
}

// recorder scrapes targets as Prometheus does, and compares their metrics with the known ones.
type recorder struct {
	*samples
	known map[string]metric
	wrong map[string]bool
}

// scrape scrapes one target.
func (r *recorder) scrape(t *testing.T, from target, at time.Time) {
	t.Helper()
	response, err := http.Get(from.url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", from.url, response.Status, err)
	}
	textParser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := textParser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%s: %v", from.url, err)
	}
	var ours []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		if strings.HasPrefix(name, "spazio_") {
			ours = append(ours, f)
		}
		if m, ok := r.known[name]; ok {
			r.judge(t, from, f, m)
			r.record(from, f, at)
		} else if strings.HasPrefix(name, "spazio_") {
			r.complain(t, "%s shows %s, which cmd/deploy/observe/metrics.json has not", from.job, name)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(ours).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		r.complain(t, "%s: %s: %s", from.job, p.Metric, p.Text)
	}
}

// complain reports each message once.
func (r *recorder) complain(t *testing.T, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	if !r.wrong[text] {
		r.wrong[text] = true
		t.Error(text)
	}
}

// judge compares a family with the list.
func (r *recorder) judge(t *testing.T, from target, f *dto.MetricFamily, m metric) {
	t.Helper()
	if kind := strings.ToLower(f.GetType().String()); kind != m.Type {
		r.complain(t, "%s shows %s as a %s, and metrics.json has a %s", from.job, f.GetName(), kind, m.Type)
	}
	for _, one := range f.GetMetric() {
		var has []string
		for _, pair := range one.GetLabel() {
			has = append(has, pair.GetName())
		}
		if slices.Sort(has); !slices.Equal(has, m.Labels) {
			r.complain(t, "%s shows %s by %v, and metrics.json has %v", from.job, f.GetName(), has, m.Labels)
		}
	}
}

// record stores the series of a family.
func (r *recorder) record(from target, f *dto.MetricFamily, at time.Time) {
	for _, one := range f.GetMetric() {
		add := func(suffix string, value float64, more ...string) {
			b := labels.NewBuilder(labels.FromStrings(append([]string{
				labels.MetricName, f.GetName() + suffix, "job", from.job, "instance", from.instance,
			}, more...)...))
			for _, pair := range one.GetLabel() {
				b.Set(pair.GetName(), pair.GetValue())
			}
			r.add(b.Labels(), at, value)
		}
		switch {
		case one.Counter != nil:
			add("", one.GetCounter().GetValue())
		case one.Gauge != nil:
			add("", one.GetGauge().GetValue())
		case one.Histogram != nil:
			h := one.GetHistogram()
			add("_sum", h.GetSampleSum())
			add("_count", float64(h.GetSampleCount()))
			add("_bucket", float64(h.GetSampleCount()), "le", "+Inf")
			for _, bucket := range h.GetBucket() {
				if !math.IsInf(bucket.GetUpperBound(), 1) { // that one exists already
					add("_bucket", float64(bucket.GetCumulativeCount()), "le", fmt.Sprint(bucket.GetUpperBound()))
				}
			}
		}
	}
}

// operands returns what an alert compares: expressions that have series even while all is well.
func operands(e parser.Expr) []string {
	switch n := e.(type) {
	case *parser.ParenExpr:
		return operands(n.Expr)
	case *parser.BinaryExpr:
		if n.Op.IsSetOperator() || n.Op.IsComparisonOperator() {
			return append(operands(n.LHS), operands(n.RHS)...)
		}
	case *parser.Call:
		if n.Func.Name == "absent" {
			return operands(n.Args[0])
		}
	}
	return []string{e.String()}
}

const (
	// rounds is the least number of scrapes of all, a second apart, after everything has worked: rates
	// require two values.
	rounds = 10
	// patience is how many more rounds programs get to become healthy on a loaded machine.
	patience = 240
)

// Every expression has series in the metrics of running programs, no alert fires, and each is inactive
// at some time.
func TestRunningPrograms(t *testing.T) {
	targets, worked := programs(t)
	r := &recorder{samples: newSamples(), known: knownMetrics(t), wrong: map[string]bool{}}
	waiting := map[string]string{} // the expressions without series so far, by their place
	for _, e := range shownBy(t) {
		waiting[e.where] = e.expr
	}
	rules := alerts(t)
	loud, since := map[string]bool{}, map[string]time.Time{}
	for _, a := range rules {
		loud[a.Alert] = true
		parsed, err := promQL.ParseExpr(a.Expr)
		if err != nil {
			t.Fatal(err)
		}
		for i, expr := range operands(parsed) {
			waiting[fmt.Sprint(a.Alert, ", ", i)] = expr
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- worked() }()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for done := 0; done < rounds || done < rounds+patience && len(loud)+len(waiting) > 0; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			done, ended = 1, nil
			continue
		case <-ticker.C:
		}
		if done > 0 {
			done++
		}
		at := time.Now()
		for _, from := range targets() {
			r.scrape(t, from, at)
		}
		r.look(t, waiting)
		for _, a := range rules {
			if quiet := r.quiet(t, a, since); quiet && done > 0 {
				delete(loud, a.Alert)
			}
		}
	}
	for _, where := range slices.Sorted(maps.Keys(waiting)) {
		t.Errorf("%s has no series: %s", where, waiting[where])
	}
	for name := range loud {
		t.Errorf("%s is never inactive although all is well", name)
	}
	r.summary(t)
}

// look removes the expressions that have a series with a number.
func (r *recorder) look(t *testing.T, waiting map[string]string) {
	t.Helper()
	for where, expr := range waiting {
		found, err := r.ask(expr, r.last)
		if err != nil {
			t.Fatalf("%s: %s: %v", where, expr, err)
		}
		for _, one := range found {
			if !math.IsNaN(one.F) { // NaN means that nothing was observed
				delete(waiting, where)
			}
		}
	}
}

// quiet reports whether an alert is not even pending; a firing alert fails the test.
func (r *recorder) quiet(t *testing.T, a rulefmt.Rule, since map[string]time.Time) bool {
	t.Helper()
	active, err := r.ask(a.Expr, r.last)
	if err != nil {
		t.Fatalf("%s: %v", a.Alert, err)
	}
	now := map[string]bool{}
	for _, one := range active {
		if slices.ContainsFunc(meant[a.Alert], func(prefix string) bool { return strings.HasPrefix(one.Metric.Get("instance"), prefix) }) {
			continue
		}
		key := a.Alert + " " + one.Metric.String()
		now[key] = true
		if _, ok := since[key]; !ok {
			since[key] = r.last
		}
		if r.last.Sub(since[key]) >= time.Duration(a.For) {
			r.complain(t, "%s fires for %s although all is well", a.Alert, one.Metric)
		}
	}
	maps.DeleteFunc(since, func(key string, _ time.Time) bool { return strings.HasPrefix(key, a.Alert+" ") && !now[key] })
	return len(now) == 0
}

// summary lists the metrics that no program here has exported.
func (r *recorder) summary(t *testing.T) {
	t.Helper()
	shown := map[string]bool{}
	for _, one := range r.series {
		name := one.labels.Get(labels.MetricName)
		shown[name], shown[strings.TrimSuffix(name, "_sum")] = true, true
	}
	var missing []string
	for name := range r.known {
		if !shown[name] {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	t.Logf("%d series of %d metrics; %d are not exported here: %s", len(r.series), len(r.known)-len(missing), len(missing), strings.Join(missing, " "))
}
