package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A source is a file of the code under test.
type source struct {
	path, label string // absolute, and relative to the folder that was asked for
	pkg         *packages.Package
	text        []byte
	file        *token.File
}

// A function is one whose body can be chosen at run time.
type function struct {
	id   int // that of its first mutant
	file *source
	name string // as a reader would write it: (*Model).Update
	decl *ast.FuncDecl
}

// A mutant is one change of a function's source: the bytes [from, to) of the file become text.
type mutant struct {
	id       int // 1 and up, unique in a run
	fn       *function
	operator string
	line     int
	from, to int
	text     string
	// mutation describes it without positions: "n < m -> n <= m", and " #2"
	// for the second such one in a function.
	mutation string
}

// String is the mutant's position, operator and mutation on one line.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", m.fn.file.label, m.line, m.fn.name, m.operator, m.mutation)
}

func (s *source) offset(p token.Pos) int { return s.file.Offset(p) }

func (s *source) slice(n ast.Node) string { return string(s.text[s.offset(n.Pos()):s.offset(n.End())]) }

// mutantsOf lists the mutants of a file.
func mutantsOf(pkg *packages.Package, file *ast.File, dir string) ([]*mutant, error) {
	path := pkg.Fset.Position(file.Package).Filename
	text, err := os.ReadFile(path)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
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
		f := &finder{fn: &function{file: s, decl: decl, name: decl.Name.Name}, info: pkg.TypesInfo, seen: map[string]int{}}
		if decl.Recv != nil {
			receiver := s.slice(decl.Recv.List[0].Type)
			if receiver[0] == '*' {
				receiver = "(" + receiver + ")"
			}
			f.fn.name = receiver + "." + decl.Name.Name
		}
		ast.Inspect(decl.Body, f.visit)
		if len(f.out) > 0 {
			slices.SortStableFunc(f.out, func(a, b *mutant) int { return cmp.Compare(a.from, b.from) })
			all = append(all, f.out...)
		}
	}
	return all, nil
}

// switchable reports whether a call of the function may be handed on to a copy
// of it: not where its place on the stack or a directive counts.
func switchable(decl *ast.FuncDecl) bool {
	name := decl.Name.Name
	if decl.Body == nil || name == "_" || decl.Recv == nil && (name == "init" || name == "main") || slices.Contains(typeParameters(decl), "_") {
		return false
	}
	if decl.Doc != nil && slices.ContainsFunc(decl.Doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:") }) {
		return false
	}
	recovers := false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isNamed(call.Fun, "recover") {
			recovers = true
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return !recovers
}

func typeParameters(decl *ast.FuncDecl) (names []string) {
	if decl.Type.TypeParams == nil {
		return nil
	}
	for _, field := range decl.Type.TypeParams.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

type swap struct {
	operator string
	by       token.Token
}

// swaps are the replacements of a binary operator or an assignment's.
var swaps = map[token.Token][]swap{
	token.ADD: {{"arithmetic", token.SUB}}, token.ADD_ASSIGN: {{"arithmetic", token.SUB_ASSIGN}},
	token.SUB: {{"arithmetic", token.ADD}}, token.SUB_ASSIGN: {{"arithmetic", token.ADD_ASSIGN}},
	token.MUL: {{"arithmetic", token.QUO}}, token.MUL_ASSIGN: {{"arithmetic", token.QUO_ASSIGN}},
	token.QUO: {{"arithmetic", token.MUL}}, token.QUO_ASSIGN: {{"arithmetic", token.MUL_ASSIGN}},
	token.REM: {{"arithmetic", token.MUL}}, token.REM_ASSIGN: {{"arithmetic", token.MUL_ASSIGN}},
	token.AND: {{"bitwise", token.OR}}, token.AND_ASSIGN: {{"bitwise", token.OR_ASSIGN}},
	token.OR: {{"bitwise", token.AND}}, token.OR_ASSIGN: {{"bitwise", token.AND_ASSIGN}},
	token.LSS: {{"boundary", token.LEQ}, {"negation", token.GEQ}}, token.LEQ: {{"boundary", token.LSS}, {"negation", token.GTR}},
	token.GTR: {{"boundary", token.GEQ}, {"negation", token.LEQ}}, token.GEQ: {{"boundary", token.GTR}, {"negation", token.LSS}},
	token.EQL: {{"negation", token.NEQ}}, token.NEQ: {{"negation", token.EQL}},
	token.LAND: {{"logic", token.LOR}}, token.LOR: {{"logic", token.LAND}},
	token.INC: {{"step", token.DEC}}, token.DEC: {{"step", token.INC}},
}

// finder collects the mutants of one function.
type finder struct {
	fn   *function
	info *types.Info
	seen map[string]int
	out  []*mutant
}

func (f *finder) visit(n ast.Node) bool {
	// What the compiler evaluates is left alone: a changed one might not compile, and where
	// it does the value is a decision, not a fault.
	if e, ok := n.(ast.Expr); ok && f.info.Types[e].Value != nil {
		return false
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.swap(n, n.OpPos, n.Op, n.X, n.Y)
	case *ast.UnaryExpr:
		if n.Op == token.SUB || n.Op == token.NOT {
			f.replace("sign", n, n.OpPos, len(n.Op.String()), "")
		}
	case *ast.IncDecStmt:
		f.swap(n, n.TokPos, n.Tok, n.X, nil)
	case *ast.AssignStmt:
		if len(n.Lhs) == 1 && len(n.Rhs) == 1 {
			f.swap(n, n.TokPos, n.Tok, n.Lhs[0], n.Rhs[0])
		}
	case *ast.BlockStmt:
		f.remove(n.List)
	case *ast.CaseClause:
		f.remove(n.Body)
	case *ast.CommClause:
		f.remove(n.Body)
	case *ast.CallExpr:
		return !isNamed(n.Fun, "make") // a capacity twice as large is no fault
	}
	return true
}

func (f *finder) swap(n ast.Node, at token.Pos, op token.Token, x, y ast.Expr) {
	for _, s := range swaps[op] {
		switch s.by {
		case token.SUB, token.SUB_ASSIGN:
			// Strings can be added, not subtracted; a type parameter may be one.
			if basic, ok := f.info.TypeOf(x).Underlying().(*types.Basic); !ok || basic.Info()&types.IsNumeric == 0 {
				continue
			}
		case token.QUO, token.QUO_ASSIGN:
			if v := f.info.Types[y].Value; v != nil && constant.Sign(v) == 0 {
				continue
			}
		}
		f.replace(s.operator, n, at, len(op.String()), s.by.String())
	}
}

// replace adds a mutant that puts text in place of n bytes at a position inside the node.
func (f *finder) replace(operator string, node ast.Node, at token.Pos, n int, text string) {
	s := f.fn.file
	start, from := s.offset(node.Pos()), s.offset(at)
	before := s.slice(node)
	f.add(&mutant{operator: operator, line: s.file.Line(at), from: from, to: from + n, text: text},
		before, before[:from-start]+text+before[from-start+n:])
}

// remove adds a mutant for each statement that can be left out: not deleted but never run, so that what
// only it uses stays in use.
func (f *finder) remove(list []ast.Stmt) {
	s := f.fn.file
	for _, statement := range list {
		if text := s.slice(statement); removable(statement) {
			f.add(&mutant{operator: "removal", line: s.file.Line(statement.Pos()), from: s.offset(statement.Pos()), to: s.offset(statement.End()),
				text: "if false { " + text + " }"}, text, "nothing")
		}
	}
}

func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { return !isNamed(e, "_") })
	case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return ok && !isNamed(call.Fun, "panic") // which may end the function
	}
	return false
}

func (f *finder) add(m *mutant, before, after string) {
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	m.fn, m.mutation = f.fn, flat(before)+" -> "+flat(after)
	if f.seen[m.mutation]++; f.seen[m.mutation] > 1 {
		m.mutation = fmt.Sprintf("%s #%d", m.mutation, f.seen[m.mutation])
	}
	f.out = append(f.out, m)
}
