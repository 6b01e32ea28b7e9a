package text_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

func rendered(t *testing.T, of text.Table, width int) string {
	t.Helper()
	var b strings.Builder
	if err := of.WriteText(&b, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	wide := text.Table{
		Title:  "a title of five words",
		Header: []string{"name", "what it says"},
		Rows:   [][]string{{"a", "some words about it"}, {"α/β=γ", "none"}, {"short"}},
	}
	tests := map[string]struct {
		width int
		want  string
	}{
		"unbounded": {0, "a title of five words\nname   what it says\na      some words about it\nα/β=γ  none\nshort\n"},
		"fits":      {27, "a title of five words\nname   what it says\na      some words about it\nα/β=γ  none\nshort\n"},
		"narrow":    {20, "a title of five\nwords\nname   what it says\na      some words\n       about it\nα/β=γ  none\nshort\n"},
		"split":     {6, "a\ntitle\nof\nfive\nwords\nn…  w…\n    it\n    s…\na   s…\n    w…\n    a…\n    it\nα/  n…\nβ…\ns…\n"},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, rendered(t, wide, test.width)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// No line is too long for any width; if the words fit, nothing is lost, and numbers are never cut.
func TestTextFits(t *testing.T) {
	of := text.Table{Header: []string{"one", "two", "three"}, Right: []bool{false, false, true}, Rows: [][]string{
		{strings.Repeat("long/", 30), strings.Repeat("word ", 20), "1"}, {"", strings.Repeat("é ", 50), strings.Repeat("7", 50)},
	}}
	letters := func(s string) int { return len(strings.Join(strings.Fields(s), "")) }
	want := letters(rendered(t, of, 0))
	for width := 7; width < 300; width++ {
		got := rendered(t, of, width)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("width %d: a line of %d: %q", width, n, line)
			}
		}
		if letters(got) != want && width >= 40 || strings.Count(got, "7") != 50 {
			t.Fatalf("width %d: %d bytes of %d:\n%s", width, letters(got), want, got)
		}
	}
}

// The ends of long names are shown, in a line of their own; numbers stay whole beside them, and
// words continue in the next line.
func TestNames(t *testing.T) {
	of := text.Table{Header: []string{"NODE", "FREE", "WHY"}, Right: []bool{false, true}}
	for _, end := range []string{"0", "1", "2"} {
		of.Add(strings.Repeat("n", 60)+"-x"+end, "12345678.90", "it has no room")
		of.Add("a."+strings.Repeat("b.", 125)+end, "1", "it has")
	}
	want := `
NODE                                FREE  WHY
nnnnnnnnnnnnn…nnnnnnnnnn-x0  12345678.90  it has no room
a.b.b.b.b.b.b…b.b.b.b.b.b.0            1  it has
nnnnnnnnnnnnn…nnnnnnnnnn-x1  12345678.90  it has no room
a.b.b.b.b.b.b…b.b.b.b.b.b.1            1  it has
nnnnnnnnnnnnn…nnnnnnnnnn-x2  12345678.90  it has no room
a.b.b.b.b.b.b…b.b.b.b.b.b.2            1  it has
`
	if diff := cmp.Diff(want[1:], rendered(t, of, 56)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Words give way before a name of usual length, names before a number, and a number's heading by
// being shortened.
func TestGivesWay(t *testing.T) {
	for name, test := range map[string]struct {
		of    text.Table
		width int
		want  string
	}{
		"words":   {text.Table{Header: []string{"N", "WHY"}, Rows: [][]string{{"node-of-24-letters-aaaaa", "it has no room for this pod"}}}, 40, "N                         WHY\nnode-of-24-letters-aaaaa  it has no room\n                          for this pod\n"},
		"names":   {text.Table{Header: []string{"N", "SUM"}, Right: []bool{false, true}, Rows: [][]string{{"node-of-24-letters-aaaaa", "12345678901234567890"}}}, 30, "N                          SUM\nnode…aaa  12345678901234567890\n"},
		"heading": {text.Table{Header: []string{"WATTSMEASURED"}, Right: []bool{true}, Rows: [][]string{{"1"}}}, 8, "WATT…RED\n       1\n"},
	} {
		if diff := cmp.Diff(test.want, rendered(t, test.of, test.width)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestCSV(t *testing.T) {
	of := text.Table{Title: "left out", Header: []string{"a", "b"}}
	of.Add("1,5", `"`)
	var b strings.Builder
	if err := of.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"a", "b"}, {"1,5", `"`}}, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if of.WriteCSV(broken{}) == nil || of.WriteText(broken{}, 80) == nil {
		t.Error("a writer's error is lost")
	}
}

func ExampleTable_WriteText() {
	t := text.Table{Title: "who ran what", Header: []string{"scheduler", "mean run time"}}
	t.Add("spazio", "13.1 s")
	t.Add("default", "123 s")
	if err := t.WriteText(os.Stdout, text.Terminal); err != nil {
		fmt.Println(err)
	}
	// Output:
	// who ran what
	// scheduler  mean run time
	// spazio     13.1 s
	// default    123 s
}

func TestRightAligned(t *testing.T) {
	of := text.Table{
		Header: []string{"name", "number", "word", "last"}, Right: []bool{false, true},
		Rows: [][]string{{"a", "1.5", "x", "y"}, {"éloigné", "-", "", "1"}, {"b", "1,234.5", "z"}},
	}
	want := `
name      number  word  last
a            1.5  x     y
éloigné        -        1
b        1,234.5  z
`
	if diff := cmp.Diff(want[1:], rendered(t, of, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Empty columns are left out if allowed; rows may be short.
func TestCompact(t *testing.T) {
	of := text.Table{
		Title: "t", Header: []string{"name", "one", "two", "none", "must", "last"}, Right: []bool{false, true, false, true},
		Rows: [][]string{{"a", "1", "-", "-", "-", "-"}, {"b", "-", "", "-", "-"}, {"c"}},
	}
	want := text.Table{
		Title: "t", Header: []string{"name", "one", "two", "must"}, Right: []bool{false, true, false, false},
		Rows: [][]string{{"a", "1", "-", "-"}, {"b", "-", "", "-"}, {"c"}},
	}
	if diff := cmp.Diff(want, of.Compact("-", "none", "one", "two", "last")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if of.Header[3] != "none" || len(of.Rows[0]) != 6 {
		t.Errorf("what was given is now %v", of)
	}
}
