// Command release makes a release of all modules, in lockstep, and says beforehand
// what would be wrong with it.
//
//	GOWORK=off go run -C tools/release . set v0.2       requires v0.2.0 of siblings, everywhere
//	GOWORK=off go run -C tools/release . sums           writes the siblings' sums into cmd/go.sum
//	GOWORK=off go run -C tools/release . proxy DIR      the modules of HEAD as a GOPROXY of files
//	GOWORK=off go run -C tools/release . verify         installs, compiles and compares them
//	GOWORK=off go run -C tools/release . tag            prints the commands that tag them
//	GOWORK=off go run -C tools/release . archives DIR   spazio and kubectl-spazio with their sums; -verify: twice
//
// RELEASING.md has them in their order. Only set and sums write into the tree, none
// of them makes a commit or a tag. Which modules are published, .ci/run says.
//
// verify takes the modules of HEAD as the world will: from a proxy, into an empty module
// cache, without the workspace and its replace directives. Each program has to be
// installed by @latest, each library to be compiled in a module that requires nothing
// else, and what it exports to be what it was at the last release, unless the version and
// CHANGELOG.md say otherwise. Modules of others come from the module cache of this machine,
// where what is missing is downloaded first, and have to have the sums that go.sum has.
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
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are what the command line asks for.
type options struct {
	root, base, url string
	verify          bool
	argument        string
	stdout          io.Writer
}

// task is a command: what it wants after its name, its flags and what it does.
type task struct {
	name, argument, about string
	flags                 func(*flag.FlagSet, *options)
	run                   func(context.Context, options) error
}

var tasks = []task{
	{"set", "VERSION", "requires this version of siblings in every go.mod", nil, set},
	{"sums", "", "writes the siblings' sums into the go.sum of what is installed by version", nil, writeSums},
	{"proxy", "DIR", "writes the modules of HEAD as a GOPROXY of files, prints their sums", nil, writeProxy},
	{"verify", "", "installs, compiles and compares the modules of HEAD", func(flags *flag.FlagSet, o *options) {
		flags.StringVar(&o.base, "base", "", "commit whose exported API must still be there (default: the last release's)")
	}, verify},
	{"tag", "", "prints the commands that tag HEAD", nil, printTags},
	{"archives", "DIR", "builds the archives of HEAD for those who don't have Go", func(flags *flag.FlagSet, o *options) {
		flags.BoolVar(&o.verify, "verify", false, "build from two clones at two paths with two empty build caches; fail if archives differ, or one for this machine does not start")
		flags.StringVar(&o.url, "url", "", "https URL below which they are published: also makes Krew's manifest, spazio.yaml")
	}, archives},
}

// command returns the exit code: 2 for what it was not asked rightly.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	t, o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 2
	}
	o.stdout = stdout
	if err := t.run(ctx, o); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (task, options, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		for _, t := range tasks {
			fmt.Fprintf(stderr, "release %-8s %-7s  %s\n", t.name, t.argument, t.about)
		}
		if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
			return task{}, options{}, flag.ErrHelp
		}
		return task{}, options{}, invalid("command", strings.Join(args, " "), "want one of the above")
	}
	for _, t := range tasks {
		if t.name == args[0] {
			o, err := t.parse(args[1:], stderr)
			return t, o, err
		}
	}
	return task{}, options{}, invalid("command", args[0], "no such command; -help names them")
}

func (t task) parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("release "+t.name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.root, "root", "../..", "directory of the repository")
	if t.flags != nil {
		t.flags(flags, &o)
	}
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	want := 0
	if t.argument != "" {
		want = 1
	}
	if flags.NArg() != want {
		return options{}, invalid(t.name, strings.Join(flags.Args(), " "), strings.TrimSpace("want one argument: "+t.argument))
	}
	o.argument = flags.Arg(0)
	var err error
	o.root, err = filepath.Abs(o.root)
	return o, err
}

// newDirectory makes the directory that a command fills. A relative path would be looked
// up where go run -C has gone: within the tree.
func newDirectory(dir string) error {
	if !filepath.IsAbs(dir) {
		return invalid("DIR", dir, "want an absolute path")
	}
	return os.Mkdir(dir, 0o777)
}
