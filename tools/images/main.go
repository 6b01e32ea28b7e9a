// Command images makes the images of Spazio's programs: ko builds each program on
// a base that is made here, in memory, and holds no shell and no authorities.
// Neither a container engine nor, once the modules are there, the network is needed.
//
//	GOWORK=off go run -C tools/images . -to layout:DIR      an OCI image layout
//	GOWORK=off go run -C tools/images . -to tar:FILE        the same as an archive
//	GOWORK=off go run -C tools/images . -to push:ADDRESS    into a registry
//	GOWORK=off go run -C tools/images . -verify             builds twice and compares
//
// With -kubernetes 1.35 it makes the scheduler of that version alone, by the workspace in
// tools/kubernetes/1.35; -k8s1.35 ends its tag, and its name in the file of -digests, to
// which it is added.
//
// A commit has one digest an image, whoever builds it where: the toolchain is
// go.work's, the environment's settings of the compiler do not count, and all
// times are the commit's. That holds for a clone; a git worktree and one with
// changes are built too, with a warning.
//
// The programs are built within the workspace, as everywhere else in the tree: the
// siblings that cmd/go.mod requires need not be published. This module alone lies
// outside of it, for ko's dependencies are many.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command returns the exit code: 2 for what it was not asked rightly.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 2
	}
	if opts.verify {
		err = verify(ctx, opts, stdout, stderr)
	} else {
		err = run(ctx, opts, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// run builds the images and hands them on.
func run(ctx context.Context, opts options, stdout, stderr io.Writer) (err error) {
	src, err := open(ctx, opts.root, opts.kubernetes)
	if err != nil {
		return err
	}
	for _, doubt := range src.doubts {
		fmt.Fprintln(stderr, "warning:", doubt)
	}
	scratch, err := os.MkdirTemp("", "images")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := src.pin(ctx, scratch); err != nil {
		return err
	}
	file, err := newDigestsFile(opts.digests, opts.kubernetes != "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.abandon()) }()
	dst, err := opts.to.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.abandon()) }()
	digests, err := produce(ctx, src, opts, dst, stdout)
	if err != nil {
		return err
	}
	if err := src.unchanged(ctx); err != nil {
		return err
	}
	if err := dst.commit(ctx); err != nil {
		return err
	}
	return file.commit(digests)
}

// produce builds the images one after the other and hands each on as it is built,
// so that what is wrong with where they go is known with the first.
func produce(ctx context.Context, src *source, opts options, dst destination, stdout io.Writer) (map[string]string, error) {
	digests := map[string]string{}
	for _, p := range opts.programs {
		img, err := src.build(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if err := dst.add(ctx, img); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		digests[src.digestName(p.name)] = img.digest.String()
		fmt.Fprintf(stdout, "%s@%s\n", opts.to.repository(p.name), img.digest)
	}
	return digests, nil
}
