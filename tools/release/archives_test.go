package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var entry = regexp.MustCompile(`os: (\w+)\n +arch: (\w+)\n +uri: (\S+)\n +sha256: ([0-9a-f]{64})\n +bin: (\S+)\n`)

// The archives of a commit do not depend on its place; each has the program of its platform with its
// version, and both lists have the archives' sums.
func TestArchives(t *testing.T) {
	root := newTree(t, nil)
	git(t, root, "tag", "cmd/v0.1.0")
	other := filepath.Join(t.TempDir(), "a longer path", "clone")
	git(t, root, "clone", "--quiet", root, other)
	var before map[string]string
	settings := filepath.Join(t.TempDir(), "env") // as go env -w leaves it
	if err := os.WriteFile(settings, []byte("GOFLAGS=-tags=strange\nGOAMD64=v3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{root, other} {
		if root == other {
			t.Setenv("GOENV", settings)
		}
		out := filepath.Join(t.TempDir(), "out")
		must(t, root, "archives", "-url", "https://downloads.example/x/", out)
		files := read(t, out)
		if before != nil {
			for name, text := range before {
				if files[name] != text {
					t.Errorf("%s is not the same from another place, with other settings", name)
				}
			}
		}
		before = files
	}
	if len(before) != 2*4+2 {
		t.Errorf("%d files", len(before))
	}
	listed := map[string]string{}
	for line := range strings.Lines(before["SHA256SUMS"]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed[name] = sum
	}
	for name, text := range before {
		parts := regexp.MustCompile(`^(spazio|kubectl-spazio)_(v0\.1\.0)_(linux|darwin)_(amd64|arm64)\.tar\.gz$`).FindStringSubmatch(name)
		if parts == nil {
			continue
		}
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != listed[name] {
			t.Errorf("%s: got SHA256SUMS %q", name, listed[name])
		}
		files := unpack(t, text, parts[1])
		info, err := buildinfo.Read(strings.NewReader(files[parts[1]]))
		if err != nil {
			t.Fatal(err)
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if settings["GOOS"] != parts[3] || settings["GOARCH"] != parts[4] || info.Main.Version != "v0.1.0" || !strings.Contains(files["LICENSE"], "tiny's") {
			t.Errorf("%s: got the program of %v, %s", name, settings, info.Main.Version)
		}
	}
	manifest := entry.FindAllStringSubmatch(before["spazio.yaml"], -1)
	if len(manifest) != 4 || !strings.Contains(before["spazio.yaml"], "\n  version: v0.1.0\n") {
		t.Errorf("got a manifest of %d platforms:\n%s", len(manifest), before["spazio.yaml"])
	}
	for _, e := range manifest {
		name, ok := strings.CutPrefix(e[3], "https://downloads.example/x/")
		if !ok || name != "kubectl-spazio_v0.1.0_"+e[1]+"_"+e[2]+".tar.gz" || e[4] != listed[name] || e[5] != "kubectl-spazio" {
			t.Errorf("got manifest %v", e[1:])
		}
	}
}

// Without a tag an archive is named after its commit.
func TestArchivesOfNoRelease(t *testing.T) {
	root := newTree(t, nil)
	out := filepath.Join(t.TempDir(), "out")
	output := must(t, root, "archives", out)
	commit := strings.TrimSpace(git(t, root, "rev-parse", "--short=12", "HEAD"))
	if !regexp.MustCompile(`spazio_v0\.0\.0-\d{14}-` + commit + `_linux_amd64\.tar\.gz`).MatchString(output) {
		t.Errorf("got %s at %s", output, commit)
	}
	if _, err := os.Stat(filepath.Join(out, "spazio.yaml")); err == nil {
		t.Error("accepted a manifest without a URL")
	}
	mustRefuse(t, root, "file exists", "archives", out)
	mustRefuse(t, root, "want an absolute path", "archives", "out")
	mustRefuse(t, root, "want an https URL", "archives", "-url", "http://x.example", filepath.Join(t.TempDir(), "out"))
}

// With an empty build cache an archive is the same.
func TestArchivesAgain(t *testing.T) {
	root := newTree(t, nil)
	here := platform{runtime.GOOS, runtime.GOARCH}
	if !slices.Contains(platforms, here) {
		return // no archive is built for this machine
	}
	all := platforms
	t.Cleanup(func() { platforms = all })
	platforms = []platform{here}
	first, second := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "out")
	must(t, root, "archives", first)
	t.Setenv("GOCACHE", t.TempDir())
	must(t, root, "archives", second)
	if a, b := read(t, first), read(t, second); len(a) != 3 || !maps.Equal(a, b) {
		t.Errorf("got %d files that differ with another build cache", len(a))
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

func unpack(t *testing.T, archive, program string) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(zipped); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int64{program: 0o755, "LICENSE": 0o644}[header.Name]; header.Mode != want || !header.ModTime.IsZero() && header.ModTime.Unix() != 0 {
			t.Errorf("%s: got mode %o, time %v", header.Name, header.Mode, header.ModTime)
		}
		files[header.Name] = string(text)
	}
}

// The archived programs exist.
func TestArchived(t *testing.T) {
	for _, program := range archived {
		if _, err := os.Stat("../../cmd/" + program + "/main.go"); err != nil {
			t.Error(err)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args     []string
		code     int
		wantText string
	}{
		{nil, 2, "verify"},
		{[]string{"-help"}, 0, "verify"},
		{[]string{"forge"}, 2, "usage: "},
		{[]string{"set"}, 2, "set VERSION"},
		{[]string{"verify", "more"}, 2, "usage: "},
		{[]string{"verify", "-nothing"}, 2, "-nothing"},
		{[]string{"archives", "-help"}, 0, "-url"},
		{[]string{"verify", "-root", "/nonexistent"}, 1, "nonexistent"},
	} {
		var out, complaint bytes.Buffer
		if code := command(context.Background(), c.args, &out, &complaint); code != c.code || !strings.Contains(complaint.String(), c.wantText) {
			t.Errorf("%q: %d, want %d and %q:\n%s", c.args, code, c.code, c.wantText, complaint.String())
		}
	}
}
