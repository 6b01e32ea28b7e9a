package spazio_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// stiffPhrases are turns of phrase that readers stumble over. A plain sentence names its subject: "X
// reports whether", "X returns", "no pod", "except".
var stiffPhrases = regexp.MustCompile(`(?i)\bsays (whether|that|how|which)\b|\b(told|tells|hears?|but for|nobody|nothing but|who is|that of which)\b`)

// TestPlainWords: comments of programs and packages, and documents, are in plain words.
func TestPlainWords(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != "." && name[0] == '.' || name == "testdata" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		isGo := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if !isGo && !strings.HasSuffix(name, ".md") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !isGo {
			for i, line := range strings.Split(string(text), "\n") {
				refuseStiff(t, path, i+1, line)
			}
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, comment := range group.List {
				refuseStiff(t, path, files.Position(comment.Pos()).Line, comment.Text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// refuseStiff fails the test for each stiff phrase of a text. Inline code of documents may hold the
// names of things.
func refuseStiff(t *testing.T, path string, line int, text string) {
	t.Helper()
	if strings.HasSuffix(path, ".md") {
		text = inlineCode.ReplaceAllString(text, "")
	}
	for _, phrase := range stiffPhrases.FindAllString(text, -1) {
		t.Errorf("%s:%d: %q: say it in plain words", path, line, phrase)
	}
}

var inlineCode = regexp.MustCompile("`[^`]*`")

func TestStiffPhrases(t *testing.T) {
	for text, want := range map[string]int{
		"X says whether it is full": 1, "nobody hears of it": 2, "all but for one": 1, "X reports whether it is full": 0, "retold": 0,
	} {
		if got := len(stiffPhrases.FindAllString(text, -1)); got != want {
			t.Errorf("%q has %d stiff phrases, want %d", text, got, want)
		}
	}
}
