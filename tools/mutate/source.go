package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A source is a file of the code under test.
type source struct {
	path  string // absolute
	label string // relative to the folder that was asked for
	pkg   *packages.Package
	text  []byte
	file  *token.File
	// functions that have mutants, in the order of the text.
	functions []*function
}

// A function is one whose body can be chosen at run time.
type function struct {
	id   int // 1 and up, unique in a run
	name string
	decl *ast.FuncDecl
	// chosen are the mutants of this run.
	chosen []*mutant
}

func (s *source) offset(p token.Pos) int { return s.file.Offset(p) }
func (s *source) line(p token.Pos) int   { return s.file.Line(p) }

func (s *source) slice(n ast.Node) string {
	return string(s.text[s.offset(n.Pos()):s.offset(n.End())])
}

// load reads the packages below dir and lists their mutants.
func load(dir string, constants bool) ([]*packages.Package, []*mutant, error) {
	config := &packages.Config{
		Dir: dir,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedModule,
	}
	pkgs, err := packages.Load(config, "./...")
	if err != nil {
		return nil, nil, err
	}
	var mutants []*mutant
	for _, pkg := range pkgs {
		if len(pkg.Errors) > 0 {
			return nil, nil, fmt.Errorf("%s: %w", pkg.PkgPath, pkg.Errors[0])
		}
		for _, file := range pkg.Syntax {
			found, err := mutantsOf(pkg, file, dir, constants)
			if err != nil {
				return nil, nil, err
			}
			mutants = append(mutants, found...)
		}
	}
	return pkgs, mutants, nil
}

func mutantsOf(pkg *packages.Package, file *ast.File, dir string, constants bool) ([]*mutant, error) {
	if ast.IsGenerated(file) {
		return nil, nil
	}
	path := pkg.Fset.Position(file.Package).Filename
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(text, []byte("import \"C\"")) {
		return nil, nil
	}
	label, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, label: label, pkg: pkg, text: text, file: pkg.Fset.File(file.Package)}
	var all []*mutant
	for _, d := range file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || !switchable(decl) {
			continue
		}
		fn := &function{name: functionName(s, decl), decl: decl}
		found := fn.mutants(s, pkg.TypesInfo, constants)
		if len(found) > 0 {
			s.functions = append(s.functions, fn)
			all = append(all, found...)
		}
	}
	return all, nil
}

// switchable reports whether a call of the function may be handed on to a copy
// of it: not where its place on the stack or a directive counts.
func switchable(decl *ast.FuncDecl) bool {
	if decl.Body == nil || decl.Name.Name == "_" || decl.Recv == nil && (decl.Name.Name == "init" || decl.Name.Name == "main") {
		return false
	}
	if decl.Doc != nil && slices.ContainsFunc(decl.Doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:") }) {
		return false
	}
	for _, name := range typeParameters(decl) {
		if name == "_" {
			return false
		}
	}
	recovers := false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "recover" {
				recovers = true
			}
		}
		return !recovers
	})
	return !recovers
}

func typeParameters(decl *ast.FuncDecl) []string {
	if decl.Type.TypeParams == nil {
		return nil
	}
	var names []string
	for _, field := range decl.Type.TypeParams.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// functionName is the name as a reader would write it: (*Model).Update.
func functionName(s *source, decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return decl.Name.Name
	}
	receiver := s.slice(decl.Recv.List[0].Type)
	if strings.HasPrefix(receiver, "*") {
		receiver = "(" + receiver + ")"
	}
	return receiver + "." + decl.Name.Name
}
