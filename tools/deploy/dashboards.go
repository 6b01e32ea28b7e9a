package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

const dashboardDir = "deploy/observe/dashboards"

// dashboard is what Grafana imports: as much of its JSON model as is needed here, of
// schema version 39 (Grafana 10.4), which later versions take.
type dashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Refresh       string     `json:"refresh"`
	Time          timeRange  `json:"time"`
	Templating    templating `json:"templating"`
	Panels        []panel    `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []variable `json:"list"`
}

// variable is one that the reader chooses: a data source or the values of a query.
type variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Query      string      `json:"query"`
	Datasource *datasource `json:"datasource,omitempty"`
	Refresh    int         `json:"refresh,omitempty"` // 2: with the time range
	Multi      bool        `json:"multi,omitempty"`
	IncludeAll bool        `json:"includeAll,omitempty"`
	AllValue   string      `json:"allValue,omitempty"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// prometheus is the data source that the reader has chosen.
var prometheus = datasource{Type: "prometheus", UID: "${datasource}"}

type panel struct {
	ID          int         `json:"id"`
	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"`
	Type        string      `json:"type"`
	Datasource  datasource  `json:"datasource"`
	GridPos     gridPos     `json:"gridPos"`
	FieldConfig fieldConfig `json:"fieldConfig"`
	Targets     []query     `json:"targets"`
}

type gridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type fieldConfig struct {
	Defaults  fieldDefaults `json:"defaults"`
	Overrides []any         `json:"overrides"`
}

type fieldDefaults struct {
	Unit string `json:"unit"`
	Min  *int   `json:"min,omitempty"`
}

// query is an expression of PromQL and what its series are called.
type query struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

// graph is a panel over time, before it has its place.
type graph struct {
	title, description, unit string
	queries                  []query
}

// valuesOf is a variable of the values that a label has in a metric.
func valuesOf(label, title, metric string) variable {
	return variable{
		Name: label, Label: title, Type: "query", Query: fmt.Sprintf("label_values(%s, %s)", metric, label),
		Datasource: &prometheus, Refresh: 2, Multi: true, IncludeAll: true, AllValue: ".*",
	}
}

// newDashboard puts the graphs in two columns.
func newDashboard(uid, title, description string, chosen variable, graphs []graph) dashboard {
	const width, height, zero = 12, 8, 0
	floor := zero
	d := dashboard{
		UID: uid, Title: title, Description: description, Tags: []string{"spazio"}, SchemaVersion: 39,
		Refresh: "30s", Time: timeRange{"now-1h", "now"},
		Templating: templating{List: []variable{
			{Name: "datasource", Label: "Prometheus", Type: "datasource", Query: "prometheus"},
			chosen,
		}},
	}
	for i, g := range graphs {
		for j := range g.queries {
			g.queries[j].RefID = string(rune('A' + j))
		}
		d.Panels = append(d.Panels, panel{
			ID: i + 1, Title: g.title, Description: g.description, Type: "timeseries", Datasource: prometheus,
			GridPos:     gridPos{H: height, W: width, X: width * (i % 2), Y: height * (i / 2)},
			FieldConfig: fieldConfig{Defaults: fieldDefaults{Unit: g.unit, Min: &floor}, Overrides: []any{}},
			Targets:     g.queries,
		})
	}
	return d
}

// dashboards adds a file for each.
func dashboards(files tree) error {
	all := map[string]dashboard{
		"fleet": fleetDashboard(), "scheduler": schedulerDashboard(), "agents": agentsDashboard(), "aggregator": aggregatorDashboard(),
		"energy": energyDashboard(), "testbeds": testbedsDashboard(),
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(all[name]); err != nil {
			return err
		}
		files[dashboardDir+"/"+name+".json"] = text.String()
	}
	return nil
}
