package spazio_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// setUp is the heading of the README's section that holds its commands.
const setUp = "## Try it"

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section returns the text below the heading up to the next one of its level.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, body, found := strings.Cut(text, "\n"+heading+"\n")
	if !found {
		t.Fatalf("README.md has no section %q", heading)
	}
	body, _, _ = strings.Cut(body, "\n## ")
	return body
}

var fence = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")

// commands returns the lines of the section's code blocks.
func commands(body string) []string {
	var lines []string
	for _, block := range fence.FindAllStringSubmatch(body, -1) {
		for line := range strings.Lines(block[1]) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// A reader who runs the section's commands runs two, and a fresh clone
// has what they name.
func TestReadmeCommands(t *testing.T) {
	got := commands(section(t, readme(t), setUp))
	want := []string{"go run ./cmd/spazio-demo", "go test work"}
	if !slices.Equal(got, want) {
		t.Fatalf("commands of %q:\n got %q\nwant %q", setUp, got, want)
	}
	for _, command := range got {
		for _, word := range strings.Fields(command) {
			if !strings.HasPrefix(word, "./") {
				continue
			}
			if _, err := os.Stat(filepath.Join(word, "main.go")); err != nil {
				t.Errorf("%q: %v", command, err)
			}
		}
	}
}

// The map of the packages in docs and in doc.go names every module.
func TestMapNamesEveryModule(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := os.ReadFile("docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Dir(file)
		if name == "tools" {
			continue // pins generators, is never imported
		}
		if !strings.Contains(string(packages), "\n| `"+name+"` |") {
			t.Errorf("docs/library.md: no row for %s", name)
		}
		if !strings.Contains(string(doc), "//\t"+name+" ") {
			t.Errorf("doc.go: no line for %s", name)
		}
	}
}
