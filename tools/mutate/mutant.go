package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A mutant is one change of a function's source.
type mutant struct {
	id   int // 1 and up, unique in a run
	file *source
	fn   *function

	operator string
	line     int
	// What changes: the bytes [from, to) of the file become text.
	from, to int
	text     string
	// mutation describes it without positions: "n < m -> n <= m", and " #2"
	// for the second such one in a function.
	mutation string
}

// String is the mutant's position, operator and mutation on one line.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", m.file.label, m.line, m.fn.name, m.operator, m.mutation)
}

// swaps are the replacements of a binary operator or an assignment's.
var swaps = map[token.Token][]struct {
	operator string
	by       token.Token
}{
	token.ADD: {{"arithmetic", token.SUB}},
	token.SUB: {{"arithmetic", token.ADD}},
	token.MUL: {{"arithmetic", token.QUO}},
	token.QUO: {{"arithmetic", token.MUL}},
	token.REM: {{"arithmetic", token.MUL}},
	token.AND: {{"bitwise", token.OR}},
	token.OR:  {{"bitwise", token.AND}},

	token.ADD_ASSIGN: {{"arithmetic", token.SUB_ASSIGN}},
	token.SUB_ASSIGN: {{"arithmetic", token.ADD_ASSIGN}},
	token.MUL_ASSIGN: {{"arithmetic", token.QUO_ASSIGN}},
	token.QUO_ASSIGN: {{"arithmetic", token.MUL_ASSIGN}},
	token.REM_ASSIGN: {{"arithmetic", token.MUL_ASSIGN}},
	token.AND_ASSIGN: {{"bitwise", token.OR_ASSIGN}},
	token.OR_ASSIGN:  {{"bitwise", token.AND_ASSIGN}},

	token.LSS: {{"boundary", token.LEQ}, {"negation", token.GEQ}},
	token.LEQ: {{"boundary", token.LSS}, {"negation", token.GTR}},
	token.GTR: {{"boundary", token.GEQ}, {"negation", token.LEQ}},
	token.GEQ: {{"boundary", token.GTR}, {"negation", token.LSS}},
	token.EQL: {{"negation", token.NEQ}},
	token.NEQ: {{"negation", token.EQL}},

	token.LAND: {{"logic", token.LOR}},
	token.LOR:  {{"logic", token.LAND}},

	token.INC: {{"step", token.DEC}},
	token.DEC: {{"step", token.INC}},
}

// finder collects the mutants of one function.
type finder struct {
	file      *source
	fn        *function
	info      *types.Info
	constants bool // double constants, too
	seen      map[string]int
	out       []*mutant
}

// mutants lists the mutants of the function, in the order of its source.
func (fn *function) mutants(file *source, info *types.Info, constants bool) []*mutant {
	f := &finder{file: file, fn: fn, info: info, constants: constants, seen: map[string]int{}}
	ast.Inspect(fn.decl.Body, f.visit)
	slices.SortStableFunc(f.out, func(a, b *mutant) int { return cmp.Compare(a.from, b.from) })
	return f.out
}

func (f *finder) visit(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok && f.constant(e) {
		f.double(e)
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
		f.removals(n.List)
	case *ast.CaseClause:
		f.removals(n.Body)
	case *ast.CommClause:
		f.removals(n.Body)
	case *ast.CallExpr:
		// A capacity twice as large is no fault.
		name, ok := n.Fun.(*ast.Ident)
		return !ok || name.Name != "make"
	}
	return true
}

// constant reports whether the compiler evaluates the expression: a changed one
// might not compile, and where it does the value is a decision, not a fault.
func (f *finder) constant(e ast.Expr) bool { return f.info.Types[e].Value != nil }

// double adds a mutant in which a number stands doubled. Members of an
// enumeration have types of their own and are left alone.
func (f *finder) double(e ast.Expr) {
	v := f.info.Types[e]
	basic, ok := v.Type.(*types.Basic)
	if !f.constants || !ok || basic.Info()&types.IsNumeric == 0 || constant.Sign(v.Value) == 0 {
		return
	}
	text := f.file.slice(e)
	f.replace("constant", e, e.Pos(), len(text), "(2 * ("+text+"))")
}

func (f *finder) swap(n ast.Node, at token.Pos, op token.Token, x, y ast.Expr) {
	for _, s := range swaps[op] {
		if !f.allowed(s.by, x, y) {
			continue
		}
		f.replace(s.operator, n, at, len(op.String()), s.by.String())
	}
}

// allowed reports whether the operands admit the operator.
func (f *finder) allowed(op token.Token, x, y ast.Expr) bool {
	basic, ok := f.info.TypeOf(x).Underlying().(*types.Basic)
	switch op {
	case token.SUB, token.SUB_ASSIGN:
		// Strings can be added, not subtracted; a type parameter may be one.
		return ok && basic.Info()&types.IsNumeric != 0
	case token.QUO, token.QUO_ASSIGN:
		v := f.info.Types[y].Value
		return v == nil || constant.Sign(v) != 0
	}
	return true
}

// replace adds a mutant that puts text in place of n bytes at a position
// inside the node.
func (f *finder) replace(operator string, node ast.Node, at token.Pos, n int, text string) {
	from := f.file.offset(at)
	start, end := f.file.offset(node.Pos()), f.file.offset(node.End())
	before := string(f.file.text[start:end])
	after := string(f.file.text[start:from]) + text + string(f.file.text[from+n:end])
	f.add(&mutant{operator: operator, line: f.file.line(at), from: from, to: from + n, text: text},
		flat(before)+" -> "+flat(after))
}

// removals adds a mutant for each statement that can be left out.
func (f *finder) removals(list []ast.Stmt) {
	for _, s := range list {
		if !f.removable(s) {
			continue
		}
		start, end := f.file.offset(s.Pos()), f.file.offset(s.End())
		text := string(f.file.text[start:end])
		// Not deleted but never run: what only it uses stays in use.
		f.add(&mutant{operator: "removal", line: f.file.line(s.Pos()), from: start, to: end, text: "if false { " + text + " }"},
			flat(text)+" -> nothing")
	}
}

func (f *finder) removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && !blank(s.Lhs)
	case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		name, ok := call.Fun.(*ast.Ident)
		return !ok || name.Name != "panic" // it may end the function
	}
	return false
}

// blank reports whether all of an assignment's left side is _.
func blank(lhs []ast.Expr) bool {
	for _, e := range lhs {
		if name, ok := e.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}

func (f *finder) add(m *mutant, mutation string) {
	f.seen[mutation]++
	if n := f.seen[mutation]; n > 1 {
		mutation = fmt.Sprintf("%s #%d", mutation, n)
	}
	m.file, m.fn, m.mutation = f.file, f.fn, mutation
	f.out = append(f.out, m)
}

// flat puts source on one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
