package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"golang.org/x/tools/go/packages"
)

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
	files        []*source
}

// errUncompilable says that the instrumented code does not compile and that no
// single mutant is to blame.
var errUncompilable = errors.New("instrumented code does not compile")

// build returns the suites, and the mutants that had to be dropped because
// they do not compile.
func (b *builder) build(ctx context.Context) (suites []suite, dropped []*mutant, err error) {
	for {
		overlay, spans, err := b.overlay()
		if err != nil {
			return nil, nil, err
		}
		output, err := b.vet(ctx, overlay)
		if err != nil {
			return nil, nil, err
		}
		if output == "" {
			suites, err := b.link(ctx, overlay)
			return suites, dropped, err
		}
		bad := b.blamed(output, spans)
		if len(bad) == 0 {
			return nil, nil, fmt.Errorf("%w:\n%s", errUncompilable, output)
		}
		for _, m := range bad {
			m.fn.drop(m)
		}
		dropped = append(dropped, bad...)
	}
}

func (fn *function) drop(m *mutant) {
	kept := fn.chosen[:0]
	for _, c := range fn.chosen {
		if c != m {
			kept = append(kept, c)
		}
	}
	fn.chosen = kept
}

// overlay writes the instrumented files to the scratch folder and says in a
// file for `go build -overlay` what they stand in for.
func (b *builder) overlay() (path string, spans map[string][]span, err error) {
	replace := map[string]string{}
	spans = map[string][]span{}
	put := func(original, text string) error {
		name := filepath.Join(b.scratch, fmt.Sprintf("%d.go", len(replace)))
		replace[original] = name
		return os.WriteFile(name, []byte(text), 0o600)
	}
	for _, f := range b.files {
		text, s := f.instrument()
		spans[f.path] = s
		if err := put(f.path, text); err != nil {
			return "", nil, err
		}
		added := filepath.Join(filepath.Dir(f.path), "mutate_runtime.go")
		if _, done := replace[added]; !done {
			if err := put(added, fmt.Sprintf(runtimeSource, f.pkg.Name)); err != nil {
				return "", nil, err
			}
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(b.scratch, "overlay.json")
	return path, spans, os.WriteFile(path, data, 0o600)
}

// vet compiles without linking and returns what the compiler said.
func (b *builder) vet(ctx context.Context, overlay string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-gcflags=-e", "-overlay", overlay, "./...")
	cmd.Dir = b.dir
	output, err := cmd.CombinedOutput()
	if err == nil {
		return "", nil
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return string(output), nil
	}
	return "", fmt.Errorf("go build: %w", err)
}

var compilerLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// blamed lists the mutants whose copies the compiler complained about.
func (b *builder) blamed(output string, spans map[string][]span) []*mutant {
	var bad []*mutant
	seen := map[*mutant]bool{}
	for _, match := range compilerLine.FindAllStringSubmatch(output, -1) {
		path := match[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(b.dir, path)
		}
		line, _ := strconv.Atoi(match[2])
		for _, s := range spans[path] {
			if s.first <= line && line <= s.last && !seen[s.mutant] {
				seen[s.mutant] = true
				bad = append(bad, s.mutant)
			}
		}
	}
	return bad
}

// link makes a test binary of each package that has tests.
func (b *builder) link(ctx context.Context, overlay string) ([]suite, error) {
	var suites []suite
	for _, pkg := range b.pkgs {
		dir := filepath.Dir(pkg.GoFiles[0])
		label, err := filepath.Rel(b.dir, dir)
		if err != nil {
			return nil, err
		}
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(tests) == 0 {
			continue
		}
		binary := filepath.Join(b.scratch, fmt.Sprintf("suite%d.test", len(suites)))
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, pkg.PkgPath)
		cmd.Dir = b.dir
		if output, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", pkg.PkgPath, err, bytes.TrimSpace(output))
		}
		suites = append(suites, suite{label: label, dir: dir, binary: binary})
	}
	return suites, nil
}
