// Command release makes a release of the modules that have changed, and reports beforehand what would
// be wrong with it.
//
//	GOWORK=off go run -C tools/release . set v0.2       requires v0.2.0 of siblings, everywhere
//	GOWORK=off go run -C tools/release . proxy DIR      the modules' releases and HEAD as a GOPROXY of files
//	GOWORK=off go run -C tools/release . verify         installs and compiles what is to be released
//	GOWORK=off go run -C tools/release . tag            prints the commands that tag it
//	GOWORK=off go run -C tools/release . archives DIR   spazio and kubectl-spazio with their sums
//
// RELEASING.md has them in their order. Only set writes into the tree, none of them makes a
// commit or a tag. Which modules are published, .ci/run says.
//
// Each module has versions of its own. HEAD's is the next patch version of what has changed
// since its last tag, and the one that other modules require of it, as set has written it, if
// that is later; a module that is not tagged yet, or requires a later minor version of another, has
// that minor version. What has not changed keeps its version and gets no tag.
//
// verify takes what is to be released as the world will: from a proxy, into an empty module
// cache, without the workspace and its replace directives. Each program has to be
// installed by its version, and each module to be compiled by one that requires nothing
// else. Modules of others come from the module cache of this machine,
// else from where the machine has them from, and are held to the sums of go.sum.
// The build cache is the usual one: Kubernetes is compiled once, with -trimpath, and from
// then on found there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// options are what the command line asks for.
type options struct {
	root, argument, url string
	stdout              io.Writer
}

// tasks are the commands, each with the argument that it wants after its name.
var tasks = map[string]struct {
	argument string
	run      func(context.Context, *tree, options) error
}{
	"set":      {"VERSION", set},
	"proxy":    {"DIR", writeProxy},
	"verify":   {"", verify},
	"tag":      {"", printTags},
	"archives": {"DIR", archives},
}

const usage = `usage: release [flags] set VERSION | proxy DIR | verify | tag | archives DIR`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command returns the exit code: 2 for what it was not asked rightly.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	name, o := "", options{stdout: stdout}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.root, "root", "../..", "directory of the repository")
	flags.StringVar(&o.url, "url", "", "archives: https URL below which they are published; also makes Krew's manifest, spazio.yaml")
	flags.Usage = func() {
		fmt.Fprintln(stderr, usage)
		flags.PrintDefaults()
	}
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	err := flags.Parse(args)
	task, known := tasks[name]
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case !known || (flags.NArg() == 1) != (task.argument != "") || flags.NArg() > 1:
		flags.Usage()
		return 2
	}
	o.argument = flags.Arg(0)
	if o.root, err = filepath.Abs(o.root); err == nil {
		var t *tree
		if t, err = open(ctx, o.root); err == nil {
			err = task.run(ctx, t, o)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "release:", err)
		return 1
	}
	return 0
}

// newDirectory makes the directory that a command fills. A relative path would be looked
// up where go run -C has gone: within the tree.
func newDirectory(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s: want an absolute path", dir)
	}
	return os.Mkdir(dir, 0o777)
}

// inScratch calls a function with a directory that lasts as long as the call.
func inScratch(do func(dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return do(dir)
}
