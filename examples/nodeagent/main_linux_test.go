package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, 2); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"report 1: room for ", "report 2: room for ", "here has room for "} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}
