package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// runtimeSource is added to each package under test: which mutant runs, and a
// record of the functions that were called. A function is recorded once a
// process, as a line of its own, so that processes may share the file.
const runtimeSource = `package %s

import (
	mutateos "os"
	mutateconv "strconv"
	mutatesync "sync"
)

var (
	mutateActive, _ = mutateconv.Atoi(mutateos.Getenv("MUTATE_ACTIVE"))
	mutateRecord    = mutateos.Getenv("MUTATE_RECORD")
	mutateCalled    mutatesync.Map
)

func mutateCall(id int) {
	if mutateRecord == "" {
		return
	}
	if _, known := mutateCalled.LoadOrStore(id, true); known {
		return
	}
	f, err := mutateos.OpenFile(mutateRecord, mutateos.O_APPEND|mutateos.O_CREATE|mutateos.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(mutateconv.Itoa(id) + "\n"); err != nil {
		panic(err)
	}
}
`

// A span says which lines of an instrumented file belong to a mutant.
type span struct {
	first, last int
	mutant      *mutant
}

// instrument returns the file with each function that has chosen mutants
// turned into a switch over its copies, and where those stand.
func (s *source) instrument() (string, []span) {
	var out strings.Builder
	var spans []span
	done := 0
	for _, fn := range s.functions {
		if len(fn.chosen) == 0 {
			continue
		}
		from, to := s.offset(fn.decl.Type.Func), s.offset(fn.decl.End())
		out.Write(s.text[done:from])
		out.WriteString(s.dispatcher(fn))
		out.WriteString(s.copyOf(fn, nil))
		for _, m := range fn.chosen {
			first := strings.Count(out.String(), "\n") + 1
			out.WriteString(s.copyOf(fn, m))
			spans = append(spans, span{first: first, last: strings.Count(out.String(), "\n"), mutant: m})
		}
		done = to
	}
	out.Write(s.text[done:])
	return out.String(), spans
}

// copyOf is the function under another name, changed as the mutant says.
func (s *source) copyOf(fn *function, m *mutant) string {
	from, to := s.offset(fn.decl.Type.Func), s.offset(fn.decl.End())
	name := s.offset(fn.decl.Name.Pos())
	head := string(s.text[from:name]) + copyName(fn, m)
	rest := name + len(fn.decl.Name.Name)
	if m == nil {
		return head + string(s.text[rest:to]) + "\n\n"
	}
	return head + string(s.text[rest:m.from]) + m.text + string(s.text[m.to:to]) + "\n\n"
}

func copyName(fn *function, m *mutant) string {
	id := 0
	if m != nil {
		id = m.id
	}
	return fmt.Sprintf("%s_mutate%d", fn.decl.Name.Name, id)
}

// dispatcher has the function's name and signature and calls the copy that the
// environment chose.
func (s *source) dispatcher(fn *function) string {
	receiver, callee := "", ""
	if fn.decl.Recv != nil {
		receiver = fmt.Sprintf("(mutateSelf %s) ", s.slice(fn.decl.Recv.List[0].Type))
		callee = "mutateSelf."
	}
	generic, instance := "", ""
	if names := typeParameters(fn.decl); len(names) > 0 {
		generic = s.slice(fn.decl.Type.TypeParams)
		instance = "[" + strings.Join(names, ", ") + "]"
	}
	params, args := s.parameters(fn.decl.Type.Params)
	results, verb := s.results(fn.decl.Type.Results), "return "
	if results == "" {
		verb = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "func %s%s%s(%s) %s {\n\tmutateCall(%d)\n\tswitch mutateActive {\n",
		receiver, fn.decl.Name.Name, generic, params, results, fn.id)
	for _, m := range fn.chosen {
		fmt.Fprintf(&b, "\tcase %d:\n\t\t%s%s%s%s(%s)\n", m.id, verb, callee, copyName(fn, m), instance, args)
		if verb == "" {
			b.WriteString("\t\treturn\n")
		}
	}
	fmt.Fprintf(&b, "\t}\n\t%s%s%s%s(%s)\n}\n\n", verb, callee, copyName(fn, nil), instance, args)
	return b.String()
}

// parameters gives every parameter a name, and lists them as arguments.
func (s *source) parameters(list *ast.FieldList) (params, args string) {
	var p, a []string
	for _, field := range list.List {
		variadic := ""
		if _, ok := field.Type.(*ast.Ellipsis); ok {
			variadic = "..."
		}
		for range max(len(field.Names), 1) {
			name := fmt.Sprintf("mutateArg%d", len(p))
			p = append(p, name+" "+s.slice(field.Type))
			a = append(a, name+variadic)
		}
	}
	return strings.Join(p, ", "), strings.Join(a, ", ")
}

// results lists the types of the results without their names.
func (s *source) results(list *ast.FieldList) string {
	if list == nil || len(list.List) == 0 {
		return ""
	}
	var types []string
	for _, field := range list.List {
		for range max(len(field.Names), 1) {
			types = append(types, s.slice(field.Type))
		}
	}
	return "(" + strings.Join(types, ", ") + ")"
}
