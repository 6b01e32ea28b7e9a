// Command images makes the images of Spazio's programs: ko builds each program on
// a base that is made here, in memory, and holds no shell and no authorities.
// Neither a container engine nor, once the modules are there, the network is needed.
//
//	GOWORK=off go run -C tools/images . -to layout:DIR      an OCI image layout
//	GOWORK=off go run -C tools/images . -to tar:FILE        the same as an archive
//	GOWORK=off go run -C tools/images . -to push:ADDRESS    into a registry
//
// With -only chart it makes the Helm chart's package as an artifact of the chart's own version, whose
// values name the images at the same place: by the file of -digests, else by -tag.
//
// With -kubernetes 1.35 it makes the scheduler of that version alone, by the workspace in
// tools/kubernetes/1.35; -k8s1.35 ends its tag, and its name in the file of -digests, to
// which it is added.
//
// A commit has one digest per image, on every machine: it is built from a clone, the
// toolchain is go.work's, the environment's settings of the compiler do not count, and all
// times are the commit's. What is not committed is built too, with a warning.
//
// The programs are built within the workspace, as everywhere else in the tree: the
// siblings that cmd/go.mod requires need not be published.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// program is one image to be made: its name, which is the program's, and for which platforms.
type program struct {
	name      string
	platforms []string
}

// scheduler is the one program that builds k8s.io/kubernetes, which takes minutes.
const scheduler = "spazio-scheduler"

// names are all programs that run in a cluster, as the chart's images.digests has
// them. The others are made where they are asked for alone: nothing that is installed runs them.
var (
	names = []string{
		"spazio-agent", "spazio-agent-kube", "spazio-aggregator", "spazio-certs", "spazio-descheduler", "spazio-profiler", scheduler, "spazio-testbed",
	}
	others = []string{"spazio-testapp", chart}
)

// supported are the platforms of an image.
var supported = []string{"linux/amd64", "linux/arm64"}

// options are what the command line asks for.
type options struct {
	root       string
	programs   []program
	kubernetes string // the minor version whose scheduler is made, the tree's for ""
	to         target
	digests    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command returns the exit code: 2 for what it was not asked rightly.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	code := 2
	if err == nil {
		code = 1
		err = run(ctx, o, stdout, stderr)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "images:", err)
	return code
}

// invalid is the error of an option that cannot be followed.
func invalid(option string, value any, why string) error {
	return fmt.Errorf("%s = %v: %s", option, value, why)
}

// parse reads the command line. Usage and the flags' own errors go to stderr.
func parse(args []string, stderr io.Writer) (options, error) {
	var (
		o                        options
		to, only, platforms, tag string
		all, insecure            bool
		flags                    = flag.NewFlagSet("images", flag.ContinueOnError)
	)
	flags.SetOutput(stderr)
	flags.StringVar(&o.root, "root", "../..", "directory of the repository")
	flags.StringVar(&to, "to", "", "where the images go: layout:DIR, tar:FILE (absolute paths) or push:ADDRESS")
	flags.StringVar(&only, "only", "", "these programs alone, comma-separated (all: "+strings.Join(names, ",")+"; and "+strings.Join(others, ",")+")")
	flags.StringVar(&platforms, "platforms", "", "these platforms alone, comma-separated (default: linux/amd64,linux/arm64, of the scheduler this machine's architecture alone)")
	flags.BoolVar(&all, "all", false, "both platforms of the scheduler too")
	flags.StringVar(&o.kubernetes, "kubernetes", "", "minor version of Kubernetes, such as 1.35: makes the scheduler of it alone, with -k8s1.35 at the end of its tag")
	flags.StringVar(&tag, "tag", "dev", "tag of the images")
	flags.StringVar(&o.digests, "digests", "", "file (an absolute path) for the digest of each program, as JSON; with -kubernetes it is added to what the file says; the chart takes it from there")
	flags.BoolVar(&insecure, "insecure", false, "push over plain HTTP (an address of the loopback is always asked so)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, invalid("arguments", flags.Args(), "none are taken")
	}
	if o.kubernetes != "" {
		if only != "" && only != "scheduler" && only != scheduler {
			return o, invalid("kubernetes", o.kubernetes, "the scheduler alone is made of it, not "+only)
		}
		only, tag = scheduler, tag+"-k8s"+o.kubernetes
	}
	if o.programs, err = choose(only, platforms, all); err != nil {
		return o, err
	}
	if o.digests != "" && !filepath.IsAbs(o.digests) {
		return o, invalid("digests", o.digests, "want an absolute path")
	}
	o.to, err = newTarget(to, tag, insecure)
	return o, err
}

// choose returns the programs in their order, each with its platforms.
func choose(only, platforms string, all bool) ([]program, error) {
	chosen, everywhere := names, supported
	if all && platforms != "" {
		return nil, invalid("platforms", platforms, "-all is for both platforms: give one of the two")
	}
	if only != "" {
		chosen = strings.Split(only, ",")
	}
	if platforms != "" {
		everywhere = strings.Split(platforms, ",")
		for _, platform := range everywhere {
			if !slices.Contains(supported, platform) {
				return nil, invalid("platforms", platform, "images are made for "+strings.Join(supported, " and "))
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(everywhere)))) < len(everywhere) {
			return nil, invalid("platforms", platforms, "one of them is there twice")
		}
	}
	if len(chosen) > 1 && slices.Contains(chosen, chart) {
		return nil, invalid("only", only, "the chart is made alone, when the images are there")
	}
	var programs []program
	for _, name := range chosen {
		p := program{name, everywhere}
		if name != chart {
			p.name = "spazio-" + strings.TrimPrefix(name, "spazio-")
		}
		if known := slices.Concat(names, others); !slices.Contains(known, p.name) {
			return nil, invalid("only", name, "no such program, there are "+strings.Join(known, ", "))
		}
		if slices.ContainsFunc(programs, func(other program) bool { return other.name == p.name }) {
			return nil, invalid("only", only, p.name+" is there twice")
		}
		if p.name == scheduler && platforms == "" && !all {
			p.platforms = []string{"linux/" + runtime.GOARCH}
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// run builds the images beside where they go, and hands them on once all are there.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	// What the file of digests says stays if it is added to.
	digests := map[string]string{}
	if o.digests != "" {
		text, err := os.ReadFile(o.digests)
		ofChart := o.programs[0].name == chart
		if err == nil && (o.kubernetes != "" || ofChart) {
			err = json.Unmarshal(text, &digests)
		} else if errors.Is(err, fs.ErrNotExist) && !ofChart {
			_, err = os.Stat(filepath.Dir(o.digests))
		}
		if err != nil {
			return invalid("digests", o.digests, err.Error())
		}
	}
	parent, err := o.to.check(strings.Replace(o.programs[0].name, chart, chartName, 1))
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(parent, ".images*")
	if err != nil {
		return invalid("to", o.to.place, err.Error())
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := makeAll(ctx, o, scratch, digests, stdout, stderr); err != nil {
		return err
	}
	if err := o.to.deliver(filepath.Join(scratch, "layout")); err != nil || o.digests == "" {
		return err
	}
	text, err := json.MarshalIndent(digests, "", "  ")
	return errors.Join(err, os.WriteFile(o.digests, append(text, '\n'), 0o644))
}

// makeAll builds the images from a clone that it makes in a directory, and adds their digests to those
// given, as the chart's images.digests takes them.
func makeAll(ctx context.Context, o options, dir string, digests map[string]string, stdout, log io.Writer) error {
	s, err := open(ctx, o, filepath.Join(dir, "clone"), log)
	if err != nil {
		return err
	}
	s.digests = digests
	if s.Changes != "" {
		fmt.Fprintf(log, "warning: there are changes beyond %s: the images are not that commit's\n", s.Revision)
	}
	if s.made, err = layout.Write(filepath.Join(dir, "layout"), empty.Index); err != nil {
		return err
	}
	for _, p := range o.programs {
		reference, err := s.make(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if p.name != chart {
			digests[p.name+s.suffix] = reference.DigestStr()
		}
		fmt.Fprintln(stdout, reference)
	}
	return nil
}
