//go:build realnode && linux

package realnode

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var figures = flag.String("figures", "", "a file for the tests' figures, as JSON")

// noted are the figures so far, by their subject.
var noted = map[string]any{}

// note adds figures to those of earlier tests in the file.
func note(t *testing.T, what string, value any) {
	t.Helper()
	if noted[what] = value; *figures == "" {
		return
	}
	text, err := json.MarshalIndent(noted, "", "  ")
	if err == nil {
		err = os.WriteFile(*figures, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
