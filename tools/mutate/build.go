package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// runtimeSource is added to each package under test: which mutant runs, and a
// record of the functions that were called. A function is recorded once a
// process, as a line of its own, so that processes may share the file.
const runtimeSource = `package %s

import (
	mutateconv "strconv"
	mutateos "os"
	mutatesync "sync"
)

var (
	mutateActive, _ = mutateconv.Atoi(mutateos.Getenv("MUTATE_ACTIVE"))
	mutateRecord, _ = mutateos.OpenFile(mutateos.Getenv("MUTATE_RECORD"), mutateos.O_APPEND|mutateos.O_CREATE|mutateos.O_WRONLY, 0o600)
	mutateCalled    mutatesync.Map
)

func mutateCall(id int) {
	if mutateRecord == nil {
		return
	}
	if _, known := mutateCalled.LoadOrStore(id, true); !known {
		mutateRecord.WriteString(mutateconv.Itoa(id) + "\n")
	}
}
`

// instrument returns the file with each function that has mutants turned into a switch over its copies.
// The compiler takes a mutant's copy for a file of its own, by whose name it complains.
func (s *source) instrument(mutants []*mutant) string {
	text, done := "", 0
	for len(mutants) > 0 {
		fn := mutants[0].fn
		n := slices.IndexFunc(mutants, func(m *mutant) bool { return m.fn != fn })
		if n < 0 {
			n = len(mutants)
		}
		text += string(s.text[done:s.offset(fn.decl.Type.Func)]) + fn.dispatcher(mutants[:n]) + fn.copy(&mutant{})
		for _, m := range mutants[:n] {
			text += fmt.Sprintf("\n//line mutant%d.go:1\n", m.id) + fn.copy(m)
		}
		text += fmt.Sprintf("\n//line %s:%d\n", s.path, s.file.Line(fn.decl.End()))
		done, mutants = s.offset(fn.decl.End()), mutants[n:]
	}
	return text + string(s.text[done:])
}

// copy is the function under another name, changed as the mutant says, or as it is for none.
func (fn *function) copy(m *mutant) string {
	s := fn.file
	name, end := s.offset(fn.decl.Name.End()), s.offset(fn.decl.End())
	body := string(s.text[name:end])
	if m.id > 0 {
		body = string(s.text[name:m.from]) + m.text + string(s.text[m.to:end])
	}
	return string(s.text[s.offset(fn.decl.Type.Func):name]) + fmt.Sprintf("_mutate%d%s\n\n", m.id, body)
}

// dispatcher has the function's name and signature and calls the copy that the
// environment chose.
func (fn *function) dispatcher(mutants []*mutant) string {
	decl, s := fn.decl, fn.file
	receiver, callee, generic, instance := "", decl.Name.Name, "", ""
	if decl.Recv != nil {
		receiver, callee = "(mutateSelf "+s.slice(decl.Recv.List[0].Type)+") ", "mutateSelf."+callee
	}
	if names := typeParameters(decl); len(names) > 0 {
		generic, instance = s.slice(decl.Type.TypeParams), "["+strings.Join(names, ", ")+"]"
	}
	var params, args, results []string
	for i, t := range fieldTypes(decl.Type.Params) {
		name := fmt.Sprintf("mutateArg%d", i)
		params = append(params, name+" "+s.slice(t))
		if _, variadic := t.(*ast.Ellipsis); variadic {
			name += "..."
		}
		args = append(args, name)
	}
	for _, t := range fieldTypes(decl.Type.Results) {
		results = append(results, s.slice(t))
	}
	call := func(id int) string {
		called := fmt.Sprintf("%s_mutate%d%s(%s)\n", callee, id, instance, strings.Join(args, ", "))
		if len(results) > 0 {
			return "return " + called
		}
		return called + "return\n"
	}
	text := fmt.Sprintf("func %s%s%s(%s) (%s) {\nmutateCall(%d)\nswitch mutateActive {\n",
		receiver, decl.Name.Name, generic, strings.Join(params, ", "), strings.Join(results, ", "), fn.id)
	for _, m := range mutants {
		text += fmt.Sprintf("case %d:\n%s", m.id, call(m.id))
	}
	return text + "}\n" + call(0) + "}\n\n"
}

// fieldTypes are the types of parameters or results, one for each name.
func fieldTypes(list *ast.FieldList) (types []ast.Expr) {
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		for range max(len(field.Names), 1) {
			types = append(types, field.Type)
		}
	}
	return types
}

// A suite is a compiled test binary of one package, with all mutants in it.
type suite struct {
	label  string // the package's folder below the one asked for
	dir    string
	binary string
}

// builder compiles the instrumented packages below a folder.
type builder struct {
	dir, scratch string
	pkgs         []*packages.Package
}

// build returns the suites, and the mutants that compile.
func (b *builder) build(ctx context.Context, mutants []*mutant) ([]suite, []*mutant, error) {
	for {
		overlay, err := b.overlay(mutants)
		if err != nil {
			return nil, nil, err
		}
		output, err := b.run(ctx, "build", "-gcflags=-e", "-overlay", overlay, "./...")
		if err == nil {
			suites, err := b.link(ctx, overlay)
			return suites, mutants, err
		}
		good := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return strings.Contains(output, fmt.Sprintf("mutant%d.go:", m.id)) })
		if ctx.Err() != nil || len(good) == len(mutants) {
			return nil, nil, errors.Join(ctx.Err(), fmt.Errorf("instrumented code does not compile: %w\n%s", err, output))
		}
		mutants = good
	}
}

// overlay writes the instrumented files to the scratch folder and lists in a
// file for `go build -overlay` what they stand in for.
func (b *builder) overlay(mutants []*mutant) (path string, err error) {
	replace := map[string]string{}
	put := func(original, text string) {
		replace[original] = filepath.Join(b.scratch, fmt.Sprintf("%d.go", len(replace)))
		err = errors.Join(err, os.WriteFile(replace[original], []byte(text), 0o600))
	}
	for _, m := range mutants {
		f := m.fn.file
		if replace[f.path] != "" {
			continue
		}
		put(f.path, f.instrument(slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.fn.file != f })))
		if added := filepath.Join(filepath.Dir(f.path), "mutate_runtime.go"); replace[added] == "" {
			put(added, fmt.Sprintf(runtimeSource, f.pkg.Name))
		}
	}
	data, failed := json.Marshal(map[string]any{"Replace": replace})
	path = filepath.Join(b.scratch, "overlay.json")
	return path, errors.Join(err, failed, os.WriteFile(path, data, 0o600))
}

// run runs the go command and returns what it printed.
func (b *builder) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.dir
	output, err := cmd.CombinedOutput()
	return string(bytes.TrimSpace(output)), err
}

// link makes a test binary of each package that has tests.
func (b *builder) link(ctx context.Context, overlay string) (suites []suite, err error) {
	for _, pkg := range b.pkgs {
		dir := filepath.Dir(pkg.GoFiles[0])
		if tests, err := filepath.Glob(filepath.Join(dir, "*_test.go")); err != nil || len(tests) == 0 {
			continue
		}
		label, err := filepath.Rel(b.dir, dir)
		if err != nil {
			return nil, err
		}
		binary := filepath.Join(b.scratch, fmt.Sprintf("suite%d.test", len(suites)))
		if output, err := b.run(ctx, "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, pkg.PkgPath); err != nil {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", pkg.PkgPath, err, output)
		}
		suites = append(suites, suite{label: label, dir: dir, binary: binary})
	}
	return suites, nil
}
