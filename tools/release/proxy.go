package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// sums are what go.sum says of a module version, and of its go.mod (Version with the
// suffix /go.mod).
type sums map[xmodule.Version]string

// lines are the sums as go.sum has them.
func (s sums) lines() string {
	versions := slices.Collect(maps.Keys(s))
	xmodule.Sort(versions)
	var lines strings.Builder
	for _, v := range versions {
		fmt.Fprintf(&lines, "%s %s %s\n", v.Path, v.Version, s[v])
	}
	return lines.String()
}

// parseSums reads go.sum.
func parseSums(text string) sums {
	s := sums{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 {
			s[xmodule.Version{Path: f[0], Version: f[1]}] = f[2]
		}
	}
	return s
}

func writeProxy(ctx context.Context, o options) error {
	r, err := openRelease(ctx, o.root)
	if err != nil {
		return err
	}
	if err := newDirectory(o.argument); err != nil {
		return err
	}
	s, err := r.proxy(ctx, o.argument)
	if err != nil {
		return err
	}
	_, err = io.WriteString(o.stdout, s.lines())
	return err
}

// proxy writes the published modules below a directory as a GOPROXY serves them, and
// returns their sums.
func (r *release) proxy(ctx context.Context, dir string) (_ sums, err error) {
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	clone := filepath.Join(scratch, "clone")
	if err := r.copyTo(ctx, clone); err != nil {
		return nil, err
	}
	s := sums{}
	for _, m := range r.published {
		if err := r.publish(m, clone, dir, s); err != nil {
			return nil, fmt.Errorf("%s: %w", m.named(), err)
		}
	}
	return s, nil
}

// publish writes one module's list, .info, .mod and .zip: what a clone has of the commit,
// not what lies in the directory.
func (r *release) publish(m *module, clone, dir string, s sums) error {
	escaped, err := xmodule.EscapePath(m.path())
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{r.version, r.committed})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"list": []byte(r.version + "\n"), r.version + ".info": info, r.version + ".mod": m.text} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}
	zipped := filepath.Join(dir, r.version+".zip")
	if err := r.zip(m, clone, zipped); err != nil {
		return err
	}
	v := r.modulesVersion(m)
	if s[v], err = dirhash.HashZip(zipped, dirhash.Hash1); err != nil {
		return err
	}
	v.Version += "/go.mod"
	s[v], err = dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(m.text)), nil
	})
	return err
}

func (r *release) zip(m *module, clone, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	err = zip.CreateFromVCS(file, r.modulesVersion(m), clone, r.revision, m.dir)
	return errors.Join(err, file.Close())
}
