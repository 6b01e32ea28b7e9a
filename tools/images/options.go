package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// options are what the command line asks for.
type options struct {
	root     string
	to       target
	programs []program
	digests  string
	verify   bool
	choice   []string // the flags that chose programs, platforms and Kubernetes
	// kubernetes is the minor version whose scheduler is made, the tree's for "".
	kubernetes string
}

// parse reads the command line. Usage and the flags' own errors go to stderr.
func parse(args []string, stderr io.Writer) (options, error) {
	var (
		opts                     options
		to, only, platforms, tag string
		all, insecure            bool
		flags                    = flag.NewFlagSet("images", flag.ContinueOnError)
	)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.root, "root", "../..", "directory of the repository")
	flags.StringVar(&to, "to", "", "where the images go: layout:DIR, tar:FILE (absolute paths) or push:ADDRESS")
	flags.StringVar(&only, "only", "", "these programs alone, comma-separated (all: "+strings.Join(names, ",")+"; and "+strings.Join(others, ",")+")")
	flags.StringVar(&platforms, "platforms", "", "these platforms alone, comma-separated (default: linux/amd64,linux/arm64, of the scheduler this machine's architecture alone)")
	flags.BoolVar(&all, "all", false, "both platforms of the scheduler too")
	flags.StringVar(&opts.kubernetes, "kubernetes", "", "minor version of Kubernetes, such as 1.35: makes the scheduler of it alone, with -k8s1.35 at the end of its tag")
	flags.StringVar(&tag, "tag", "dev", "tag of the images")
	flags.StringVar(&opts.digests, "digests", "", "file (an absolute path) for the digest of each program, as JSON; with -kubernetes it is added to what the file says")
	flags.BoolVar(&insecure, "insecure", false, "push over plain HTTP (an address of the loopback is always asked so)")
	flags.BoolVar(&opts.verify, "verify", false, "build two clones of the commit at two paths with two empty build caches; fail if digests differ, an image is too large, or its bill of materials is not what the program was built from")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, invalid("arguments", flags.Args(), "none are taken")
	}
	if opts.kubernetes != "" {
		if err := checkKubernetes(opts.kubernetes, only); err != nil {
			return options{}, err
		}
		only, tag = scheduler, tag+"-k8s"+opts.kubernetes
	}
	for _, chosen := range []string{"only", "platforms", "all", "kubernetes"} {
		opts.choice = append(opts.choice, "-"+chosen+"="+flags.Lookup(chosen).Value.String())
	}
	var err error
	if opts.programs, err = choose(only, platforms, all); err != nil {
		return options{}, err
	}
	if opts.verify {
		if to != "" || opts.digests != "" {
			return options{}, invalid("verify", true, "it keeps nothing: -to and -digests do not go with it")
		}
		return opts, nil
	}
	if opts.digests != "" {
		if err := absolute("digests", opts.digests); err != nil {
			return options{}, err
		}
	}
	opts.to, err = parseTarget(to, tag, insecure)
	return opts, err
}

// absolute refuses a path that would be looked up where go run -C has gone: within
// the tree, where what is written counts as a change of it.
func absolute(field, path string) error {
	if filepath.IsAbs(path) {
		return nil
	}
	return invalid(field, path, "want an absolute path")
}

// choose returns the programs in their order, each with its platforms.
func choose(only, platforms string, all bool) ([]program, error) {
	chosen := names
	if only != "" {
		chosen = strings.Split(only, ",")
	}
	everywhere, err := parsePlatforms(platforms, all)
	if err != nil {
		return nil, err
	}
	var programs []program
	for _, name := range chosen {
		p, known := programNamed(name)
		if !known {
			return nil, invalid("only", name, "no such program, there are "+strings.Join(slices.Concat(names, others), ", "))
		}
		if slices.ContainsFunc(programs, func(other program) bool { return other.name == p.name }) {
			return nil, invalid("only", name, "named twice")
		}
		p.platforms = everywhere
		if p.name == scheduler && platforms == "" && !all {
			p.platforms = []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}}
		}
		for _, platform := range p.platforms {
			if !isSupported(platform) {
				return nil, invalid("platforms", platform, "images are made for linux/amd64 and linux/arm64")
			}
		}
		programs = append(programs, p)
	}
	return programs, nil
}

func isSupported(platform v1.Platform) bool {
	return slices.ContainsFunc(supported, platform.Equals)
}

func parsePlatforms(platforms string, all bool) ([]v1.Platform, error) {
	if platforms == "" {
		return supported, nil
	}
	if all {
		return nil, invalid("platforms", platforms, "-all means every platform")
	}
	var parsed []v1.Platform
	for text := range strings.SplitSeq(platforms, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, invalid("platforms", text, err.Error())
		}
		if slices.ContainsFunc(parsed, platform.Equals) {
			return nil, invalid("platforms", text, "named twice")
		}
		parsed = append(parsed, *platform)
	}
	return parsed, nil
}

// parseTarget reads KIND:PLACE.
func parseTarget(to, tag string, insecure bool) (target, error) {
	kind, place, _ := strings.Cut(to, ":")
	if place == "" {
		return nil, invalid("to", fmt.Sprintf("%q", to), "want layout:DIR, tar:FILE or push:ADDRESS")
	}
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	if kind == "push" {
		return newRegistry(place, tag, insecure)
	}
	if insecure {
		return nil, invalid("insecure", true, "it is for push:ADDRESS")
	}
	if err := absolute("to", place); err != nil {
		return nil, err
	}
	switch place = filepath.Clean(place); kind {
	case "layout":
		return &directory{place, tag}, nil
	case "tar":
		return &archive{place, tag}, nil
	}
	return nil, invalid("to", to, "want layout:DIR, tar:FILE or push:ADDRESS")
}
