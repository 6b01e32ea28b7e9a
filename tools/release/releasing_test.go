package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// releasing matches the commands in RELEASING.md that this test runs.
var releasing = regexp.MustCompile("(?ms)^<!-- run: TestReleasing of tools/release -->\n```sh\nGOWORK=off go run -C tools/release \\. ([^\n]*)\n```$")

// The documented commands, in their order and with the documented edits and commits in between, make a
// release: every module is required and tagged at its version, with archives of it.
func TestReleasing(t *testing.T) {
	text, err := os.ReadFile("../../RELEASING.md")
	if err != nil {
		t.Fatal(err)
	}
	root, dir := newTree(t, nil), t.TempDir()
	var done []string
	for _, command := range releasing.FindAllSubmatch(text, -1) {
		words := strings.Fields(strings.ReplaceAll(string(command[1]), "/tmp/", dir+"/"))
		output := must(t, root, words[0], words[1:]...)
		done = append(done, words[0])
		switch words[0] {
		case "set":
			write(t, root, map[string]string{"CHANGELOG.md": strings.Replace(tiny["CHANGELOG.md"], "## [Unreleased]", "## [Unreleased]\n\n## [0.2.0] - 2026-11-23", 1)})
			commit(t, root, nil)
		case "tag": // except the push
			tags, _, _ := strings.Cut(output, "git push")
			shell := exec.Command("sh", "-eu", "-c", tags)
			shell.Dir = root
			shell.Env = append(os.Environ(), "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
			if out, err := shell.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	if want := []string{"set", "tag", "archives"}; !slices.Equal(done, want) {
		t.Fatalf("got %q in the document, want %q", done, want)
	}
	if got, want := strings.Fields(git(t, root, "tag")), []string{"base/v0.2.0", "cmd/v0.2.0", "lib/v0.2.0", "v0.2.0"}; !slices.Equal(got, want) {
		t.Errorf("tags %q, want %q", got, want)
	}
	files := read(t, filepath.Join(dir, "archives"))
	if files["spazio_v0.2.0_linux_arm64.tar.gz"] == "" || !strings.Contains(files["spazio.yaml"], "uri: https://DOWNLOADS/kubectl-spazio_v0.2.0_linux_amd64.tar.gz\n") {
		t.Errorf("got %d archives, for Krew:\n%s", len(files), files["spazio.yaml"])
	}
}
