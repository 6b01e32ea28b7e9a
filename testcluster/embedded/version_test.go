package embedded_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// required returns the version of Kubernetes that the module requires, without its v.
func required(t *testing.T) string {
	t.Helper()
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes v(\S+)`).FindSubmatch(module)
	if required == nil {
		t.Fatal("go.mod requires no k8s.io/kubernetes")
	}
	return string(required[1])
}

// The documented version is the one that the module requires.
func TestDocumentedVersion(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(doc), "\n// ", " ")
	if want := "The version is that of k8s.io/kubernetes in this module's go.mod, " + required(t) + ";"; !strings.Contains(text, want) {
		t.Errorf("doc.go does not say %q", want)
	}
}
