// Command krew builds the archives of kubectl-spazio and the manifest by which
// Krew installs it as "kubectl spazio".
//
//	GOWORK=off go run -C tools ./krew -version v0.1.0 -url https://DOWNLOADS -out DIR
//
// The archives hold the program and the licence, and are the same bytes for the
// same commit and toolchain. The manifest names each by its SHA-256; where they
// are published, -url says.
package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

func main() {
	o := options{build: compile}
	flag.StringVar(&o.root, "root", "../", "directory of the repository")
	flag.StringVar(&o.version, "version", "", "version, such as v0.1.0")
	flag.StringVar(&o.url, "url", "", "https URL below which the archives are published")
	flag.StringVar(&o.out, "out", "", "directory for archives and manifest, which must not be there")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// program is the file that kubectl looks for.
const program = "kubectl-spazio"

type options struct {
	root, version, url, out string
	// build makes the program of a platform.
	build func(root string, p platform, file string) error
}

type platform struct{ OS, Arch string }

// platforms are those that a command line is used on.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// release is what the manifest says of a platform.
type release struct {
	platform
	URI, SHA256 string
}

var version = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

var errInvalid = errors.New("invalid option")

func (o options) validate() error {
	if !version.MatchString(o.version) {
		return fmt.Errorf("-version %q: %w: want vMAJOR.MINOR.PATCH", o.version, errInvalid)
	}
	if u, err := url.Parse(o.url); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("-url %q: %w: want an https URL", o.url, errInvalid)
	}
	if o.out == "" {
		return fmt.Errorf("-out: %w: want a directory", errInvalid)
	}
	return nil
}

func (o options) run() error {
	if err := o.validate(); err != nil {
		return err
	}
	if err := os.Mkdir(o.out, 0o777); err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(o.root, "LICENSE"))
	if err != nil {
		return err
	}
	var releases []release
	for _, p := range platforms {
		r, err := o.release(p, licence)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", p.OS, p.Arch, err)
		}
		releases = append(releases, r)
	}
	file, err := os.Create(filepath.Join(o.out, "spazio.yaml"))
	if err != nil {
		return err
	}
	err = manifest.Execute(file, map[string]any{"Version": o.version, "Program": program, "Releases": releases})
	return errors.Join(err, file.Close())
}

// release builds the program of a platform and its archive.
func (o options) release(p platform, licence []byte) (release, error) {
	scratch, err := os.MkdirTemp("", "krew-")
	if err != nil {
		return release{}, err
	}
	defer os.RemoveAll(scratch)
	built := filepath.Join(scratch, program)
	if err := o.build(o.root, p, built); err != nil {
		return release{}, err
	}
	binary, err := os.ReadFile(built)
	if err != nil {
		return release{}, err
	}
	name := fmt.Sprintf("%s_%s_%s_%s.tar.gz", program, o.version, p.OS, p.Arch)
	file, err := os.Create(filepath.Join(o.out, name))
	if err != nil {
		return release{}, err
	}
	sum := sha256.New()
	err = pack(io.MultiWriter(file, sum), binary, licence)
	return release{p, strings.TrimSuffix(o.url, "/") + "/" + name, hex.EncodeToString(sum.Sum(nil))}, errors.Join(err, file.Close())
}

// pack writes an archive without times and owners.
func pack(w io.Writer, binary, licence []byte) error {
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

// compile builds from the workspace.
func compile(root string, p platform, file string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	command := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/"+program)
	command.Dir, command.Stderr = root, os.Stderr
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOWORK="+filepath.Join(root, "go.work"))
	return command.Run()
}

var manifest = template.Must(template.New("").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: spazio
spec:
  version: {{.Version}}
  homepage: https://github.com/spazio-scheduler/spazio
  shortDescription: Schedule pods by what nodes measure
  description: |
    Installs Spazio in a cluster, removes it, says whether it works, and shows
    what it knows of nodes and pods: kubectl spazio install, check, top, explain,
    why, model, uninstall.
  platforms:
{{- $program := .Program}}{{range .Releases}}
  - selector:
      matchLabels:
        os: {{.OS}}
        arch: {{.Arch}}
    uri: {{.URI}}
    sha256: {{.SHA256}}
    bin: {{$program}}
    files:
    - from: {{$program}}
      to: .
    - from: LICENSE
      to: .
{{- end}}
`))
