package observe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// metric describes a metric; cmd/internal/metrics writes the file of the programs' metrics.
type metric struct {
	Type   string   `json:"type"`
	Labels []string `json:"labels"`
}

func knownMetrics(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "cmd/deploy/observe/metrics.json"))
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]metric
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	return known
}

// ofTarget are the labels that Prometheus gives all series of a pod.
var ofTarget = []string{"instance", "job", "namespace", "pod"}

// Each expression of the dashboards and alerts uses existing metrics and labels, and so do the values
// of a dashboard's variables.
func TestExpressions(t *testing.T) {
	known := knownMetrics(t)
	for name, d := range dashboards(t) {
		if len(d.Panels) == 0 || d.UID == "" {
			t.Errorf("%s has no panels or no name", name)
		}
		seen := map[int]bool{}
		for _, p := range d.Panels {
			if seen[p.ID] || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d, %s", name, p.ID, p.Title)
			}
			seen[p.ID] = true
		}
		for _, v := range d.Templating.List {
			if metric, ok := strings.CutPrefix(v.Query, "label_values("); ok {
				metric, label, _ := strings.Cut(strings.TrimSuffix(metric, ")"), ", ")
				if err := checkQuery("count by ("+label+") ("+metric+")", known); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	all := shownBy(t)
	for _, a := range alerts(t) {
		all = append(all, expression{a.Alert, a.Expr})
	}
	for _, e := range all {
		if err := checkQuery(e.expr, known); err != nil {
			t.Errorf("%s: %v", e.where, err)
		}
	}
}

// Misspelt names are detected.
func TestCheckQueryRefuses(t *testing.T) {
	known := map[string]metric{"a_total": {"counter", []string{"cause"}}, "b": {"gauge", nil}, "c_seconds": {"histogram", []string{"state"}}}
	for expr, want := range map[string]string{
		`sum(rate(a_total{instance=~"$node"}[$__rate_interval]))`:                 "",
		`b * on (instance) group_left (cause) increase(a_total[1h])`:              "",
		`topk(3, sum by (cause, namespace) (rate(a_total{cause="x"}[5m]))/b)`:     "",
		`histogram_quantile(.5, sum by (state, le) (rate(c_seconds_bucket[5m])))`: "",
		`sum by (state) (rate(c_seconds_sum[5m]) / rate(c_seconds_count[5m]))`:    "",
		`rate(c_seconds[5m])`:                       "no metric c_seconds",
		`sum by (le) (rate(c_seconds_count[5m]))`:   "label le",
		`rate(a_total_bucket[5m])`:                  "no metric a_total_bucket",
		`sum(rate(a_totla[5m]))`:                    "no metric a_totla",
		`sum(rate(a_total[5m])`:                     "parse",
		`sum by (caus) (rate(a_total[5m]))`:         "label caus",
		`rate(a_total{caus="x"}[5m])`:               "a_total has no label caus",
		`a_total * b{cause="x"}`:                    "b has no label cause",
		`b * on (nod) group_left (cause) b`:         "label nod",
		`b * on (instance) group_left (causes) b`:   "label causes",
		`rate(b[5m])`:                               "rate of the gauge b",
		`{instance="x"}`:                            "no metric",
		`sum(b / on (instance) spazio_energy_watt)`: "no metric spazio_energy_watt",
	} {
		err := checkQuery(expr, known)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
}

// checkQuery returns what is wrong with an expression.
func checkQuery(expr string, known map[string]metric) error {
	parsed, err := promQL.ParseExpr(strings.ReplaceAll(expr, "$__rate_interval", "5m"))
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	there := slices.Clone(ofTarget)
	var used []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			labels, ok := labelsOf(n.Name, known)
			if !ok {
				err = fmt.Errorf("there is no metric %s", n.Name)
				return nil
			}
			there = append(there, labels...)
			for _, matcher := range n.LabelMatchers {
				if matcher.Name != "__name__" && !slices.Contains(labels, matcher.Name) && !slices.Contains(ofTarget, matcher.Name) {
					err = fmt.Errorf("%s has no label %s", n.Name, matcher.Name)
					return nil
				}
			}
		case *parser.AggregateExpr:
			used = append(used, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				used = append(append(used, n.VectorMatching.MatchingLabels...), n.VectorMatching.Include...)
			}
		case *parser.Call:
			if of := rated(n); of != "" && known[of].Type == "gauge" {
				err = fmt.Errorf("rate of the gauge %s", of)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, label := range used {
		if !slices.Contains(there, label) {
			return fmt.Errorf("no metric of it has the label %s", label)
		}
	}
	return nil
}

// labelsOf returns a series' labels. A histogram has only series of its buckets, sum and count.
func labelsOf(series string, known map[string]metric) (labels []string, ok bool) {
	if m := known[series]; m.Type != "" {
		return m.Labels, m.Type != "histogram"
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, cut := strings.CutSuffix(series, suffix); cut && known[name].Type == "histogram" {
			if labels = known[name].Labels; suffix == "_bucket" {
				labels = append(slices.Clone(labels), "le")
			}
			return labels, true
		}
	}
	return nil, false
}

// rated returns the metric whose rate or increase is computed, if any.
func rated(call *parser.Call) string {
	if call.Func.Name != "rate" && call.Func.Name != "increase" {
		return ""
	}
	if m, ok := call.Args[0].(*parser.MatrixSelector); ok {
		if v, ok := m.VectorSelector.(*parser.VectorSelector); ok {
			return v.Name
		}
	}
	return ""
}
