package spazio_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// documents are the markdown files of the repository.
func documents(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != "." && (name[0] == '.' || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	// code is what markdown doesn't read: blocks and spans.
	code = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]+`")
	// link is where text, a picture or HTML leads.
	link    = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)|(?:href|src|srcset)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	inLink  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// links are those of a document's text that lead into the repository.
func links(text string) (targets []string) {
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		target := m[1] + m[2]
		if !strings.Contains(target, "://") && !strings.HasPrefix(target, "mailto:") {
			targets = append(targets, target)
		}
	}
	return targets
}

// anchors are the headings of a document as links call them: in small letters, without what is
// no letter, digit, hyphen or underscore, with hyphens for spaces, and a number where one was there
// before.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, inLink.ReplaceAllString(m[1], "$1"))
		for unique, i := name, 1; ; i++ {
			if !slices.Contains(names, unique) {
				names = append(names, unique)
				break
			}
			unique = fmt.Sprintf("%s-%d", name, i)
		}
	}
	return names
}

// Links inside the tree lead somewhere, from where they are, and to headings that are there.
func TestLinks(t *testing.T) {
	count := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range links(string(text)) {
			count++
			path, anchor, _ := strings.Cut(target, "#")
			at := file
			if path != "" {
				at = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(at); err != nil {
				t.Errorf("%s: link %q: %v", file, target, err)
				continue
			}
			if anchor == "" || !strings.HasSuffix(at, ".md") {
				continue
			}
			there, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(anchors(string(there)), anchor) {
				t.Errorf("%s: link %q: %s has no such heading", file, target, at)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d links found: how documents are read is out of date", count)
	}
}

func TestAnchors(t *testing.T) {
	text := "# A title: two `words`\n\n## Same\n```\n# none\n```\n## Same\n### [Link](x.md) and_so–on\n"
	if got, want := anchors(text), []string{"a-title-two-words", "same", "same-1", "link-and_soon"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	text = "[a](b.md#c) `[no](x)` ![p](q.svg \"title\") [site](https://example.com) <img src=\"r.png\">\n```\n[no](y)\n```\n"
	if got, want := links(text), []string{"b.md#c", "q.svg", "r.png"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A reader who follows links from the README comes to every document.
func TestEveryDocumentIsReached(t *testing.T) {
	reached := map[string]bool{"README.md": true}
	for queue := []string{"README.md"}; len(queue) > 0; queue = queue[1:] {
		text, err := os.ReadFile(queue[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range links(string(text)) {
			path, _, _ := strings.Cut(target, "#")
			at := filepath.Join(filepath.Dir(queue[0]), path)
			if strings.HasSuffix(at, ".md") && !reached[at] {
				reached[at] = true
				queue = append(queue, at)
			}
		}
	}
	for _, file := range documents(t) {
		if !reached[file] {
			t.Errorf("%s: no link leads there from README.md", file)
		}
	}
}
