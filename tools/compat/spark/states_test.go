package spark

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"testing"
)

// declaredStates are the constants of type ApplicationStateType in the operator's source.
func declaredStates(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", read(t, "api/v1beta2/sparkapplication_types.go"), 0)
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "ApplicationStateType" && len(spec.Values) == 1 {
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%v is not a literal", spec.Names)
			}
			states = append(states, constant.StringVal(constant.MakeFromLiteral(literal.Value, literal.Kind, 0)))
		}
		return true
	})
	if len(states) < 14 {
		t.Fatalf("got %d states in the operator's source: %q", len(states), states)
	}
	return states
}
