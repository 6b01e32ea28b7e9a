package documents

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// foreign are foreign commands, whose flags are not checked.
var foreign = []string{"apt-get", "benchstat", "cat", "cmp", "curl", "echo", "exit", "export", "find", "grep", "helm", "install", "kubectl", "mkdir", "mount", "sh", "systemctl"}

// placeholder matches a part of a command that the reader replaces, such as DIR or …: no program
// accepts it literally.
var placeholder = regexp.MustCompile(`…|\.\.\.$|^\$`)

// unwritten matches a program's error about a value that the reader is to write.
var unwritten = regexp.MustCompile(`^invalid argument "[A-Z]+" for`)

// A checker reports what in a text's commands does not exist: programs, their commands and flags,
// packages, tests, steps and files. It tracks cd.
type checker struct{ dir string }

// command reports whether it supports a simple command, and what is wrong with it.
func (c *checker) command(words []string) (known bool, err error) {
	name, args := words[0], words[1:]
	switch {
	case name == "cd" && len(args) == 1:
		c.dir = filepath.Join(c.dir, args[0])
		return true, c.directory(".")
	case name == "go":
		return true, c.goCommand(args)
	case name == "kubectl" && len(args) > 0 && args[0] == "spazio":
		return true, ours("kubectl-spazio", args[1:])
	case strings.HasPrefix(name, ".ci/"):
		return true, c.ci(name, args)
	}
	if _, ok := programs[filepath.Base(name)]; ok {
		return true, ours(filepath.Base(name), args)
	}
	if bench := filepath.Join("cmd/bench", filepath.Base(name)); name != "." && exists(filepath.Join(bench, "main.go")) {
		return true, c.flagsOf(bench, args)
	}
	return slices.Contains(foreign, name), errors.Join(c.files(args), role(args))
}

// role refuses unknown roles of ours.
func role(args []string) error {
	for _, arg := range args {
		name, ok := strings.CutPrefix(arg, "--clusterrole=spazio-")
		if !ok {
			continue
		}
		objects, err := deploy.Config{Components: deploy.Components()}.Objects()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "ClusterRole" && o.GetName() == "spazio-"+name
		}) {
			return fmt.Errorf("no manifest has the role spazio-%s", name)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}

func (c *checker) directory(path string) error {
	path = filepath.Join(c.dir, strings.TrimSuffix(path, "/..."))
	if info, err := os.Stat(filepath.Join(root, path)); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no directory %s", path)
	}
	return nil
}

// files refuses missing files of the tree.
func (c *checker) files(args []string) error {
	for _, arg := range args {
		for _, dir := range []string{"cmd/deploy/", "examples/", "docs/"} {
			if strings.HasPrefix(arg, dir) && !exists(arg) {
				return fmt.Errorf("there is no file %s", arg)
			}
		}
	}
	return nil
}

// parsed are programs' commands that earlier lines used: flags keep their values, on which no later
// line depends.
var parsed = map[string]*cobra.Command{}

// ours parses arguments as the program does, down to its flags' values and the number of its arguments.
func ours(name string, args []string) error {
	if i := slices.IndexFunc(args, placeholder.MatchString); i >= 0 {
		args = args[:i]
		if i > 0 && strings.HasPrefix(args[i-1], "-") { // its flag has no value
			args = args[:i-1]
		}
	}
	if parsed[name] == nil {
		parsed[name] = tree(name)
	}
	c, rest, err := parsed[name].Find(args)
	if err != nil {
		return err
	}
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	if err := c.ParseFlags(rest); err != nil && !unwritten.MatchString(err.Error()) {
		return fmt.Errorf("%s: %w", c.CommandPath(), err)
	}
	if c.HasSubCommands() && !c.Runnable() && c.Flags().NArg() > 0 {
		return fmt.Errorf("%s has no command %s", c.CommandPath(), c.Flags().Arg(0))
	}
	return nil
}

// goCommand checks `go run`, `go test` and others that take packages.
func (c *checker) goCommand(args []string) error {
	at := *c
	if len(args) == 0 {
		return nil
	}
	verb, args := args[0], args[1:]
	if !slices.Contains([]string{"build", "doc", "get", "install", "list", "mod", "run", "test", "tool", "vet", "version", "work", "env"}, verb) {
		return fmt.Errorf("go has no command %s", verb)
	}
	if verb != "run" && verb != "test" && verb != "build" {
		return nil
	}
	var packages, tests, own []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			if verb == "run" {
				return at.run(arg, args)
			}
			packages = append(packages, arg)
			continue
		}
		name, value, assigned := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if goFlags[name] && !assigned && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		switch _, known := goFlags[name]; {
		case name == "C":
			at.dir = filepath.Join(at.dir, value)
		case name == "run" || name == "bench" || name == "fuzz":
			tests = append(tests, value)
		case !known && verb == "test":
			own = append(own, "-"+name)
			if !assigned && len(args) > 0 && !strings.HasPrefix(args[0], "-") && !strings.HasPrefix(args[0], ".") {
				args = args[1:] // its value
			}
		case !known:
			return fmt.Errorf("go %s has no flag -%s", verb, name)
		}
	}
	return at.packages(packages, tests, own)
}

// goFlags are the go command's flags in documents, and whether a value follows.
var goFlags = map[string]bool{
	"C": true, "run": true, "bench": true, "fuzz": true, "fuzztime": true, "fuzzminimizetime": true, "count": true, "timeout": true, "tags": true, "benchtime": true,
	"cpu": true, "cpuprofile": true, "p": true, "o": true, "parallel": true, "ldflags": true, "modfile": true, "buildvcs": false, "v": false,
	"race": false, "short": false, "benchmem": false, "json": false, "args": false, "trimpath": false, "vet": false, "c": false,
}

// run checks `go run PACKAGE ARGS`.
func (c *checker) run(pkg string, args []string) error {
	if strings.Contains(pkg, "@") || placeholder.MatchString(pkg) {
		return nil
	}
	dir := filepath.Join(c.dir, pkg)
	if name, ok := strings.CutPrefix(dir, "cmd/"); ok && programs[name].main != nil {
		return ours(name, args)
	}
	if dir == "cmd/NAME" {
		return nil
	}
	if !exists(filepath.Join(dir, "main.go")) {
		return fmt.Errorf("there is no program %s", dir)
	}
	return c.flagsOf(dir, args)
}

// flagsOf checks flags against those that a program's source declares.
func (c *checker) flagsOf(dir string, args []string) error {
	_, declared := source(dir)
	if strings.HasPrefix(dir, "cmd/bench/") { // these programs share some
		_, shared := source("cmd/bench")
		maps.Copy(declared, shared)
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if _, err := strconv.ParseFloat(arg, 64); err == nil || !strings.HasPrefix(arg, "-") || name == "" || placeholder.MatchString(arg) {
			continue
		}
		if !declared[name] && name != "help" {
			return fmt.Errorf("%s has no flag -%s", dir, name)
		}
	}
	return nil
}

// packages checks that directories exist, and in them the tests of -run and -bench and the tests' own
// flags.
func (c *checker) packages(names, tests, own []string) error {
	if len(names) == 0 {
		names = []string{"."}
	}
	functions, declared := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		if name == "work" {
			return nil
		}
		if placeholder.MatchString(strings.TrimSuffix(name, "/...")) {
			return nil
		}
		if err := c.directory(name); err != nil {
			return err
		}
		for _, dir := range below(filepath.Join(c.dir, name)) {
			f, d := source(dir)
			maps.Copy(functions, f)
			maps.Copy(declared, d)
		}
	}
	for _, pattern := range tests {
		if err := named(pattern, functions); err != nil {
			return err
		}
	}
	for _, flag := range own {
		if !declared[flag[1:]] && !strings.HasPrefix(flag, "-test.") {
			return fmt.Errorf("neither go test nor %v has a flag %s", names, flag)
		}
	}
	return nil
}

// named returns an error for a part of a -run or -bench pattern that matches nothing.
func named(pattern string, functions map[string]bool) error {
	if slices.Contains([]string{"^$", ".", "xxx", "^FuzzX$"}, pattern) || placeholder.MatchString(pattern) {
		return nil
	}
	top, _, _ := strings.Cut(pattern, "/")
	parts := []string{top}
	if !strings.ContainsAny(top, "()") {
		parts = strings.Split(top, "|")
	}
	for _, part := range parts {
		match, err := regexp.Compile(part)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(functions)), match.MatchString) {
			return fmt.Errorf("no test or benchmark is named %s", part)
		}
	}
	return nil
}

// below returns a directory, and with /... at its end those below it.
func below(pattern string) []string {
	dir, all := strings.CutSuffix(pattern, "/...")
	if !all && pattern != "..." {
		return []string{dir}
	}
	var dirs []string
	_ = filepath.WalkDir(filepath.Join(root, dir), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			relative, _ := filepath.Rel(root, path)
			dirs = append(dirs, relative)
		}
		return nil
	})
	return dirs
}

var (
	declares = regexp.MustCompile(`^(Bool|Int|Int64|Uint|Uint64|Float64|String|Duration|StringSlice|IntSlice|UintSlice|Float64Slice|StringArray|StringToString|Text|Func|Var)(Var)?P?$`)
	isTest   = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)`)
)

// source returns the names of a directory's tests, and of the flags that it declares.
func source(dir string) (functions, flags map[string]bool) {
	functions, flags = map[string]bool{}, map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // another directory's
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if isTest.MatchString(n.Name.Name) {
					functions[n.Name.Name] = true
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && declares.MatchString(f.Sel.Name) {
					for _, arg := range n.Args[:min(3, len(n.Args))] { // the name, after its target and before its short form
						if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
							s, _ := strconv.Unquote(text.Value)
							flags[s] = true
						}
					}
				}
			}
			return true
		})
	}
	return functions, flags
}

var step = regexp.MustCompile(`(?m)^step_(\w+)\(\)`)

// ci checks a program of .ci, and of .ci/run its steps.
func (c *checker) ci(name string, args []string) error {
	if !exists(name) {
		return fmt.Errorf("there is no %s", name)
	}
	if name != ".ci/run" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err
	}
	steps := map[string]bool{}
	for _, m := range step.FindAllStringSubmatch(string(text), -1) {
		steps[m[1]] = true
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") { // a word in the script's last case
			if !strings.Contains(string(text), "\n"+arg+") ") {
				return fmt.Errorf(".ci/run knows no %s", arg)
			}
			continue
		}
		if !steps[arg] && arg != "STEP" && !placeholder.MatchString(arg) {
			return fmt.Errorf(".ci/run has no step %s", arg)
		}
	}
	return nil
}

// TestChecker checks what a checker accepts and refuses: of each kind an existing and a missing one.
func TestChecker(t *testing.T) {
	for line, want := range map[string]string{
		"spazio top --watch":                                               "",
		"kubectl spazio explain POD --limit 3":                             "",
		"spazio tops":                                                      "unknown command",
		"spazio top --watchful":                                            "unknown flag: --watchful",
		"spazio top --limit many":                                          "invalid argument",
		"spazio profile learn":                                             "no command learn",
		"./spazio-lab simulate b1 --work 1,10":                             "",
		"spazio-lab simulate b1 --seeds …":                                 "",
		"go run ./cmd/spazio-agent --energy=model":                         "",
		"go run ./cmd/spazio-agents":                                       "no program cmd/spazio-agents",
		"go run ./cmd/bench/load page --nodes 5 --out F":                   "",
		"go run ./cmd/bench/load page --noodles 5":                         "no flag -noodles",
		"go run -C tools/images . -insecure":                               "",
		"go run -C tools/images . -insecurity":                             "no flag -insecurity",
		"cd svd && go test -run Golden -v .":                               "",
		"cd svd && go test -run 'Golden|Silver' -v .":                      "named Silver",
		"go test -bench='Step/d=4' ./filter":                               "",
		"go test ./filters":                                                "no directory filters",
		"go test -run Soak ./cmd/internal/realnode -soak 2h":               "",
		"go test -run Soak ./cmd/internal/realnode -soaks 2h":              "has a flag -soaks",
		".ci/run vet test":                                                 "",
		".ci/run vett":                                                     "no step vett",
		".ci/tidi":                                                         "no .ci/tidi",
		"kubectl apply -f examples/testbeds/quota.yaml":                    "",
		"kubectl apply -f examples/testbeds/none.yaml":                     "no file",
		"spazio-scheduler --debug-listen 127.0.0.1:0 --config FILE":        "",
		"spazio-scheduler --leader-elects":                                 "unknown flag",
		"spazio-demo --seed N":                                             "",
		"spazio-demo --seed n":                                             "invalid argument",
		"kubectl create rolebinding x --clusterrole=spazio-testbed-author": "",
		"kubectl create rolebinding x --clusterrole=spazio-nobody":         "no manifest has the role",
	} {
		var c checker
		var got error
		for _, words := range simple(line) {
			known, err := c.command(words)
			if !known {
				t.Errorf("%s: unknown", line)
			}
			if got == nil {
				got = err
			}
		}
		if want == "" && got != nil || want != "" && (got == nil || !strings.Contains(got.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, got, want)
		}
	}
}
