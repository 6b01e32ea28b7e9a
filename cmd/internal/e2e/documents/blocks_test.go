package documents

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// A block is a documented list of commands, and what runs them by the comment right above it.
type block struct {
	file   string
	line   int
	text   string
	how    string // here, test, step, same or hand; empty without a comment
	detail string // further flags, the test, the step, the document, the reason
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// documents returns the markdown files of the repository.
func documents(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != root && (name[0] == '.' || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			relative, err := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	fence  = regexp.MustCompile("^\\s*```(.*)$")
	marked = regexp.MustCompile(`^\s*<!-- (run|by hand): (.*) -->$`)
	// typed matches a line of shell input.
	typed = regexp.MustCompile(`^\s{4,}(\$ )?([A-Z]+=\S+ )?(go (run|test|build|get|install)|kubectl|helm|curl|(\./)?spazio[a-z-]*|\.ci/[a-z]+|apt-get|cd|install|mkdir|systemctl|docker) \S`)
)

// shells are the other languages of blocks with commands, besides sh.
var shells = []string{"", "bash", "console", "shell"}

// parse returns a document's blocks of commands, its lines in other blocks that look like shell input,
// and its text outside of blocks.
func parse(file, text string) (blocks []block, stray []string, prose string) {
	var in *block
	var mark []string
	other, language := false, ""
	for i, line := range strings.Split(text, "\n") {
		f := fence.FindStringSubmatch(line)
		switch {
		case f != nil && in != nil:
			blocks = append(blocks, *in)
			in = nil
		case f != nil && other:
			other = false
		case f != nil && f[1] == "sh":
			in = &block{file: file, line: i + 1}
			in.how, in.detail = classify(mark)
		case f != nil:
			other, language = true, strings.TrimSpace(f[1])
		case in != nil:
			in.text += strings.TrimLeft(line, " ") + "\n"
		case other && slices.Contains(shells, language) && typed.MatchString("    "+line), !other && typed.MatchString(line):
			stray = append(stray, fmt.Sprintf("%s:%d: %s", file, i+1, strings.TrimSpace(line)))
		case !other:
			prose += line + "\n"
		}
		mark = marked.FindStringSubmatch(line)
	}
	return blocks, stray, prose
}

// classify parses a comment; how is empty if it is none of the forms in doc.go.
func classify(mark []string) (how, detail string) {
	if mark == nil {
		return "", ""
	}
	kind, rest := mark[1], mark[2]
	switch {
	case kind == "by hand" && len(rest) > 5:
		return "hand", rest
	case kind == "by hand":
		return "", ""
	case rest == "here":
		return "here", ""
	case strings.HasPrefix(rest, "here, with --"):
		return "here", strings.TrimPrefix(rest, "here, with ")
	case strings.HasPrefix(rest, ".ci/run "):
		return "step", strings.TrimPrefix(rest, ".ci/run ")
	case strings.HasPrefix(rest, "as in ") && strings.HasSuffix(rest, ".md"):
		return "same", strings.TrimPrefix(rest, "as in ")
	case strings.HasPrefix(rest, "Test") && strings.Contains(rest, " of "):
		return "test", rest
	}
	return "", ""
}

// Each block has an existing runner; everything in it exists; and commands for the reader are always in
// such a block.
func TestBlocksAreRun(t *testing.T) {
	count := map[string]int{}
	for _, file := range documents(t) {
		blocks, stray, _ := parse(file, read(t, filepath.Join(root, file)))
		for _, line := range stray {
			t.Errorf("%s: commands go into a block ```sh", line)
		}
		for _, b := range blocks {
			count[b.how]++
			if err := runner(b); err != nil {
				t.Errorf("%v: %v", b, err)
			}
			if b.how == "same" && !runIn(t, b.detail, b.text) {
				t.Errorf("%v: %s has no block of these commands that anything runs", b, b.detail)
			}
			var c checker
			for _, words := range simple(b.text) {
				known, err := c.command(words)
				if !known {
					t.Errorf("%v: %s: no program of ours, and none that documents use", b, words[0])
				}
				if err != nil {
					t.Errorf("%v: %s: %v", b, strings.Join(words, " "), err)
				}
			}
		}
	}
	t.Log(count)
	for _, how := range []string{"here", "test", "step", "same", "hand"} {
		if count[how] == 0 {
			t.Errorf("no block is run by %s: the parser of documents is out of date", how)
		}
	}
}

// testOf matches the name of a test in comments.
var testOf = regexp.MustCompile(`(Test\w+) of ([\w/]+)`)

// runIn reports whether a document has a block with these commands that is not run by hand.
func runIn(t *testing.T, file, commands string) bool {
	t.Helper()
	blocks, _, _ := parse(file, read(t, filepath.Join(root, file)))
	return slices.ContainsFunc(blocks, func(b block) bool { return b.text == commands && b.how != "hand" && b.how != "same" })
}

// runner returns an error if a block's runner does not exist.
func runner(b block) error {
	for _, named := range testOf.FindAllStringSubmatch(b.detail, -1) { // also of what is done by hand
		if functions, _ := source(named[2]); !functions[named[1]] {
			return fmt.Errorf("there is no test %s", named[0])
		}
	}
	switch b.how {
	case "":
		return fmt.Errorf("no comment right above says what runs it, as in go doc ./cmd/internal/e2e/documents")
	case "step":
		return new(checker).ci(".ci/run", strings.Fields(b.detail))
	}
	return nil
}

// Blocks that take seconds run in a shell, none of their commands fails, and their output fits a
// terminal. They run in a directory with the parts of the repository that they read, and their own tmp.
func TestBlocks(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Log("not run: there is no shell")
		return
	}
	env := append(os.Environ(), "PATH="+commands(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, file := range documents(t) {
		blocks, _, _ := parse(file, read(t, filepath.Join(root, file)))
		for _, b := range blocks {
			if b.how != "here" {
				continue
			}
			t.Run(b.String(), func(t *testing.T) {
				dir := scratch(t)
				c := exec.CommandContext(t.Context(), "sh", "-eu", "-c", strings.ReplaceAll(b.text, "/tmp/", filepath.Join(dir, "tmp")+"/"))
				c.Dir, c.Env = dir, append(env, furtherFlags+"="+b.detail)
				out, err := c.CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s\n%s", err, b.text, out)
				}
				if !strings.Contains(b.text+b.detail, "wide") && !strings.Contains(b.detail, "yaml") { // otherwise the output is for programs
					narrow(t, b.text, string(out))
				}
			})
		}
	}
}

// furtherFlags is the environment variable with the flags that a document's comment adds.
const furtherFlags = "SPAZIO_E2E_FLAGS"

// commands creates a directory with our programs, each of which is the test's binary, a kubectl with
// our plugin and the manifests' objects, and a go that runs NAME for `go run ./cmd/NAME`.
func commands(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name := range programs {
		script(name, fmt.Sprintf("%s=%s exec '%s' \"$@\" $%s\n", asProgram, name, self, furtherFlags))
	}
	script("kubectl", fmt.Sprintf(`[ "$1" = spazio ] && shift && exec kubectl-spazio "$@"
%s=1 exec '%s' "$@"
`, asKubectl, self))
	script("go", `case "$1 $2" in "run ./cmd/"*) name=${2#./cmd/}; shift 2; exec "$name" "$@" ;; esac
echo "only go run ./cmd/NAME is run here, not go $*" >&2
exit 2
`)
	return dir
}

// scratch creates a directory with empty ones as in docs, for the commands' output, and recordings; and
// in tmp the digests of images from tools/images, and a directory for a release.
func scratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	whole, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(whole, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(whole, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(dir, relative), 0o777)
		}
		if strings.HasSuffix(path, ".gz") {
			return os.Symlink(path, filepath.Join(dir, relative))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp/archives"), 0o700); err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, image := range append(deploy.Programs(), "spazio-scheduler-k8s1.36", "spazio-scheduler-k8s1.35") {
		digests[image] = fmt.Sprintf("sha256:%064d", 1)
	}
	data, err := json.Marshal(digests)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tmp/digests.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

var (
	span = regexp.MustCompile("`([^`]+)`")
	// optional matches what a text marks as optional.
	optional = regexp.MustCompile(`\[[^\]]*\]`)
	// inComment matches a command in a code comment.
	inComment = regexp.MustCompile(`(?m)^//\t((?:[A-Z]+=\S+ )?(?:go (?:run|test)|kubectl spazio|(?:\./)?spazio(?:-[a-z]+)*|\.ci/run) \S.*(?:\\\n//\t.*)*)`)
)

// All programs, flags, tests and steps in text and code comments exist, too.
func TestCommandsInText(t *testing.T) {
	checked := 0
	check := func(where, text string) {
		text = optional.ReplaceAllString(text, "")
		if strings.Contains(text, "{") { // a pattern
			return
		}
		var c checker
		for _, words := range simple(text) {
			known, err := c.command(words)
			if known && err != nil && !strings.Contains(err.Error(), "flag needs an argument") { // the text only names the flag
				t.Errorf("%s: %s: %v", where, text, err)
			}
			if known {
				checked++
			}
		}
	}
	for _, file := range documents(t) {
		_, stray, prose := parse(file, read(t, filepath.Join(root, file)))
		for _, line := range stray {
			_, text, _ := strings.Cut(line, ": ")
			check(file, text)
		}
		for _, m := range span.FindAllStringSubmatch(prose, -1) {
			text := strings.ReplaceAll(strings.Join(strings.Fields(m[1]), " "), `\|`, "|")
			if begins(text) {
				check(file, text)
			}
		}
	}
	for _, dir := range below("...") {
		if strings.HasPrefix(dir, ".git") || strings.Contains(dir, "testdata") {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
		for _, file := range files {
			for _, m := range inComment.FindAllStringSubmatch(read(t, file), -1) {
				check(strings.TrimPrefix(file, root+"/"), strings.ReplaceAll(m[1], "\n//\t", "\n"))
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d commands found: the parser of documents is out of date", checked)
	}
	t.Log(checked, "commands")
}

// begins reports whether a span of code is a command that is checked: one of ours, or of go.
func begins(text string) bool {
	words := simple(text)
	if len(words) == 0 || len(words[0]) < 2 {
		return false
	}
	first := words[0]
	if _, ok := programs[filepath.Base(first[0])]; ok {
		return true
	}
	return slices.Contains([]string{"go run", "go test", "kubectl spazio"}, first[0]+" "+first[1]) || first[0] == ".ci/run" || first[0] == "cd"
}

// TestParse checks what counts as a block of commands, as its runner, and as stray input.
func TestParse(t *testing.T) {
	text := "Text with `spazio top`.\n\n<!-- run: here, with --seeds 1 -->\n```sh\nspazio-lab simulate\n```\n\n" +
		"<!-- by hand: it takes a week -->\n\n```sh\nspazio check\n```\n\n```\n$ go run .\n```\n\n    go test work\n    no command\n"
	blocks, stray, prose := parse("F", text)
	if len(blocks) != 2 || blocks[0].how != "here" || blocks[0].detail != "--seeds 1" || blocks[0].text != "spazio-lab simulate\n" || blocks[0].line != 4 {
		t.Errorf("blocks: %+v", blocks)
	}
	if blocks[1].how != "" { // the comment is not right above
		t.Errorf("second block: got runner %q", blocks[1].how)
	}
	if len(stray) != 2 || stray[0] != "F:15: $ go run ." || stray[1] != "F:18: go test work" {
		t.Errorf("stray: %q", stray)
	}
	if !strings.Contains(prose, "spazio top") || strings.Contains(prose, "spazio check") {
		t.Errorf("prose: %q", prose)
	}
	for comment, want := range map[string]string{
		"run: here": "here", "by hand: two hours": "hand", "by hand: no": "", "run: .ci/run vet": "step",
		"run: TestX of a/b": "test", "run: as in docs/a.md": "same", "run: as in a dream": "", "run: somewhere": "", "run: here, quickly": "",
	} {
		if how, _ := classify(marked.FindStringSubmatch("<!-- " + comment + " -->")); how != want {
			t.Errorf("%s: %q, want %q", comment, how, want)
		}
	}
}
