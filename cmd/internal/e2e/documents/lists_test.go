package documents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// schema is the part of a JSON schema that describes a chart's value.
type schema struct {
	Type        string
	Description string
	Enum        []any
	Pattern     string
	Minimum     *float64
	Maximum     *float64
	Properties  map[string]schema
	Items       *schema
}

// chartPage returns a table of the chart's values, from their schema and defaults.
func chartPage(t *testing.T) string {
	var s schema
	if err := json.Unmarshal([]byte(read(t, filepath.Join(root, "cmd/deploy/chart/values.schema.json"))), &s); err != nil {
		t.Fatal(err)
	}
	var defaults map[string]any
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root, "cmd/deploy/chart/values.yaml"))), &defaults); err != nil {
		t.Fatal(err)
	}
	var p page
	p.title("Values of the chart")
	p.line("These are set with Helm ([other ways](../install.md#other-ways)). A program's further flags go into its\n`extraArgs`.\n\n| value | takes | default | meaning |\n| --- | --- | --- | --- |")
	values(t, &p, "", s, defaults)
	return p.String()
}

// values writes a row for each leaf value below a path.
func values(t *testing.T, p *page, path string, s schema, standard any) {
	if path != "" && s.Description == "" {
		t.Errorf("chart value %s has no description", path)
	}
	if s.Type == "object" && s.Properties != nil {
		group, _ := standard.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			values(t, p, strings.TrimPrefix(path+"."+name, "."), s.Properties[name], group[name])
		}
		return
	}
	p.line(fmt.Sprintf("| `%s` | %s | %s | %s |", path, s.takes(), asJSON(t, standard), cell(s.Description)))
}

// takes returns the kind of a value, or the allowed values.
func (s schema) takes() string {
	text := s.Type
	if s.Enum != nil {
		var words []string
		for _, value := range s.Enum {
			words = append(words, fmt.Sprintf("`%v`", value))
		}
		text = strings.Join(words, ", ")
	}
	if s.Items != nil && s.Items.Type != "" {
		text += " of " + s.Items.Type
	}
	if s.Minimum != nil {
		text += fmt.Sprintf(" from %g", *s.Minimum)
	}
	if s.Maximum != nil {
		text += fmt.Sprintf(" to %g", *s.Maximum)
	}
	return text
}

// asJSON formats a default, "" if there is none.
func asJSON(t *testing.T, value any) string {
	t.Helper()
	if value == nil || value == "" {
		return ""
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return "`" + columns.Replace(strings.TrimSpace(text.String())) + "`"
}

// metricsPage returns a table of the metrics in cmd/deploy/observe/metrics.json.
func metricsPage(t *testing.T) string {
	var metrics map[string]struct {
		Type, Help       string
		Labels, Programs []string
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(root, "cmd/deploy/observe/metrics.json"))), &metrics); err != nil {
		t.Fatal(err)
	}
	var p page
	p.title("Metrics")
	p.line("These are at `/metrics` of each program; programs read them as [metrics.json](../../cmd/deploy/observe/metrics.json).\n[operate.md](../operate.md#metrics-and-alerts) explains what to watch. Names that do not begin with `spazio_` are those\nof Go's and Kubernetes' libraries that the dashboards show.\n\n| metric | type | labels | programs | meaning |\n| --- | --- | --- | --- | --- |")
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		m := metrics[name]
		p.line(fmt.Sprintf("| `%s` | %s | %s | %s | %s |", name, m.Type, strings.Join(m.Labels, ", "), strings.Join(m.Programs, ", "), cell(m.Help)))
	}
	return p.String()
}
