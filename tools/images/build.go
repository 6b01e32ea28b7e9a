package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/ko/pkg/build"
	"golang.org/x/mod/semver"

	"github.com/spazio-scheduler/spazio/tools/internal/checkout"
)

const (
	module    = "github.com/spazio-scheduler/spazio" // the prefix of all import paths
	koVersion = "v0.19.1"                            // that of go.mod, as bills of materials say
)

// source is a clone that images are built from, and where they go: into a layout, or elsewhere.
type source struct {
	*checkout.Checkout
	to         target
	made       layout.Path
	log        io.Writer
	kubernetes string // the version that the workspace selects
	digests    map[string]string
	suffix     string // of the scheduler's name in the file of digests, if Kubernetes is another than the tree's
}

// open clones the tree and sets the environment of this process, which ko hands to the
// toolchain. The tree is written for one minor version of Kubernetes, that of cmd/go.mod. Of
// others the scheduler is made by a workspace of the same modules which replaces Kubernetes' own,
// with a build tag such as kubernetes1.35 for what that version has otherwise.
func open(ctx context.Context, o options, dir string, log io.Writer) (*source, error) {
	c, err := checkout.New(ctx, o.root, dir)
	if err != nil {
		return nil, err
	}
	s := &source{Checkout: c, to: o.to, log: log}
	settings := append(c.Environ, "KOCACHE=", "KO_GO_PATH=")
	other := filepath.Join(dir, "tools", "kubernetes", o.kubernetes, "go.work")
	if _, err := os.Stat(other); err == nil {
		s.suffix = "-k8s" + o.kubernetes
		settings = append(settings, "GOWORK="+other, "GOFLAGS=-tags=kubernetes"+o.kubernetes)
	}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		if err := os.Setenv(key, value); err != nil {
			return nil, err
		}
	}
	said, err := checkout.Output(ctx, dir, nil, "go", "list", "-m", "-f", "{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}", "k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	s.kubernetes = strings.TrimSpace(said)
	if o.kubernetes != "" && semver.MajorMinor(s.kubernetes) != "v"+o.kubernetes {
		return nil, invalid("kubernetes", o.kubernetes, "tools/kubernetes has no workspace of it, and the tree's own is "+s.kubernetes)
	}
	return s, nil
}

// make builds a program's image, an index if it is for several platforms, puts it where it goes, its
// bills of materials behind it, and returns what it is named by.
func (s *source) make(ctx context.Context, p program) (name.Digest, error) {
	if p.name == chart {
		return s.makeChart(ctx)
	}
	result, err := s.build(ctx, p)
	if err != nil {
		return name.Digest{}, err
	}
	bills, err := s.bills(ctx, p.name, result)
	if err != nil {
		return name.Digest{}, err
	}
	tag, err := s.to.tagOf(p.name)
	if err != nil {
		return name.Digest{}, err
	}
	if err := s.to.put(ctx, s.made, tag, result); err != nil {
		return name.Digest{}, err
	}
	for _, b := range bills {
		digest, err := b.Digest()
		if err != nil {
			return name.Digest{}, err
		}
		if err := s.to.put(ctx, s.made, tag.Context().Digest(digest.String()), b); err != nil {
			return name.Digest{}, err
		}
	}
	digest, err := result.Digest()
	return tag.Context().Digest(digest.String()), err
}

// build has ko build a program's image.
func (s *source) build(ctx context.Context, p program) (build.Result, error) {
	if err := s.layLicences(ctx, p); err != nil {
		return nil, err
	}
	importPath := path.Join(module, "cmd", p.name)
	ldflags := build.StringArray{"-s", "-w"}
	if p.name == scheduler { // which says else that it is v0.0.0-master
		ldflags = append(ldflags, "-X", "k8s.io/component-base/version.gitVersion="+s.kubernetes)
	}
	created := v1.Time{Time: s.Created}
	builder, err := build.NewGo(ctx, s.Dir,
		build.WithBaseImages(func(context.Context, string) (name.Reference, build.Result, error) {
			// How ko calls it in annotations: it is nowhere to be pulled.
			reference, err := name.ParseReference(path.Join(unpublished, "base"))
			if err != nil {
				return nil, nil, err
			}
			index, err := base(created)
			return reference, index, err
		}),
		build.WithConfig(map[string]build.Config{importPath: {Flags: build.FlagArray{"-buildvcs=true"}, Ldflags: ldflags}}),
		build.WithCreationTime(created),
		build.WithKoDataCreationTime(created),
		build.WithTrimpath(true),
		build.WithPlatforms(p.platforms...),
		build.WithSPDX(koVersion),
		build.WithJobs(1),
		build.WithLabel("org.opencontainers.image.title", p.name),
		build.WithLabel("org.opencontainers.image.source", "https://"+module),
		build.WithLabel("org.opencontainers.image.revision", s.Revision),
		build.WithLabel("org.opencontainers.image.licenses", "Apache-2.0"),
	)
	if err != nil {
		return nil, err
	}
	return builder.Build(ctx, build.StrictScheme+importPath)
}

// base makes what images are built on: a user, and a directory for temporary files where the root
// can be written. There is no shell, and no public authorities, for the programs trust their
// cluster's alone.
func base(created v1.Time) (v1.ImageIndex, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	err := w.AddFS(fstest.MapFS{
		"etc":        {Mode: fs.ModeDir | 0o755, ModTime: created.Time},
		"etc/group":  {Mode: 0o644, ModTime: created.Time, Data: []byte("root:x:0:\nnonroot:x:65532:\n")},
		"etc/passwd": {Mode: 0o644, ModTime: created.Time, Data: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		"tmp":        {Mode: fs.ModeDir | fs.ModeSticky | 0o777, ModTime: created.Time},
	})
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil },
		tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, text := range supported {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, err
		}
		// A user without a name: a kubelet that is to refuse root has to see a number.
		image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
			OS: platform.OS, Architecture: platform.Architecture, Created: created, RootFS: v1.RootFS{Type: "layers"},
			Config: v1.Config{User: "65532:65532", WorkingDir: "/"},
		})
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Author: "spazio", Created: created, Comment: "user and /tmp"}})
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: platform},
		})
	}
	return index, nil
}

// notice matches the names of files that a licence wants handed on.
var notice = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)s?([._-].*)?$`)

// linked prints of each package that a program is made of its module and version, the module's
// directory and its own, if it is a foreign module.
const linked = `{{if not .Standard}}{{with .Module}}{{if not .Main}}` +
	`{{.Path}}@{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}|{{.Dir}}|{{$.Dir}}` + "\n" + `{{end}}{{end}}{{end}}`

// layLicences writes the licence of Spazio, Go's, and those of each module that is linked into the
// program, down to the packages that are, to where ko takes a program's data from. It fails for
// a module without a licence, since that must not be distributed.
func (s *source) layLicences(ctx context.Context, p program) error {
	goroot, err := checkout.Output(ctx, s.Dir, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	from := map[string]string{
		"LICENSE":             filepath.Join(s.Dir, "LICENSE"),
		"licenses/go/LICENSE": filepath.Join(strings.TrimSpace(goroot), "LICENSE"),
	}
	for _, platform := range p.platforms {
		system, arch, _ := strings.Cut(platform, "/")
		said, err := checkout.Output(ctx, s.Dir, []string{"GOOS=" + system, "GOARCH=" + arch}, "go", "list", "-deps", "-f", linked, "./cmd/"+p.name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(said) {
			if fields := strings.Split(strings.TrimSpace(line), "|"); len(fields) == 3 {
				into := path.Join("licenses", fields[0])
				if err := collect(from, into, fields[2], fields[1]); err != nil {
					return err
				}
				if !slices.ContainsFunc(slices.Collect(maps.Keys(from)), func(name string) bool { return strings.HasPrefix(name, into+"/") }) {
					return fmt.Errorf("the module %s has no licence", fields[0])
				}
			}
		}
	}
	for name, file := range from {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name = filepath.Join(s.Dir, "cmd", p.name, "kodata", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// collect finds the notices in the directories from dir up to the module's root.
func collect(found map[string]string, into, dir, root string) error {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && notice.MatchString(e.Name()) && path.Ext(e.Name()) != ".go" {
				found[path.Join(into, filepath.ToSlash(inside), e.Name())] = filepath.Join(dir, e.Name())
			}
		}
		if inside == "." || !fs.ValidPath(filepath.ToSlash(inside)) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}
