package main

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/ko/pkg/build"
)

// unpublished is the registry that the chart names. Images in files have
// its names, so that a node that imports them runs the manifests as they are.
const unpublished = "registry.invalid/spazio"

// The annotations that name an image of a layout: OCI's, and that which containerd
// takes an image's whole reference from.
const (
	layoutName     = "org.opencontainers.image.ref.name"
	containerdName = "io.containerd.image.name"
)

// target is where images go: an OCI image layout, the same as an archive, or a registry,
// HOST[:PORT][/PATH], below which each image has a repository.
type target struct {
	kind, place string // layout, tar or push
	registry    string
	tag         string
	options     []name.Option
}

// newTarget reads KIND:PLACE. A relative path would be looked up where go run -C has gone: within
// the tree, where what is written counts as a change of it.
func newTarget(to, tag string, insecure bool) (target, error) {
	t := target{tag: tag, options: []name.Option{name.StrictValidation}}
	t.kind, t.place, _ = strings.Cut(to, ":")
	host, _, _ := strings.Cut(t.place, "/")
	switch {
	case t.kind == "push" && t.place != "":
		// A first part that is no host would be taken for a path at Docker Hub.
		if strings.Contains(t.place, "//") || !strings.ContainsAny(host, ".:") && host != "localhost" {
			return t, invalid("to", to, "want push:HOST[:PORT][/PATH]")
		}
		t.registry = t.place
		if insecure {
			t.options = append(t.options, name.Insecure)
		}
	case t.kind != "layout" && t.kind != "tar" || !filepath.IsAbs(t.place):
		return t, invalid("to", to, "want layout:DIR, tar:FILE, with absolute paths, or push:ADDRESS")
	case insecure:
		return t, invalid("insecure", true, "it is for push:ADDRESS")
	}
	if _, err := t.tagOf(scheduler); err != nil {
		return t, invalid("to", to+", tag = "+tag, err.Error())
	}
	return t, nil
}

// tagOf is the name that a program's image has there.
func (t target) tagOf(program string) (name.Tag, error) {
	return name.NewTag(path.Join(cmp.Or(t.registry, unpublished), program)+":"+t.tag, t.options...)
}

// check fails early for what would fail once images are built: a push without the right to it, by
// the login of docker or podman, and a layout in the place of anything but a layout. It returns the
// directory that the target lies in, "" for a registry.
func (t target) check(program string) (string, error) {
	switch t.kind {
	case "push":
		tag, err := t.tagOf(program)
		if err != nil {
			return "", err
		}
		if err := remote.CheckPushPermission(tag, authn.DefaultKeychain, remote.DefaultTransport); err != nil {
			return "", fmt.Errorf("%s: %w", t.place, err)
		}
		return "", nil
	case "tar":
		if info, err := os.Stat(t.place); err == nil && !info.Mode().IsRegular() {
			return "", invalid("to", t.place, "it is no file")
		}
	default:
		entries, err := os.ReadDir(t.place)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", invalid("to", t.place, err.Error())
		}
		if _, err := os.Stat(filepath.Join(t.place, "oci-layout")); err != nil && len(entries) > 0 {
			return "", invalid("to", t.place, "it holds something else than an image layout")
		}
	}
	return filepath.Dir(t.place), nil
}

// put pushes an image or an index, or adds it to a layout: under a tag or, if it is a bill of
// materials, by its digest.
func (t target) put(ctx context.Context, made layout.Path, as name.Reference, what build.Result) error {
	if t.kind == "push" {
		if err := remote.Push(as, what, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("push %s: %w", as, err)
		}
		return nil
	}
	var named []layout.Option
	if tag, ok := as.(name.Tag); ok {
		named = append(named, layout.WithAnnotations(map[string]string{layoutName: tag.TagStr(), containerdName: tag.String()}))
	}
	switch w := what.(type) {
	case v1.ImageIndex:
		return made.AppendIndex(w, named...)
	case v1.Image:
		return made.AppendImage(w, named...)
	}
	return fmt.Errorf("ko made a %T", what)
}

// deliver moves a layout to where it goes, whole: what a registry gets is there already.
func (t target) deliver(made string) error {
	switch t.kind {
	case "push":
		return nil
	case "tar":
		packed := made + ".tar"
		f, err := os.Create(packed)
		if err != nil {
			return err
		}
		w := tar.NewWriter(f)
		if err := errors.Join(w.AddFS(os.DirFS(made)), w.Close(), f.Close()); err != nil {
			return err
		}
		return os.Rename(packed, t.place)
	}
	return errors.Join(os.RemoveAll(t.place), os.Rename(made, t.place))
}
