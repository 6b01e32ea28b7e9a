package main

import (
	"path"
	"regexp"
	"strings"
)

var quoted = regexp.MustCompile("`([^`]+)`")

// section returns the lines of CHANGELOG.md on a version: of its own heading, `## [1.2.3]`,
// or, while it has none, of what is not released yet.
func section(changelog, version string) (lines []string, has bool) {
	headings := map[string][]string{}
	heading := ""
	for line := range strings.Lines(changelog) {
		if name, is := strings.CutPrefix(line, "## ["); is {
			heading, _, _ = strings.Cut(name, "]")
			headings[heading] = []string{}
		}
		headings[heading] = append(headings[heading], line)
	}
	if lines, has = headings[strings.TrimPrefix(version, "v")]; has {
		return lines, true
	}
	return headings["Unreleased"], false
}

// announces returns, by directory, the modules of which lines below the headings Changed and
// Removed name something, such as `svd.Update` or `profile/replay`.
func (t *tree) announces(lines []string) map[string]bool {
	found := map[string]bool{}
	breaks := false
	for _, line := range lines {
		if name, is := strings.CutPrefix(line, "### "); is {
			name = strings.TrimSpace(name)
			breaks = name == "Changed" || name == "Removed"
		}
		if !breaks {
			continue
		}
		for _, q := range quoted.FindAllStringSubmatch(line, -1) {
			if m := t.moduleOf(q[1]); m != nil {
				found[m.dir] = true
			}
		}
	}
	return found
}

// moduleOf returns the module that something is of: of those whose directory it begins
// with, the one furthest down. It may end in a name of Go: `svd.Update`.
func (t *tree) moduleOf(name string) *module {
	dir, last := path.Split(name)
	last, _, _ = strings.Cut(last, ".")
	for dir = path.Join(dir, last); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if m := t.publishedAs(path.Join(t.path, dir)); m != nil {
			return m
		}
	}
	return nil
}
