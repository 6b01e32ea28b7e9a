package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test's program stand for the command.
func TestMain(m *testing.M) {
	if os.Getenv("VET_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

// Files of a platform, and their tests, are looked at for that platform alone.
func TestPlatforms(t *testing.T) {
	files := map[string]string{
		"go.mod":          "module example.org/m\n\ngo 1.24.0\n",
		"m.go":            "package m\n",
		"m_windows.go":    "package m\n\nvar x int = \"a\"\n",
		"m_js_test.go":    "package m\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestM(t *testing.T) { fmt.Printf(\"%d\", \"x\") }\n",
		"m_darwin.go":     "package m\n\nimport _ \"example.org/m/sub\"\n",
		"sub/sub.go":      "package sub\n\nimport \"syscall\"\n\nvar _ = syscall.Cloneflags\n",
		"m_plan9.go":      "package m\n\nimport \"syscall\"\n\nvar _ = syscall.Plan9Only\n",
		"m_386.go":        "package m\n\nconst most = int(1) << 40\n",
		"m_wasm.go":       "package m\n",
		"m_linux_test.go": "package m\n",
	}
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string]string{
		"linux/amd64": "", "linux/arm64": "",
		"windows/amd64": "cannot use", "js/wasm": "format %d", "darwin/arm64": "Cloneflags", "plan9/amd64": "Plan9Only", "linux/386": "overflows",
	} {
		if testing.Short() && (strings.Contains(want, "format") || strings.Contains(want, "9Only") || strings.Contains(want, "flags")) {
			continue // these import much of the standard library
		}
		system, arch, _ := strings.Cut(platform, "/")
		vet := exec.CommandContext(t.Context(), os.Args[0], ".")
		vet.Dir = dir
		vet.Env = append(os.Environ(), "VET_COMMAND=1", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS="+system, "GOARCH="+arch)
		said, err := vet.CombinedOutput()
		if (err != nil) != (want != "") || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v, want %q:\n%s", platform, err, want, said)
		}
	}
}
