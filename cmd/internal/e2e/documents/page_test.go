package documents

import (
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/configure")

const notice = "<!-- Made by go test ./cmd/internal/e2e/documents -update: change what it is made from. -->\n"

// A page is a markdown page.
type page struct{ strings.Builder }

func (p *page) line(text string) { p.WriteString(text + "\n") }

func (p *page) title(text string) { p.line("# " + text + "\n\n" + notice) }

var (
	escapes = strings.NewReplacer("<", "&lt;", "*", `\*`)
	columns = strings.NewReplacer("|", `\|`, "\n", " ")
)

// markdown escapes plain text for markdown.
func markdown(text string) string { return escapes.Replace(strings.TrimSpace(text)) }

// cell escapes plain text for a table.
func cell(text string) string { return columns.Replace(markdown(text)) }

// The pages below docs/configure are those generated from the programs, the plugins' arguments, the
// chart and the metrics, and there are no others.
func TestConfigure(t *testing.T) {
	want := flagPages()
	want["docs/configure/scheduler-arguments.md"] = argumentsPage(t)
	want["docs/configure/chart.md"] = chartPage(t)
	want["docs/configure/metrics.md"] = metricsPage(t)
	if *update {
		write(t, want)
	}
	got := map[string]string{}
	files, err := filepath.Glob(filepath.Join(root, "docs/configure/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		got["docs/configure/"+filepath.Base(file)] = read(t, file)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(got[name], want[name]); diff != "" {
			t.Errorf("%s is out of date; go test ./cmd/internal/e2e/documents -update (-file +made):\n%s", name, diff)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is not generated", name)
	}
}

// write makes the pages the only files in their directory.
func write(t *testing.T, pages map[string]string) {
	t.Helper()
	dir := filepath.Join(root, "docs/configure")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), fs.FileMode(0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
