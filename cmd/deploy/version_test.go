package deploy_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/field"
)

// There is a scheduler for the Kubernetes version that the programs require, the default, and for
// each one with a workspace in tools/kubernetes.
func TestSchedulers(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`\bk8s.io/kubernetes v(1\.[0-9]+)\.`).FindSubmatch(text)
	if own == nil {
		t.Fatal("cmd requires no Kubernetes")
	}
	if got := deploy.DefaultScheduler(); got != string(own[1]) {
		t.Errorf("the default is %s, the programs' %s", got, own[1])
	}
	want := []string{string(own[1])}
	others, err := filepath.Glob("../../tools/kubernetes/*/go.work")
	if err != nil || len(others) == 0 {
		t.Fatal(others, err)
	}
	for _, file := range others {
		want = append(want, filepath.Base(filepath.Dir(file)))
	}
	slices.Sort(want)
	if got := deploy.Schedulers(); !slices.Equal(got, want) {
		t.Errorf("schedulers of %q, want %q", got, want)
	}
}

// The chart offers the same schedulers and has the same default, whose image has no suffix.
func TestSchedulersOfTheChart(t *testing.T) {
	var schema struct {
		Properties struct {
			Scheduler struct {
				Properties struct{ Kubernetes struct{ Enum []string } }
			}
		}
	}
	var values struct{ Scheduler struct{ Kubernetes string } }
	for file, into := range map[string]any{"values.schema.json": &schema, "values.yaml": &values} {
		text, err := os.ReadFile(filepath.Join("chart", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if got := schema.Properties.Scheduler.Properties.Kubernetes.Enum; !slices.Equal(got, deploy.Schedulers()) {
		t.Errorf("the chart has schedulers of %q, want %q", got, deploy.Schedulers())
	}
	if got := values.Scheduler.Kubernetes; got != deploy.DefaultScheduler() {
		t.Errorf("the chart's default is %q, want %q", got, deploy.DefaultScheduler())
	}
	helpers, err := os.ReadFile("chart/templates/_helpers.tpl")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{{- if ne $of "` + deploy.DefaultScheduler() + `" -}}`; !strings.Contains(string(helpers), want) {
		t.Errorf("the chart's helpers have no %s", want)
	}
}

// A scheduler may be a minor version older than the API server, and never newer: cases have the
// selected one, and the message about others.
func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		server deploy.Version
		gets   string            // empty if there is none
		says   map[string]string // of each scheduler, nothing if it may be
	}{
		{deploy.Version{Major: 1, Minor: 35, Text: "v1.35.4"}, "1.35", map[string]string{
			"1.35": "", "1.36": "a scheduler of 1.36 is newer than the API server, which is v1.35.4: one of 1.35 serves it",
		}},
		{deploy.Version{Major: 1, Minor: 36, Text: "v1.36.3"}, "1.36", map[string]string{
			"1.34": "a scheduler of 1.34 is more than a minor version older than the API server, which is v1.36.3: one of 1.36 serves it",
			"1.35": "", "1.36": "", "1.37": "a scheduler of 1.37 is newer than the API server",
		}},
		{deploy.Version{Major: 1, Minor: 37, Text: "v1.37.2"}, "1.37", map[string]string{
			"1.35": "more than a minor version older than the API server, which is v1.37.2: one of 1.37 serves it", "1.36": "", "1.37": "",
		}},
		{deploy.Version{Major: 1, Minor: 38, Text: "v1.38.0"}, "1.37", map[string]string{
			"1.36": "more than a minor version older than the API server, which is v1.38.0: one of 1.37 serves it", "1.37": "",
		}},
		{deploy.Version{Major: 1, Minor: 34, Text: "v1.34.9"}, "", map[string]string{
			"1.35": "schedulers are of 1.35, 1.36, 1.37, for API servers of 1.35 to 1.38, and this one is v1.34.9", "1.36": "this one is v1.34.9",
		}},
		{deploy.Version{Major: 1, Minor: 39, Text: "v1.39.0"}, "", map[string]string{"1.35": "this one is v1.39.0", "1.37": "this one is v1.39.0"}},
		{deploy.Version{Major: 2, Minor: 37, Text: "v2.37.0"}, "", map[string]string{"1.37": "this one is v2.37.0"}},
		{deploy.Version{Text: "v0.0.0-master"}, "1.37", map[string]string{"1.35": "", "1.36": "", "1.40": ""}},
	} {
		got, err := tt.server.Scheduler()
		if got != tt.gets || (err == nil) != (tt.gets != "") || err != nil && !errors.Is(err, deploy.ErrVersion) {
			t.Errorf("%s gets %q, %v; want %q", tt.server.Text, got, err, tt.gets)
		}
		for scheduler, says := range tt.says {
			err := tt.server.Takes(scheduler)
			if (err == nil) != (says == "") || err != nil && (!errors.Is(err, deploy.ErrVersion) || !strings.Contains(err.Error(), says)) {
				t.Errorf("%s, of a scheduler of %s: %v; want %q", tt.server.Text, scheduler, err, says)
			}
			// The message about a planned installation is the same.
			if !slices.Contains(deploy.Schedulers(), scheduler) {
				continue
			}
			problems := deploy.Config{Registry: "r.example", Kubernetes: scheduler}.Preflight(tt.server)
			if len(problems) > 1 || (len(problems) == 0) != (says == "") || len(problems) == 1 && (problems[0].About != "version" || !strings.Contains(problems[0].Text, says)) {
				t.Errorf("%s, of a scheduler of %s: %+v; want %q", tt.server.Text, scheduler, problems, says)
			}
		}
	}
	for _, scheduler := range []string{"", "36", "2.36", "v1.36", "1.36.3", "1."} {
		var refused *field.Error
		if err := (deploy.Version{Major: 1, Minor: 36}).Takes(scheduler); !errors.As(err, &refused) || refused.Field != "Kubernetes" {
			t.Errorf("%q: %v", scheduler, err)
		}
	}
}
