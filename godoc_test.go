package spazio_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// concurrent is how the comment on a type, or its package's, speaks of concurrent use.
	concurrent = regexp.MustCompile(`(?i)concurren|plain value|goroutine|parallel|immutable|one at a time|read-only`)
	// unsaid are methods that everybody knows.
	unsaid = []string{"Error", "Unwrap", "Is", "As", "String", "GoString", "Len", "Less", "Swap", "MarshalText", "UnmarshalText", "MarshalJSON", "UnmarshalJSON", "RoundTrip", "ServeHTTP", "Describe", "Collect"}
)

// libraries are the directories of packages that others import: not of programs, tools and what
// is internal.
func libraries(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); path != "." && (name[0] == '.' || name == "testdata" || name == "internal" || slices.Contains([]string{"cmd", "tools", "examples"}, name)) {
			return filepath.SkipDir
		}
		if files, _ := filepath.Glob(filepath.Join(path, "*.go")); len(files) > 0 {
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// packageDoc reads a directory's package as go doc does.
func packageDoc(t *testing.T, dir string) *doc.Package {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.IsGenerated(file) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil
	}
	p, err := doc.NewFromFiles(set, files, modulePath+"/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// isInterface says of a type whether others make it: then the package can't speak for it.
func isInterface(t *doc.Type) bool {
	_, ok := t.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.InterfaceType)
	return ok
}

// Each package says in its first sentence what it is, each exported type, function and method
// what it does, and each type whether goroutines may share it, or its package for all.
func TestGodoc(t *testing.T) {
	dirs := libraries(t)
	if len(dirs) < 84 {
		t.Fatalf("only %d packages found", len(dirs))
	}
	for _, dir := range dirs {
		p := packageDoc(t, dir)
		if p == nil {
			continue
		}
		if first := p.Synopsis(p.Doc); !strings.HasPrefix(first, "Package "+p.Name+" ") || len(strings.Fields(first)) < 6 {
			t.Errorf("%s: the package's comment begins with %q", dir, first)
		}
		functions := slices.Clone(p.Funcs)
		for _, typ := range p.Types {
			if strings.TrimSpace(typ.Doc) == "" {
				t.Errorf("%s: type %s has no comment", dir, typ.Name)
			}
			if !concurrent.MatchString(typ.Doc) && (isInterface(typ) || !concurrent.MatchString(p.Doc)) {
				t.Errorf("%s: neither type %s nor the package says whether goroutines may share it", dir, typ.Name)
			}
			functions = append(append(functions, typ.Funcs...), typ.Methods...)
		}
		for _, f := range functions {
			if known := f.Recv != "" && slices.Contains(unsaid, f.Name); strings.TrimSpace(f.Doc) == "" && !known {
				t.Errorf("%s: %s %s has no comment", dir, f.Recv, f.Name)
			}
		}
	}
}
