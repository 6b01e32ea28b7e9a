package spazio_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// budget holds the most that the tree may have of each thing that TestBudget counts. Whoever makes
// the tree smaller lowers the limit in the same commit; a limit rises only with a new feature, and
// the commit says which.
var budget = map[string]int{
	"modules":                    26,
	"packages":                   152,
	"lines of code":              113878, // without comments and blank lines; scripts count
	"exported names":             3400,
	"exported fields":            2694,
	"FieldError types":           1,
	"own flags":                  217,
	"SpazioArgs fields":          33,
	"metrics":                    98,
	"SVG files":                  13,
	"words of README":            707,
	"words of docs":              22000,
	"words of CONTRIBUTING":      790,
	"words of CHANGELOG":         643,
	"words of BENCHMARKS":        1169,
	"words of generated reports": 19799,
}

// generatedBy marks the files that a program writes: Go's own mark, and that of our documents.
var (
	generatedGo  = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	generatedDoc = regexp.MustCompile(`(?m)^<!-- Made by .*-->$`)
)

// The tree stays within its budget.
func TestBudget(t *testing.T) {
	count := map[string]int{}
	packages := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != "." && path != ".ci" && name[0] == '.' || name == "testdata" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case name == "go.mod":
			count["modules"]++
		case strings.HasSuffix(name, ".svg"):
			count["SVG files"]++
		case strings.HasSuffix(name, ".md"):
			countDocument(path, string(text), count)
		case strings.HasSuffix(name, ".go"):
			countGo(t, path, text, count, packages)
		case strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".sh") || strings.HasPrefix(string(text), "#!"):
			count["lines of code"] += scriptLines(string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	count["packages"] = len(packages)
	for _, what := range slices.Sorted(maps.Keys(budget)) {
		limit := budget[what]
		t.Logf("%-28s %6d of %6d", what, count[what], limit)
		if count[what] > limit {
			t.Errorf("%s: %d, more than the budget of %d", what, count[what], limit)
		}
		if count[what] == 0 {
			t.Errorf("%s: none found: how they are counted is out of date", what)
		}
	}
}

// countDocument counts a document's words, and the flags, arguments and metrics that it lists if it
// is a page of docs/configure.
func countDocument(path, text string, count map[string]int) {
	words := len(strings.Fields(text))
	switch {
	case generatedDoc.MatchString(text[:min(len(text), 400)]):
		count["words of generated reports"] += words
	case !strings.Contains(path, "/"):
		count["words of "+strings.TrimSuffix(path, ".md")] += words
	case strings.HasPrefix(path, "docs/"):
		count["words of docs"] += words
	}
	dir, name := filepath.Split(path)
	if dir != "docs/configure/" {
		return
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## Flags of kube-scheduler") || strings.HasPrefix(line, "## SpazioSlotsArgs") {
			break // the flags of others, and the arguments of another plugin
		}
		if first, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); ok && strings.HasPrefix(line, "| `") {
			seen[first] = true
		}
	}
	switch {
	case name == "scheduler-arguments.md":
		count["SpazioArgs fields"] += len(seen)
	case name == "metrics.md":
		for metric := range seen {
			if strings.HasPrefix(metric, "spazio_") {
				count["metrics"]++
			}
		}
	case strings.HasPrefix(name, "spazio"):
		count["own flags"] += len(seen)
	}
}

// countGo counts what a file of Go has that is neither a test nor generated.
func countGo(t *testing.T, path string, text []byte, count map[string]int, packages map[string]bool) {
	t.Helper()
	if strings.HasSuffix(path, "_test.go") || generatedGo.Match(text) {
		return
	}
	packages[filepath.Dir(path)] = true
	count["lines of code"] += goLines(text)
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	exported := func(names ...*ast.Ident) (n int) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
		return n
	}
	for _, decl := range file.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok {
			count["exported names"] += exported(function.Name)
			continue
		}
		for _, spec := range decl.(*ast.GenDecl).Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				count["exported names"] += exported(spec.Names...)
			case *ast.TypeSpec:
				count["exported names"] += exported(spec.Name)
				if spec.Name.Name == "FieldError" {
					count["FieldError types"]++
				}
				if fields, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
					for _, field := range fields.Fields.List {
						count["exported fields"] += exported(field.Names...)
					}
				}
			}
		}
	}
}

// goLines returns the number of lines that hold code: neither blank nor a comment alone.
func goLines(text []byte) int {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // which the scanner inserts
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(literal, "\n"); line++ {
			lines[line] = true
		}
	}
}

// scriptLines is goLines of a shell or JavaScript file, whose comments stand on lines of their own.
func scriptLines(text string) (n int) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

func TestLinesOfCode(t *testing.T) {
	source := "// Package a has a comment.\npackage a\n\n/* and\nanother */\nvar text = `one\n\ntwo` // three lines\n"
	if got := goLines([]byte(source)); got != 4 {
		t.Errorf("%d lines, want 4", got)
	}
	if got := scriptLines("#!/bin/sh\n# why\n\nset -e\n  echo\n// js\n"); got != 2 {
		t.Errorf("%d lines of the script, want 2", got)
	}
}
