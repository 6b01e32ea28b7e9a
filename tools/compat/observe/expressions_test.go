package observe

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
)

const (
	root  = "../../.."
	rules = root + "/cmd/deploy/chart/files/observe/rules.yaml"
)

// expression is an expression of a dashboard or an alert.
type expression struct {
	where, expr string
}

// dashboard is the part of Grafana's model with the queries for Prometheus.
type dashboard struct {
	UID        string
	Templating struct{ List []struct{ Query string } }
	Panels     []struct {
		ID      int
		Title   string
		Targets []struct{ RefID, Expr string }
	}
}

// dashboards returns those of cmd/deploy/observe by their file names.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(root + "/cmd/deploy/observe/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return all
}

// alerts returns those of the rules that Prometheus loads.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rules, false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var all []rulefmt.Rule
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}

// plain replaces a dashboard's variables by values, for a run of a minute.
var plain = strings.NewReplacer(
	"$__rate_interval", "30s", "$node", ".*", "$instance", ".*", "$program", ".*", "$testbed", ".*",
)

// shownBy returns the expressions of the dashboards.
func shownBy(t *testing.T) (all []expression) {
	for name, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				all = append(all, expression{fmt.Sprintf("%s: %s, %s", name, p.Title, q.RefID), plain.Replace(q.Expr)})
			}
		}
	}
	return all
}
