package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// verify builds the commit twice, as two people would: clones at paths of unlike
// lengths, a process each, each with a build cache that is empty. The digests have
// to be equal, and each image what it should be.
func verify(ctx context.Context, opts options, stdout, stderr io.Writer) (err error) {
	src, err := open(ctx, opts.root, opts.kubernetes)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "images")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	var layouts []layout.Path
	for _, place := range []string{"a", "another/place"} {
		made, err := rebuild(ctx, src, filepath.Join(scratch, place), opts.choice, stderr)
		if err != nil {
			return fmt.Errorf("clone at %s: %w", place, err)
		}
		layouts = append(layouts, made)
	}
	first, err := read(layouts[0])
	if err != nil {
		return err
	}
	second, err := read(layouts[1])
	if err != nil {
		return err
	}
	if err := same(first, second); err != nil {
		return err
	}
	for _, image := range first {
		if err := image.check(stdout); err != nil {
			return err
		}
	}
	return nil
}

// rebuild makes the images of a new clone.
func rebuild(ctx context.Context, src *source, dir string, choice []string, stderr io.Writer) (layout.Path, error) {
	clone, made := filepath.Join(dir, "clone"), filepath.Join(dir, "layout")
	if _, err := output(ctx, src.root, nil, "git", "clone", "--quiet", "--no-checkout", src.root, clone); err != nil {
		return "", err
	}
	if _, err := output(ctx, clone, nil, "git", "checkout", "--quiet", "--detach", src.revision); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"-root", clone, "-to", "layout:" + made}, choice...)...)
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache"))
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it cleans up
	return layout.Path(made), cmd.Run()
}

// same fails for the first image that is not the same in both.
func same(first, second []image) error {
	if len(first) != len(second) {
		return fmt.Errorf("one clone makes %d images, the other %d", len(first), len(second))
	}
	for i, a := range first {
		b := second[i]
		if a.name != b.name || a.digest != b.digest {
			return fmt.Errorf("not reproducible: one clone makes %s@%s, the other %s@%s", a.name, a.digest, b.name, b.digest)
		}
		for j := range a.parts {
			if !bytes.Equal(a.parts[j].bill, b.parts[j].bill) {
				return fmt.Errorf("not reproducible: the bills of materials of %s differ", a.name)
			}
		}
	}
	return nil
}
