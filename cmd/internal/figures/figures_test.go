package figures_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/cmd/internal/figures"
)

// drawn runs the command and returns what it wrote to stdout.
func drawn(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := figures.NewCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

// contents reads a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Every figure has its files and its caption, and a second run the same bytes.
func TestAllFigures(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	first, err := drawn(t, "--out", one, "--seeds", "1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := drawn(t, "--out", two, "--seeds", "1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the tables differ:\n%s", diff)
	}
	files, again := contents(t, one), contents(t, two)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(again))); diff != "" {
		t.Fatalf("the files differ:\n%s", diff)
	}
	for name, data := range files {
		if data != again[name] {
			t.Errorf("%s differs from run to run", name)
		}
	}
	for _, f := range figures.All() {
		base := "figure-" + f.ID
		for suffix, want := range map[string]string{".svg": "<svg", ".png": "\x89PNG", ".csv": "panel,series,x,y"} {
			if !strings.Contains(files[base+suffix], want) {
				t.Errorf("%s%s: no %q", base, suffix, want)
			}
		}
		if strings.Contains(files[base+".csv"], "NaN") {
			t.Errorf("%s.csv has no number where there should be one", base)
		}
		for _, want := range []string{"Figure " + f.ID + ": " + f.Title, f.Claim, base + ".svg"} {
			if !strings.Contains(files["README.md"], want) {
				t.Errorf("README.md: no %q", want)
			}
		}
	}
	if n := strings.Count(files["index.html"], "<svg"); n != len(figures.All()) {
		t.Errorf("%d pictures in index.html, %d figures", n, len(figures.All()))
	}
	if strings.Contains(files["README.md"], "NaN") {
		t.Error("a caption has no number where there should be one")
	}
}

// What all figures are must hold for those to come, too.
func TestFiguresAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range figures.All() {
		if f.ID == "" || f.Title == "" || f.Claim == "" || f.Make == nil || seen[f.ID] {
			t.Errorf("figure %q lacks something or is there twice", f.ID)
		}
		seen[f.ID] = true
		r, err := f.Make(t.Context(), figures.Params{Seed: 1, Seeds: 1})
		if err != nil {
			t.Errorf("%s: %v", f.ID, err)
			continue
		}
		if len(r.Panels) == 0 || r.Measured == "" || len(r.Values) == 0 {
			t.Errorf("%s shows nothing", f.ID)
		}
		if v := r.Verdict; v != figures.Holds && v != figures.Partly && v != figures.Fails {
			t.Errorf("%s: verdict %q", f.ID, v)
		}
		if !strings.HasPrefix(r.Source, "recording: ") && !strings.HasPrefix(r.Source, "simulator: ") {
			t.Errorf("%s: source %q", f.ID, r.Source)
		}
	}
}

func TestRows(t *testing.T) {
	text, err := drawn(t, "--only", "4.4,4.5", "--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Figure, Verdict, Metric, Unit string
		Value                         float64
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	text, err = drawn(t, "--only", "4.5, 4.4", "-o", "csv")
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"figure", "verdict", "metric", "value", "unit"}
	if diff := cmp.Diff(want, records[0]); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if len(rows) == 0 || len(records) != len(rows)+1 {
		t.Fatalf("%d records, %d rows", len(records), len(rows))
	}
	if r := rows[0]; r.Figure != "4.4" || records[1][2] != r.Metric {
		t.Errorf("the first is %v as CSV and %+v as JSON", records[1], r)
	}
}

func TestTableAndList(t *testing.T) {
	table, err := drawn(t, "--only", "4.5")
	if err != nil {
		t.Fatal(err)
	}
	list, err := drawn(t, "--list")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table, "recording") || strings.Contains(table, "4.6") {
		t.Errorf("table\n%s", table)
	}
	for _, f := range figures.All() {
		if !strings.Contains(list, f.ID) {
			t.Errorf("no %s in\n%s", f.ID, list)
		}
	}
}

// A seed changes what is simulated and nothing else.
func TestSeed(t *testing.T) {
	rows := map[string]string{}
	for _, args := range [][]string{{"4.5", "1"}, {"4.5", "2"}, {"4.11", "1"}, {"4.11", "2"}} {
		text, err := drawn(t, "--only", args[0], "--seed", args[1], "-o", "json")
		if err != nil {
			t.Fatal(err)
		}
		rows[args[0]+"/"+args[1]] = text
	}
	if rows["4.5/1"] != rows["4.5/2"] || rows["4.11/1"] == rows["4.11/2"] {
		t.Error("the seed changes a recording, or nothing of a simulation")
	}
}

func TestRefuses(t *testing.T) {
	isFlag := func(err error) bool { return errors.Is(err, figures.ErrFlag) }
	tests := []struct {
		args []string
		is   func(error) bool
	}{
		{[]string{"--output", "xml"}, isFlag},
		{[]string{"--only", "9.9"}, isFlag},
		{[]string{"--seeds", "-1"}, isFlag},
		{[]string{"--only", ""}, isFlag},
		{[]string{"4.6"}, func(err error) bool { return err != nil }},
		{[]string{"--seed", "-1"}, func(err error) bool { return err != nil }},
		{[]string{"--data", t.TempDir(), "--only", "4.5"}, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{[]string{"--data", "testdata/empty", "--only", "4.5"}, func(err error) bool {
			var none *figures.NoRunError
			return errors.As(err, &none)
		}},
	}
	for _, test := range tests {
		if _, err := drawn(t, test.args...); err == nil || !test.is(err) {
			t.Errorf("%v: error %v", test.args, err)
		}
	}
}
