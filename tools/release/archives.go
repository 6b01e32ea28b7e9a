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
// sums, as sha256sum -c reads it; it is written last, of archives that stand.
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
	if err := newDirectory(o.argument); err != nil {
		return err
	}
	var made []archive
	if o.verify {
		made, err = r.archiveTwice(ctx, scratch, o)
	} else {
		made, err = r.archiveOnce(ctx, scratch, "", o.argument, o.stdout)
	}
	if err != nil {
		return err
	}
	if err := writeArchiveSums(filepath.Join(o.argument, "SHA256SUMS"), made); err != nil {
		return err
	}
	if o.url == "" {
		return nil
	}
	return writeManifest(filepath.Join(o.argument, "spazio.yaml"), o.url, made)
}

// archiveOnce makes the archives in a directory from a new clone below scratch, by a build
// cache, "" for this machine's. It says each once it is there.
func (r *release) archiveOnce(ctx context.Context, scratch, cache, dir string, stdout io.Writer) ([]archive, error) {
	b, err := r.newBuilder(ctx, scratch, cache)
	if err != nil {
		return nil, err
	}
	var made []archive
	for _, program := range archived {
		for _, p := range platforms {
			a, err := b.archive(ctx, program, p, dir)
			if err != nil {
				return nil, fmt.Errorf("%s, %s/%s: %w", program, p.OS, p.Arch, err)
			}
			made = append(made, a)
			fmt.Fprintf(stdout, "%s  %s\n", a.SHA256, a.File)
		}
	}
	return made, nil
}

// archiveTwice makes them as two people would: from clones at paths of unlike lengths, each
// with a build cache that is empty. The archives have to be the same, and those for this
// machine to hold programs that start.
func (r *release) archiveTwice(ctx context.Context, scratch string, o options) ([]archive, error) {
	again := filepath.Join(scratch, "again")
	if err := os.Mkdir(again, 0o777); err != nil {
		return nil, err
	}
	var both [2][]archive
	for i, dir := range []string{o.argument, again} {
		place := filepath.Join(scratch, []string{"a", "another/place"}[i])
		cache := filepath.Join(place, "cache")
		if err := os.MkdirAll(cache, 0o777); err != nil {
			return nil, err
		}
		fmt.Fprintf(o.stdout, "clone %d of 2, with an empty build cache\n", i+1)
		var err error
		if both[i], err = r.archiveOnce(ctx, place, cache, dir, o.stdout); err != nil {
			return nil, err
		}
		if err := os.RemoveAll(cache); err != nil { // gigabytes
			return nil, err
		}
	}
	if err := same(both[0], both[1]); err != nil {
		return nil, err
	}
	fmt.Fprintf(o.stdout, "the same bytes twice: %d archives\n", len(both[0]))
	for _, a := range both[0] {
		if a.OS != runtime.GOOS || a.Arch != runtime.GOARCH {
			continue
		}
		if err := a.start(ctx, filepath.Join(scratch, "start"), o); err != nil {
			return nil, fmt.Errorf("%s: %w", a.File, err)
		}
	}
	return both[0], nil
}

// same fails for the first archive that is not the same in both.
func same(first, second []archive) error {
	if len(first) != len(second) {
		return fmt.Errorf("one clone makes %d archives, the other %d", len(first), len(second))
	}
	for i, a := range first {
		if b := second[i]; a != b {
			return fmt.Errorf("not reproducible: one clone makes %s with the sum %s, the other %s with %s", a.File, a.SHA256, b.File, b.SHA256)
		}
	}
	return nil
}

// start unpacks an archive in a directory and runs its program, which has to say its
// version and to help.
func (a archive) start(ctx context.Context, dir string, o options) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if _, err := output(ctx, dir, nil, "tar", "-xzf", filepath.Join(o.argument, a.File)); err != nil {
		return err
	}
	program := filepath.Join(dir, a.Program)
	said, err := output(ctx, dir, nil, program, "--version")
	if err != nil {
		return err
	}
	if !strings.Contains(said, a.Version) {
		return invalid("version", strings.TrimSpace(said), "that is what the program says of itself, and it is "+a.Version)
	}
	fmt.Fprintf(o.stdout, "unpacked, %s", said)
	_, err = output(ctx, dir, nil, program, "--help")
	return err
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

// newBuilder makes the clone below scratch. The build cache is this machine's if none is given.
func (r *release) newBuilder(ctx context.Context, scratch, cache string) (*builder, error) {
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
	if cache != "" {
		here["GOCACHE"] = cache
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
