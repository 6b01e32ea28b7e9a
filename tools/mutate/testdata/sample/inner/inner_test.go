package inner_test

import (
	"testing"

	"example.com/sample/inner"
)

func TestBoth(t *testing.T) {
	if !inner.Both(true, true) || inner.Both(true, false) {
		t.Error("wrong")
	}
}

func ExampleBoth() {
	println(inner.Both(true, true))
}
