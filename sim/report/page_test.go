package report_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// written returns a saved page with one of everything, and its files.
func written(t *testing.T, name string) (shown string, others []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	p, err := report.NewPage(path, "Pods < nodes")
	if err != nil {
		t.Fatal(err)
	}
	p.Paragraph("a & b")
	p.Table(text.Table{Title: "who", Header: []string{"name", "x"}, Right: []bool{false, true}, Rows: [][]string{{"a|b", "<1>"}}})
	p.Tables("none", text.Table{Title: "nobody", Header: []string{"name"}})
	p.Picture("line", "line.svg", "a line", report.Chart{Panels: []report.Panel{{Title: "a panel"}}})
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() != name {
			others = append(others, f.Name())
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), others
}

func TestMarkdown(t *testing.T) {
	shown, others := written(t, "p.md")
	for _, want := range []string{"# Pods < nodes\n", "\na & b\n", "who:\n\n| name | x |\n| --- | --- |\n| a\\|b | <1> |\n", "![line](line.svg)\n\na line\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if len(others) != 1 || others[0] != "line.svg" {
		t.Errorf("beside it: %v", others)
	}
	if strings.Contains(shown, "none") || strings.Contains(shown, "nobody") {
		t.Errorf("a table without rows, or its heading, is in\n%s", shown)
	}
}

func TestHTML(t *testing.T) {
	shown, others := written(t, "p.html")
	for _, want := range []string{
		"<title>Pods &lt; nodes</title>", "<h1>Pods &lt; nodes</h1>", "<p>a &amp; b</p>", "<th>name</th>", `<td class="n">&lt;1&gt;</td>`,
		"<figure><svg ", ">a panel</text>", "</svg>\n<figcaption>a line</figcaption></figure>",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if len(others) != 0 {
		t.Errorf("beside it: %v", others)
	}
}

// A picture that cannot be drawn is an error of Save, which then writes nothing.
func TestPictureIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.md")
	p, err := report.NewPage(path, "title")
	if err != nil {
		t.Fatal(err)
	}
	p.Picture("empty", "empty.svg", "of no panel", report.Chart{})
	if err := p.Save(path); !errors.Is(err, report.ErrInvalid) || !strings.Contains(err.Error(), "draw empty") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the page is there: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := report.NewPage("p.pdf", "title")
	var name *field.Error
	if !errors.As(err, &name) || name.Value != "p.pdf" || !errors.Is(err, report.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

func ExampleNew() {
	p, err := report.NewPage("report.md", "A report")
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Heading(2, "What was run")
	p.Table(text.Table{Title: "Runs", Header: []string{"seed", "seconds"}, Rows: [][]string{{"1", "9.5"}}})
	fmt.Printf("%s", p.Bytes())
	// Output:
	// # A report
	//
	// ## What was run
	//
	// Runs:
	//
	// | seed | seconds |
	// | --- | --- |
	// | 1 | 9.5 |
}
