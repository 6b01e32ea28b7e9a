package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	_ "embed" // for Krew's manifest
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spazio-scheduler/spazio/tools/internal/checkout"
)

// plugin is the program that kubectl, and Krew, look for.
const plugin = "kubectl-spazio"

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

// manifest is that by which Krew installs the plugin as "kubectl spazio": which archive
// is for which platform, where it is published and its sum.
//
//go:embed krew.yaml
var manifest string

// archives builds the archives of HEAD: a program and the licence each, the same bytes for
// the same commit, tags and toolchain, on every machine. SHA256SUMS has their
// sums, as sha256sum -c reads it; it is written last, of archives that stand.
func archives(ctx context.Context, t *tree, o options) error {
	if u, err := url.Parse(o.url); o.url != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("url = %s: want an https URL", o.url)
	}
	if err := newDirectory(o.argument); err != nil {
		return err
	}
	return inScratch(func(scratch string) error {
		made, err := t.build(ctx, scratch, o)
		if err != nil {
			return err
		}
		var sums strings.Builder
		for _, a := range made {
			fmt.Fprintf(&sums, "%s  %s\n", a.SHA256, a.File)
		}
		if err := os.WriteFile(filepath.Join(o.argument, "SHA256SUMS"), []byte(sums.String()), 0o666); err != nil || o.url == "" {
			return err
		}
		file, err := os.Create(filepath.Join(o.argument, "spazio.yaml"))
		if err != nil {
			return err
		}
		made = slices.DeleteFunc(made, func(a archive) bool { return a.Program != plugin })
		err = template.Must(template.New("").Parse(manifest)).Execute(file, map[string]any{
			"Version": made[0].Version, "URL": strings.TrimSuffix(o.url, "/"), "Archives": made,
		})
		return errors.Join(err, file.Close())
	})
}

// build makes the archives from a new clone below scratch. It prints each once it is there.
func (t *tree) build(ctx context.Context, scratch string, o options) ([]archive, error) {
	c, err := checkout.New(ctx, t.root, filepath.Join(scratch, "clone"))
	if err != nil {
		return nil, err
	}
	var made []archive
	for _, program := range archived {
		for _, p := range platforms {
			a := archive{platform: p, Program: program}
			built := filepath.Join(scratch, program)
			_, err := checkout.Output(ctx, c.Dir, append(c.Environ, "GOOS="+p.OS, "GOARCH="+p.Arch),
				"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", built, "./cmd/"+program)
			if err != nil {
				return nil, err
			}
			info, err := buildinfo.ReadFile(built)
			if err != nil {
				return nil, err
			}
			a.Version = info.Main.Version
			if strings.Contains(a.Version, "+dirty") || !strings.HasPrefix(a.Version, "v") {
				return nil, fmt.Errorf("%s was stamped with the version %s, which is no commit's", program, a.Version)
			}
			a.File = fmt.Sprintf("%s_%s_%s_%s.tar.gz", program, a.Version, p.OS, p.Arch)
			if a.SHA256, err = pack(filepath.Join(o.argument, a.File), built, filepath.Join(c.Dir, "LICENSE")); err != nil {
				return nil, err
			}
			made = append(made, a)
			fmt.Fprintf(o.stdout, "%s  %s\n", a.SHA256, a.File)
		}
	}
	return made, nil
}

// pack writes an archive of a program and its licence, without times and owners, and returns its sum.
func pack(name, program, licence string) (string, error) {
	out, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer out.Close()
	sum := sha256.New()
	zipped := gzip.NewWriter(io.MultiWriter(out, sum))
	packed := tar.NewWriter(zipped)
	for i, file := range []string{program, licence} {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		mode := []int64{0o755, 0o644}[i]
		if err := packed.WriteHeader(&tar.Header{Name: filepath.Base(file), Mode: mode, Size: int64(len(text)), Format: tar.FormatUSTAR}); err != nil {
			return "", err
		}
		if _, err := packed.Write(text); err != nil {
			return "", err
		}
	}
	err = errors.Join(packed.Close(), zipped.Close(), out.Close())
	return hex.EncodeToString(sum.Sum(nil)), err
}
