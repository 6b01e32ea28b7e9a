package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// archived are the programs of cmd that people run on their own machines.
var archived = []string{plugin, "spazio"}

type platform struct{ OS, Arch string }

// platforms are those that a command line is used on.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// archive is one that was made.
type archive struct {
	platform
	Program, Version string
	File, SHA256     string
}

// archives builds the archives of HEAD: a program and the licence each, the same bytes for
// the same commit, tags and toolchain, whoever builds them where. SHA256SUMS has their
// sums, as sha256sum -c reads it.
func archives(ctx context.Context, o options) (err error) {
	if o.url != "" {
		if err := checkURL(o.url); err != nil {
			return err
		}
	}
	r, err := openRelease(ctx, o.root)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	b, err := r.newBuilder(ctx, scratch)
	if err != nil {
		return err
	}
	if err := newDirectory(o.argument); err != nil {
		return err
	}
	var made []archive
	for _, program := range archived {
		for _, p := range platforms {
			a, err := b.archive(ctx, program, p, o.argument)
			if err != nil {
				return fmt.Errorf("%s, %s/%s: %w", program, p.OS, p.Arch, err)
			}
			made = append(made, a)
			fmt.Fprintf(o.stdout, "%s  %s\n", a.SHA256, a.File)
		}
	}
	if err := writeArchiveSums(filepath.Join(o.argument, "SHA256SUMS"), made); err != nil {
		return err
	}
	if o.url == "" {
		return nil
	}
	return writeManifest(filepath.Join(o.argument, "spazio.yaml"), o.url, made)
}

func writeArchiveSums(file string, made []archive) error {
	var text strings.Builder
	for _, a := range made {
		fmt.Fprintf(&text, "%s  %s\n", a.SHA256, a.File)
	}
	return os.WriteFile(file, []byte(text.String()), 0o666)
}

// builder builds programs from a clone of its own: in a worktree the toolchain stamps none.
type builder struct {
	clone, scratch string
	environ        []string
	licence        []byte
}

func (r *release) newBuilder(ctx context.Context, scratch string) (*builder, error) {
	b := &builder{clone: filepath.Join(scratch, "clone"), scratch: scratch}
	if err := r.copyTo(ctx, b.clone); err != nil {
		return nil, err
	}
	if _, err := output(ctx, b.clone, nil, "git", "checkout", "--quiet", "--detach", r.revision); err != nil {
		return nil, err
	}
	// The go command adds to go.work.sum what it misses there, and would call the
	// programs dirty.
	if _, err := output(ctx, b.clone, nil, "git", "update-index", "--assume-unchanged", "go.work.sum"); err != nil {
		return nil, err
	}
	// Of how this machine is set up where modules come from and are kept counts, no more:
	// a setting of the user's own (go env -w) would change the bytes.
	here, err := settings(ctx, r.root, "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE", "GOVCS", "GOAUTH")
	if err != nil {
		return nil, err
	}
	b.environ = []string{
		"GOENV=off", "GOWORK=" + filepath.Join(b.clone, "go.work"), "GOFLAGS=", "CGO_ENABLED=0", "GOTOOLCHAIN=local",
		"GOEXPERIMENT=", "GODEBUG=", "GOFIPS140=", "GOAMD64=v1", "GOARM64=v8.0", "GO111MODULE=", "GOROOT=",
	}
	for name, value := range here {
		b.environ = append(b.environ, name+"="+value)
	}
	if err := checkToolchain(filepath.Join(b.clone, "go.work")); err != nil {
		return nil, err
	}
	b.licence, err = os.ReadFile(filepath.Join(b.clone, "LICENSE"))
	return b, err
}

// checkToolchain: another toolchain makes other bytes.
func checkToolchain(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	work, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return err
	}
	if work.Toolchain == nil || work.Toolchain.Name != runtime.Version() {
		return invalid("toolchain", runtime.Version(), "archives are made with the one that go.work pins: run with its GOTOOLCHAIN")
	}
	return nil
}

// archive builds the program of a platform and packs it.
func (b *builder) archive(ctx context.Context, program string, p platform, dir string) (archive, error) {
	file := filepath.Join(b.scratch, program)
	_, err := output(ctx, b.clone, append(slices.Clone(b.environ), "GOOS="+p.OS, "GOARCH="+p.Arch),
		"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", file, "./"+path.Join("cmd", program))
	if err != nil {
		return archive{}, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return archive{}, err
	}
	version := info.Main.Version
	if strings.Contains(version, "+dirty") || !strings.HasPrefix(version, "v") {
		return archive{}, invalid("version", version, "that is what the program was stamped with, and no commit's")
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		return archive{}, err
	}
	a := archive{platform: p, Program: program, Version: version, File: fmt.Sprintf("%s_%s_%s_%s.tar.gz", program, version, p.OS, p.Arch)}
	out, err := os.Create(filepath.Join(dir, a.File))
	if err != nil {
		return archive{}, err
	}
	sum := sha256.New()
	err = pack(io.MultiWriter(out, sum), program, binary, b.licence)
	a.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return a, errors.Join(err, out.Close())
}

// pack writes an archive without times and owners.
func pack(w io.Writer, program string, binary, licence []byte) error {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	for _, f := range []struct {
		name string
		mode int64
		text []byte
	}{{program, 0o755, binary}, {"LICENSE", 0o644, licence}} {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.text)), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := archive.Write(f.text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}
