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

// A mutant is one change of the source: the bytes [from, to) of a file become text.
type mutant struct {
	path, label string // of the file: absolute, and relative to the folder that was asked for
	dir         string // of the package
	function    string // as a reader would write it: (*Model).Update
	operator    string
	line        int
	from, to    int
	text        string
	// mutation describes it without positions: "n < m -> n <= m", and " #2"
	// for the second such one in a function.
	mutation string
}

// String is the mutant's position, operator and mutation on one line.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", m.label, m.line, m.function, m.operator, m.mutation)
}

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
	var all []*mutant
	for _, d := range file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || decl.Body == nil {
			continue
		}
		f := &finder{
			base: mutant{path: path, label: label, dir: filepath.Dir(path), function: decl.Name.Name},
			text: text, file: pkg.Fset.File(file.Package), info: pkg.TypesInfo, seen: map[string]int{},
		}
		if decl.Recv != nil {
			receiver := f.slice(decl.Recv.List[0].Type)
			if receiver[0] == '*' {
				receiver = "(" + receiver + ")"
			}
			f.base.function = receiver + "." + decl.Name.Name
		}
		ast.Inspect(decl.Body, f.visit)
		slices.SortStableFunc(f.out, func(a, b *mutant) int { return cmp.Compare(a.from, b.from) })
		all = append(all, f.out...)
	}
	return all, nil
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
	base mutant // what all mutants of the function have in common
	text []byte
	file *token.File
	info *types.Info
	seen map[string]int
	out  []*mutant
}

func (f *finder) slice(n ast.Node) string {
	return string(f.text[f.file.Offset(n.Pos()):f.file.Offset(n.End())])
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
	before, from := f.slice(node), f.file.Offset(at)
	within := from - f.file.Offset(node.Pos())
	f.add(operator, at, from, from+n, text, before, before[:within]+text+before[within+n:])
}

// remove adds a mutant for each statement that can be left out: not deleted but never run, so that what
// only it uses stays in use.
func (f *finder) remove(list []ast.Stmt) {
	for _, s := range list {
		if text := f.slice(s); removable(s) {
			f.add("removal", s.Pos(), f.file.Offset(s.Pos()), f.file.Offset(s.End()), "if false { "+text+" }", text, "nothing")
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

// add adds a mutant, which puts text in the place of the bytes from one offset to another.
func (f *finder) add(operator string, at token.Pos, from, to int, text, before, after string) {
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	m := f.base
	m.operator, m.line, m.from, m.to, m.text = operator, f.file.Line(at), from, to, text
	m.mutation = flat(before) + " -> " + flat(after)
	if f.seen[m.mutation]++; f.seen[m.mutation] > 1 {
		m.mutation = fmt.Sprintf("%s #%d", m.mutation, f.seen[m.mutation])
	}
	f.out = append(f.out, &m)
}
