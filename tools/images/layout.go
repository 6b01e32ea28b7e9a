package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// directory is an OCI image layout: one index of all images.
type directory struct{ path, tag string }

func (d *directory) repository(program string) string { return path.Join(unpublished, program) }

// open refuses to put a layout in the place of anything but another.
func (d *directory) open(context.Context) (destination, error) {
	if err := replaceable(d.path); err != nil {
		return nil, err
	}
	return newStaged(d.path, d.tag, func(staged string) error { return replace(staged, d.path) })
}

func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return invalid("to", dir, err.Error())
	case len(entries) == 0:
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil {
		return invalid("to", dir, "it holds something else than an image layout")
	}
	return nil
}

// replace moves a directory to where an older one may be.
func replace(staged, dir string) error {
	old := staged + ".old"
	err := os.Rename(dir, old)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.Rename(staged, dir)
	case err != nil:
		return err
	}
	if err := os.Rename(staged, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return os.RemoveAll(old)
}

// archive is such a layout in one file, as containerd and podman import it.
type archive struct{ path, tag string }

func (a *archive) repository(program string) string { return path.Join(unpublished, program) }

func (a *archive) open(context.Context) (destination, error) {
	if info, err := os.Stat(a.path); err == nil && !info.Mode().IsRegular() {
		return nil, invalid("to", a.path, "it is no file")
	}
	return newStaged(a.path, a.tag, func(staged string) error {
		packed := staged + ".tar"
		if err := pack(staged, packed); err != nil {
			return errors.Join(err, os.RemoveAll(packed))
		}
		return errors.Join(os.Rename(packed, a.path), os.RemoveAll(staged))
	})
}

// pack writes the directory's files as a tar archive.
func pack(dir, file string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		return packFile(w, name, filepath.ToSlash(inside))
	})
	return errors.Join(err, w.Close())
}

func packFile(w *tar.Writer, file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// The annotations that name an image of a layout: OCI's, and that which containerd
// takes an image's whole reference from.
const (
	layoutName     = "org.opencontainers.image.ref.name"
	containerdName = "io.containerd.image.name"
)

// staged is a layout that is written beside where it is to be.
type staged struct {
	tag    string
	layout layout.Path
	finish func(dir string) error
}

func newStaged(place, tag string, finish func(string) error) (destination, error) {
	dir, err := os.MkdirTemp(filepath.Dir(place), "."+filepath.Base(place)+".*")
	if err != nil {
		return nil, invalid("to", place, err.Error())
	}
	s := &staged{tag: tag, finish: finish}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.layout, err = layout.Write(dir, empty.Index)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *staged) add(ctx context.Context, image built) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := layout.WithAnnotations(map[string]string{
		layoutName:     s.tag,
		containerdName: path.Join(unpublished, image.name) + ":" + s.tag,
	})
	var err error
	switch r := image.result.(type) {
	case v1.ImageIndex:
		err = s.layout.AppendIndex(r, name)
	case v1.Image:
		err = s.layout.AppendImage(r, name)
	default:
		err = fmt.Errorf("ko made a %T", r)
	}
	if err != nil {
		return err
	}
	for _, b := range image.bills {
		referrer, err := b.referrer()
		if err != nil {
			return err
		}
		if err := s.layout.AppendImage(referrer); err != nil {
			return err
		}
	}
	return nil
}

func (s *staged) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.finish(string(s.layout)); err != nil {
		return err
	}
	s.layout = ""
	return nil
}

func (s *staged) abandon() error {
	if s.layout == "" {
		return nil
	}
	return os.RemoveAll(string(s.layout))
}
